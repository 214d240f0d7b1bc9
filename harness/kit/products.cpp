// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/products.hpp"

#include "kernels/faults.hpp"

namespace cufault {
namespace {

template <class... Of>
product_result checked_product_of(product_result started, const Of&... of) {
  if (started.status != CUBLAS_STATUS_SUCCESS || started.waited != cudaSuccess) return started;
  if ((started.waited = cudaDeviceSynchronize()) != cudaSuccess) return started;
  product_check check;
  if ((started.waited = check_product(of..., &check)) == cudaSuccess) started.right = check.right();
  return started;
}

}  // namespace

cublasHandle_t new_handle() {
  cublasHandle_t handle = nullptr;
  CUFAULT_REQUIRE(cublasCreate(&handle));
  return handle;
}

cublasHandle_t handle_in_context(trial& t) {
  t.open_context();
  return new_handle();
}

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  CUFAULT_REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

cublasHandle_t observed_handle() {
  cublasHandle_t handle = nullptr;
  CUFAULT_OBSERVE(cublasCreate(&handle));
  return handle;
}

cublasLtHandle_t new_lt_handle() {
  cublasLtHandle_t lt = nullptr;
  CUFAULT_REQUIRE(cublasLtCreate(&lt));
  return lt;
}

cublasLtHandle_t lt_handle_in_context(trial& t) {
  t.open_context();
  return new_lt_handle();
}

void context_with_faults(trial& t) {
  t.open_context();
  CUFAULT_REQUIRE(load_faults());
}

cublasLtHandle_t observed_lt_handle() {
  cublasLtHandle_t lt = nullptr;
  CUFAULT_OBSERVE(cublasLtCreate(&lt));
  return lt;
}

status_record record_of(const product_result& result) {
  if (result.status != CUBLAS_STATUS_SUCCESS) return record_of(result.status);
  if (result.waited != cudaSuccess) return record_of(result.waited);
  return {.ok = result.right, .numbers = result.right ? numbers_found::right : numbers_found::wrong};
}

status_record record_of(const product_with_facts& seen) {
  status_record record = record_of(seen.result);
  record.facts = seen.facts;
  return record;
}

cublasStatus_t sgemm(cublasHandle_t handle, const product_operands& on) {
  using shape = product_shape;
  const float one = 1, zero = 0;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, shape::m, shape::n, shape::k, &one, on.a, shape::lda,
                     on.b, shape::ldb, &zero, on.c, shape::ldc);
}

cublasStatus_t sgemm(cublasHandle_t handle, const product_extents& extents, const product_operands& on) {
  const float one = 1, zero = 0;
  const auto& [m, n, k] = extents;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, on.a, m, on.b, k, &zero, on.c,
                     extents.ldc());
}

product_result checked(product_result started) {
  return checked_product_of(started);
}
product_result checked(product_result started, const product_extents& extents, const void* block) {
  return checked_product_of(started, extents, block);
}

product_result product(cublasHandle_t handle) {
  product_result result;
  product_operands on_device;
  cudaStream_t stream = nullptr;
  cublasGetStream(handle, &stream);  // a bad handle has no stream, and cublasSgemm reports it
  if ((result.waited = prepare_product(fresh_seed(), &on_device, stream)) != cudaSuccess) return result;
  result.status = sgemm(handle, on_device);
  return checked(result);
}

cublasStatus_t large_product::start(cublasHandle_t handle) {
  result_ = {};
  product_operands on_device;
  cudaStream_t stream = nullptr;
  cublasGetStream(handle, &stream);
  result_.waited = prepare_product(extents_, block_.address(), fresh_seed(), &on_device, stream);
  if (result_.waited == cudaSuccess) result_.status = sgemm(handle, extents_, on_device);
  return result_.status;
}

product_result large_product::finish() {
  return result_ = checked(result_, extents_, block_.address());
}

product_result large_product::multiply(cublasHandle_t handle) {
  start(handle);
  return finish();
}

cublasStatus_t create_and_multiply() {
  cublasHandle_t handle = nullptr;
  const cublasStatus_t status = CUFAULT_OBSERVE(cublasCreate(&handle));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_OBSERVE(cublasDestroy(handle));
  return status;
}

void libraries_answer(trial& /*t*/) {
  int major = 0;
  CUFAULT_OBSERVE(cublasGetProperty(MAJOR_VERSION, &major));
  CUFAULT_OBSERVE(cublasLtGetProperty(MAJOR_VERSION, &major));
}

}  // namespace cufault
