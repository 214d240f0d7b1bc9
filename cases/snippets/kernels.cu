// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Code of pages that has kernels; kernels.cpp describes its arguments.
#include <cublas_v2.h>
#include <cuda_runtime.h>

// The assertion is there in every build.
#undef NDEBUG
#include <cassert>

namespace cufault::snippets {

namespace illegal_address_fails {
// [illegal_address fails]
__global__ void twice(int n, const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 2 * in[i];
}

cudaError_t run(int n, const float* in, float* out) {
  twice<<<n, 256>>>(n, in, out);  // n blocks, not n threads
  return cudaDeviceSynchronize();
}
// [end]
}  // namespace illegal_address_fails
namespace illegal_address_corrected {
// [illegal_address corrected]
__global__ void twice(int n, const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}

cudaError_t run(int n, const float* in, float* out) {
  twice<<<(n + 255) / 256, 256>>>(n, in, out);
  return cudaDeviceSynchronize();
}
// [end]
}  // namespace illegal_address_corrected
namespace misaligned_address_fails {
// [misaligned_address fails]
__global__ void twice(int vectors, const float4* in, float4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  const float4 v = in[i];
  out[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
}

cudaError_t run(int n, const float* in, float* out) {  // in[0] is a header
  const int vectors = (n - 1) / 4;
  twice<<<(vectors + 255) / 256, 256>>>(vectors, reinterpret_cast<const float4*>(in + 1),
                                        reinterpret_cast<float4*>(out + 1));  // a float4 needs 16 bytes
  return cudaDeviceSynchronize();
}
// [end]
}  // namespace misaligned_address_fails
namespace misaligned_address_corrected {
// [misaligned_address corrected]
__global__ void twice(int n, const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}

cudaError_t run(int n, const float* in, float* out) {  // in[0] is a header
  twice<<<(n + 255) / 256, 256>>>(n - 1, in + 1, out + 1);
  return cudaDeviceSynchronize();
}
// [end]
}  // namespace misaligned_address_corrected
namespace assertion_fails {
// [assertion fails]
__global__ void twice(int n, int classes, const float* label, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  assert(label[i] < classes);
  out[i] = 2 * label[i];
}

cudaError_t run(int n, const float* label, float* out) {
  twice<<<(n + 255) / 256, 256>>>(n, 7, label, out);  // labels go from 0 to 7
  return cudaDeviceSynchronize();
}
// [end]
}  // namespace assertion_fails
namespace assertion_corrected {
// [assertion corrected]
__global__ void twice(int n, int classes, const float* label, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  assert(label[i] < classes);
  out[i] = 2 * label[i];
}

cudaError_t run(int n, const float* label, float* out) {
  twice<<<(n + 255) / 256, 256>>>(n, 8, label, out);  // labels from 0 to 7 are eight classes
  return cudaDeviceSynchronize();
}
// [end]
}  // namespace assertion_corrected
namespace launch_failure_fails {
// [launch_failure fails]
__global__ void twice(int n, float limit, const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (in[i] > limit) __trap();  // ends the context, not the kernel alone
  out[i] = 2 * in[i];
}

cudaError_t run(int n, const float* in, float* out) {
  twice<<<(n + 255) / 256, 256>>>(n, 6, in, out);
  return cudaDeviceSynchronize();
}
// [end]
}  // namespace launch_failure_fails
namespace launch_failure_corrected {
// [launch_failure corrected]
__device__ int too_large;

__global__ void twice(int n, float limit, const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (in[i] > limit) too_large = 1;  // the host decides what follows
  out[i] = 2 * in[i];
}

cudaError_t run(int n, const float* in, float* out) {
  twice<<<(n + 255) / 256, 256>>>(n, 6, in, out);
  int refused = 0;
  return cudaMemcpyFromSymbol(&refused, too_large, sizeof refused);
}
// [end]
}  // namespace launch_failure_corrected
namespace execution_failed_fails {
// [execution_failed fails]
__global__ void clear(int n, float* c) {
  c[blockIdx.x * blockDim.x + threadIdx.x] = 0;
}

cublasStatus_t multiply(cublasHandle_t handle, int m, int n, int k, const float* a, const float* b,
                        float* c) {
  clear<<<m * n, 256>>>(m * n, c);  // writes behind c, and nobody asks
  cudaDeviceSynchronize();
  const float one = 1, zero = 0;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
}
// [end]
}  // namespace execution_failed_fails
namespace execution_failed_corrected {
// [execution_failed corrected]
__global__ void clear(int n, float* c) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = 0;
}

cublasStatus_t multiply(cublasHandle_t handle, int m, int n, int k, const float* a, const float* b,
                        float* c) {
  clear<<<(m * n + 255) / 256, 256>>>(m * n, c);
  if (cudaDeviceSynchronize() != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;  // the kernel's, not cuBLAS's
  const float one = 1, zero = 0;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
}
// [end]
}  // namespace execution_failed_corrected

}  // namespace cufault::snippets
