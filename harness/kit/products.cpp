// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/products.hpp"

namespace cufault {

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

product_result product(cublasHandle_t handle) {
  product_result result;
  product_operands on_device;
  cudaStream_t stream = nullptr;
  cublasGetStream(handle, &stream);  // a bad handle has no stream, and cublasSgemm reports it
  if ((result.waited = prepare_product(fresh_seed(), &on_device, stream)) != cudaSuccess) return result;
  result.status = sgemm(handle, on_device);
  if (result.status != CUBLAS_STATUS_SUCCESS) return result;
  if ((result.waited = cudaDeviceSynchronize()) != cudaSuccess) return result;
  product_check check;
  if ((result.waited = check_product(&check)) != cudaSuccess) return result;
  result.right = check.right();
  return result;
}

cublasStatus_t large_product::start(cublasHandle_t handle) {
  result_ = {};
  product_operands on_device;
  const float one = 1, zero = 0;
  const auto& [m, n, k] = extents_;
  cudaStream_t stream = nullptr;
  cublasGetStream(handle, &stream);
  result_.waited = prepare_product(extents_, block_.address(), fresh_seed(), &on_device, stream);
  if (result_.waited == cudaSuccess)
    result_.status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, on_device.a, m, on_device.b,
                                 k, &zero, on_device.c, extents_.ldc());
  return result_.status;
}

product_result large_product::finish() {
  if (result_.status != CUBLAS_STATUS_SUCCESS || result_.waited != cudaSuccess) return result_;
  if ((result_.waited = cudaDeviceSynchronize()) != cudaSuccess) return result_;
  product_check check;
  if ((result_.waited = check_product(extents_, block_.address(), &check)) != cudaSuccess) return result_;
  result_.right = check.right();
  return result_;
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
