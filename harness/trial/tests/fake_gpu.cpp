// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The linker redirects calls of the CUDA runtime here (--wrap in CMakeLists.txt); prove_context replaces that of the kernels.
#include "harness/trial/tests/fake_gpu.hpp"

#include "kernels/product.hpp"

#include <cuda_runtime.h>

#include <utility>

namespace cufault {
namespace fake_gpu {

state& current() {
  static state now;
  return now;
}

}  // namespace fake_gpu

namespace {

cudaError_t or_absent(cudaError_t error) {
  const cudaError_t absent = fake_gpu::current().of_initialisation;
  return absent != cudaSuccess ? absent : error;
}

/// Like the runtime: a returned error also becomes the last error.
cudaError_t returned(cudaError_t error) {
  if (error != cudaSuccess) fake_gpu::current().last_error = error;
  return or_absent(error);
}

cudaError_t answer_of_pool(std::uint64_t used, void* value) {
  if (!fake_gpu::current().has_pools) return returned(cudaErrorNotSupported);
  *static_cast<std::uint64_t*>(value) = used;
  return cudaSuccess;
}

}  // namespace

cudaError_t prove_context(std::uint64_t, bool* right) {
  *right = fake_gpu::current().product_is_right;
  return returned(fake_gpu::current().of_product);
}

}  // namespace cufault

namespace fake = cufault::fake_gpu;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker makes these names
extern "C" {

cudaError_t __wrap_cudaPeekAtLastError() {
  return cufault::or_absent(fake::current().last_error);
}
cudaError_t __wrap_cudaGetLastError() {
  return cufault::or_absent(std::exchange(fake::current().last_error, cudaSuccess));
}
cudaError_t __wrap_cudaDeviceSynchronize() {
  if (const auto work = std::exchange(fake::current().pending, {})) work();
  return cufault::returned(fake::current().of_synchronisation);
}
cudaError_t __wrap_cudaGetDeviceCount(int* count) {
  *count = 2;
  return cufault::or_absent(cudaSuccess);
}
cudaError_t __wrap_cudaGetDevice(int* device) {
  *device = fake::current().device;
  return cudaSuccess;
}
cudaError_t __wrap_cudaSetDevice(int device) {
  if (device < 0 || device > 1) return cufault::returned(cudaErrorInvalidDevice);
  fake::current().device = device;
  return cudaSuccess;
}
cudaError_t __wrap_cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = fake::current().memory;
  *free = fake::current().memory - fake::current().used_memory;
  return cudaSuccess;
}
cudaError_t __wrap_cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return fake::current().has_pools ? cudaSuccess : cufault::returned(cudaErrorNotSupported);
}
cudaError_t __wrap_cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value) {
  return cufault::answer_of_pool(fake::current().used_by_pool, value);
}
cudaError_t __wrap_cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType, void* value) {
  return cufault::answer_of_pool(fake::current().used_by_graphs, value);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
