// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Kernels with common mistakes, and a product after one: the code of the pages of the errors that end a context.
// Why          An unchecked index, vectors at an odd address, an assertion, a trap.
// Documented   CUDA Runtime API, cudaError_t 700, 710, 716 and 719; F-STK-01 to F-STK-04.
// Measured     H200, cuBLAS 13.1.0: each returns the status of its page; one trial an arm. sticky.device_fault varies the calls.
// What helps   The corrected code beside each.
#include "cases/snippets/snippet.hpp"

/// Functions of kernels.cu. `in` and `out`: n floats on the device; a, b and c: row-major, m x k, k x n and m x n.
namespace cufault::snippets {
using doubling = cudaError_t(int n, const float* in, float* out);
using product = cublasStatus_t(cublasHandle_t handle, int m, int n, int k, const float* a, const float* b,
                               float* c);
#define CUFAULT_DECLARE(name, type, function) \
  namespace name##_fails {                    \
    type function;                            \
  }                                           \
  namespace name##_corrected {                \
    type function;                            \
  }
CUFAULT_DECLARE(illegal_address, doubling, run)
CUFAULT_DECLARE(misaligned_address, doubling, run)
CUFAULT_DECLARE(assertion, doubling, run)
CUFAULT_DECLARE(launch_failure, doubling, run)
CUFAULT_DECLARE(execution_failed, product, multiply)
}  // namespace cufault::snippets

namespace cufault {
namespace {

std::vector<snippet> snippets_of_kernels() {
  const auto run = [](auto code) {
    return [=](snippet_operands& o) -> snippet_status { return code(o.m * o.n, o.a, o.c); };
  };
  const auto multiply = [](auto code) {
    return [=](snippet_operands& o) -> snippet_status {
      return code(new_handle(), o.m, o.n, o.k, o.a, o.b, o.c);
    };
  };
  constexpr int count = (1 << 22) + 1;  // with a header
  const auto right = &snippet_operands::is_double;
  return {{"illegal_address", "a block for each element, and no look at the index",
           "a thread for each element, and a look at the index", "cudaDeviceSynchronize", count, 1, 1,
           run(snippets::illegal_address_fails::run), run(snippets::illegal_address_corrected::run), right},
          {"misaligned_address", "vectors behind a header of one float", "floats in place of vectors",
           "cudaDeviceSynchronize", count, 1, 1, run(snippets::misaligned_address_fails::run),
           run(snippets::misaligned_address_corrected::run), right},
          {"assertion", "a label outside of the classes", "as many classes as there are labels",
           "cudaDeviceSynchronize", count, 1, 1, run(snippets::assertion_fails::run),
           run(snippets::assertion_corrected::run), right},
          {"launch_failure", "a kernel that traps at a value", "the kernel tells the host",
           "cudaDeviceSynchronize", count, 1, 1, run(snippets::launch_failure_fails::run),
           run(snippets::launch_failure_corrected::run), right},
          {"execution_failed", "a product behind a kernel that writes behind its array",
           "a kernel that stays in its array, and a look at what it came to", "cublasSgemm", 512, 512, 512,
           multiply(snippets::execution_failed_fails::multiply),
           multiply(snippets::execution_failed_corrected::multiply)}};
}

const register_case here{case_of_snippets("snippets.kernels", "code of pages: kernels that end their context",
                                          snippets_of_kernels())};

}  // namespace
}  // namespace cufault
