// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/foreign_code/foreign_code.hpp"
#include "kernels/launch.cuh"

#include <cuda_runtime.h>

namespace {

__global__ void write_answer(int* to) {
  *to = 42;
}

cudaError_t run(int* on_device, int* result) {
  if (cudaError_t e = cufault::launch(cufault::threads(1), write_answer, on_device)) return e;
  return cudaMemcpy(result, on_device, sizeof *result, cudaMemcpyDeviceToHost);
}

}  // namespace

int cufault_run_code(int* result) {
  int* on_device = nullptr;
  if (cudaError_t e = cudaMalloc(&on_device, sizeof *on_device)) return e;
  const cudaError_t status = run(on_device, result);
  cudaFree(on_device);
  return status;
}

int cufault_code_architecture() {
  constexpr int built_for[] = {__CUDA_ARCH_LIST__};
  return built_for[0] / 10;
}
