// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

/// Code of pages that has kernels. `in` and `out`: n floats on the device; a, b and c: row-major, m x k, k x n and m x n.
namespace cufault::snippets {

#define CUFAULT_SNIPPET(name)                          \
  namespace name {                                     \
  cudaError_t run(int n, const float* in, float* out); \
  }
CUFAULT_SNIPPET(illegal_address_fails)
CUFAULT_SNIPPET(illegal_address_corrected)
CUFAULT_SNIPPET(misaligned_address_fails)
CUFAULT_SNIPPET(misaligned_address_corrected)
CUFAULT_SNIPPET(assertion_fails)
CUFAULT_SNIPPET(assertion_corrected)
CUFAULT_SNIPPET(launch_failure_fails)
CUFAULT_SNIPPET(launch_failure_corrected)
#undef CUFAULT_SNIPPET

namespace execution_failed_fails {
cublasStatus_t multiply(cublasHandle_t handle, int m, int n, int k, const float* a, const float* b, float* c);
}
namespace execution_failed_corrected {
cublasStatus_t multiply(cublasHandle_t handle, int m, int n, int k, const float* a, const float* b, float* c);
}

}  // namespace cufault::snippets
