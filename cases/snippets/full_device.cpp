// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasCreate after the program has taken all device memory: the code of a page.
// Why          The handle and its workspace need device memory too.
// Documented   cuBLAS documentation, CUBLAS_STATUS_ALLOC_FAILED; F-MEM-01.
// Measured     H200, cuBLAS 13.1.0: ALLOC_FAILED; one trial an arm. memory.create_under_pressure varies the free memory.
// What helps   The corrected code: the handle first, and room for libraries.
#include "cases/snippets/snippet.hpp"

namespace cufault {
namespace {

namespace alloc_failed::fails {
// [alloc_failed fails]
cublasStatus_t multiply_beside_cache(int m, int n, int k, const float* a, const float* b, float* c) {
  std::vector<void*> cache;  // all device memory, for later
  for (void* block = nullptr; cudaMalloc(&block, 32 << 20) == cudaSuccess;) cache.push_back(block);
  cublasHandle_t handle = nullptr;
  cublasStatus_t status = cublasCreate(&handle);
  const float one = 1, zero = 0;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
  for (void* block : cache) cudaFree(block);
  return status;
}
// [end]
}  // namespace alloc_failed::fails

namespace alloc_failed::corrected {
// [alloc_failed corrected]
cublasStatus_t multiply_beside_cache(int m, int n, int k, const float* a, const float* b, float* c) {
  cublasHandle_t handle = nullptr;  // before the memory is taken
  cublasStatus_t status = cublasCreate(&handle);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  std::vector<void*> cache;
  const std::size_t room = std::size_t{1} << 30;  // for code and workspaces of libraries
  std::size_t free_bytes = 0, total = 0;
  void* block = nullptr;
  while (cudaMemGetInfo(&free_bytes, &total) == cudaSuccess && free_bytes > room &&
         cudaMalloc(&block, 32 << 20) == cudaSuccess)
    cache.push_back(block);
  const float one = 1, zero = 0;
  status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
  for (void* each : cache) cudaFree(each);
  return status;
}
// [end]
}  // namespace alloc_failed::corrected

const register_case here{case_of_snippets(
    "snippets.full_device", "code of pages: calls on a device without free memory",
    {{"alloc_failed", "all device memory is taken before cublasCreate",
      "the handle before the memory is taken, and room for libraries", "cublasCreate", 128, 80, 96,
      [](snippet_operands& o) -> snippet_status {
        return alloc_failed::fails::multiply_beside_cache(o.m, o.n, o.k, o.a, o.b, o.c);
      },
      [](snippet_operands& o) -> snippet_status {
        return alloc_failed::corrected::multiply_beside_cache(o.m, o.n, o.k, o.a, o.b, o.c);
      }}})};

}  // namespace
}  // namespace cufault
