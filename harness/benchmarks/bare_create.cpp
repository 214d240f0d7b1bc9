// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Makes only the calls of memory.create_under_pressure/control_lazy, as reference for the cost of a trial.
#include "kernels/product.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <dlfcn.h>

#include <cstdio>

namespace {

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));  // NOLINT: what dlsym is for
}

bool work() {
  using namespace cufault;
  using shape = product_shape;
  void* cublas = dlopen("libcublas.so.13", RTLD_NOW);
  if (cublas == nullptr) return false;
  const auto create = symbol<decltype(cublasCreate_v2)>(cublas, "cublasCreate_v2");
  const auto destroy = symbol<decltype(cublasDestroy_v2)>(cublas, "cublasDestroy_v2");
  const auto sgemm = symbol<decltype(cublasSgemm_v2)>(cublas, "cublasSgemm_v2");

  bool right = false;
  if (cudaSetDevice(0) != cudaSuccess || prove_context(1, &right) != cudaSuccess || !right) return false;
  std::size_t free = 0, total = 0;
  for (int i = 0; i < 4; ++i) cudaMemGetInfo(&free, &total);
  cublasHandle_t handle = nullptr;
  if (create(&handle) != CUBLAS_STATUS_SUCCESS) return false;
  product_operands on_device;
  product_check check;
  const float one = 1, zero = 0;
  const bool multiplied =
      prepare_product(2, &on_device) == cudaSuccess &&
      sgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, shape::m, shape::n, shape::k, &one, on_device.a, shape::lda,
            on_device.b, shape::ldb, &zero, on_device.c, shape::ldc) == CUBLAS_STATUS_SUCCESS &&
      cudaDeviceSynchronize() == cudaSuccess && check_product(&check) == cudaSuccess && check.right();
  destroy(handle);
  return multiplied && prove_context(3, &right) == cudaSuccess && right;
}

}  // namespace

int main() {
  if (work()) return 0;
  std::fputs("bare_create: the calls did not all succeed\n", stderr);
  return 1;
}
