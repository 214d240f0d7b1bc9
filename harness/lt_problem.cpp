// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/lt_problem.hpp"

#include "harness/trial.hpp"

#include <cstdint>

namespace cufault {

lt_problem::layout lt_problem::matrix(int rows, int columns, int leading_dimension) {
  cublasLtMatrixLayout_t created = nullptr;
  require(cublasLtMatrixLayoutCreate(&created, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), leading_dimension));
  return layout(created);
}

lt_problem::lt_problem(const product_extents& extents)
    : a_(matrix(extents.m, extents.k, extents.m)),
      b_(matrix(extents.k, extents.n, extents.k)),
      c_(matrix(extents.m, extents.n, extents.ldc())) {
  cublasLtMatmulDesc_t operation = nullptr;
  require(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  operation_.reset(operation);
  cublasLtMatmulPreference_t preference = nullptr;
  require(cublasLtMatmulPreferenceCreate(&preference));
  preference_.reset(preference);
}

cublasStatus_t lt_problem::heuristic(cublasLtHandle_t light, std::size_t workspace_bytes, int* found,
                                     int wanted) {
  const std::uint64_t allowed = workspace_bytes;
  require(cublasLtMatmulPreferenceSetAttribute(preference_.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &allowed, sizeof allowed));
  results_ = {};
  found_ = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(light, operation_.get(), a_.get(), b_.get(), c_.get(), c_.get(),
                                     preference_.get(), wanted, results_.data(), &found_);
  if (status != CUBLAS_STATUS_SUCCESS) found_ = 0;
  if (found != nullptr) *found = found_;
  return status;
}

cublasStatus_t lt_problem::multiply(cublasLtHandle_t light, const product_operands& on_device,
                                    void* workspace, std::size_t workspace_bytes, cudaStream_t stream) const {
  if (found_ == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto& first = results_.front();
  if (first.state != CUBLAS_STATUS_SUCCESS) return first.state;
  const float one = 1, zero = 0;
  return cublasLtMatmul(light, operation_.get(), &one, on_device.a, a_.get(), on_device.b, b_.get(), &zero,
                        on_device.c, c_.get(), on_device.c, c_.get(), &first.algo, workspace, workspace_bytes,
                        stream);
}

product_result lt_product(cublasLtHandle_t light, void* workspace, std::size_t workspace_bytes) {
  product_result result;
  product_operands on_device;
  lt_problem problem;
  if ((result.waited = prepare_product(fresh_seed(), &on_device)) != cudaSuccess) return result;
  result.status = problem.heuristic(light, workspace_bytes);
  if (result.status == CUBLAS_STATUS_SUCCESS)
    result.status = problem.multiply(light, on_device, workspace, workspace_bytes);
  if (result.status != CUBLAS_STATUS_SUCCESS) return result;
  if ((result.waited = cudaDeviceSynchronize()) != cudaSuccess) return result;
  product_check check;
  if ((result.waited = check_product(&check)) != cudaSuccess) return result;
  result.right = check.right();
  return result;
}

cublasLtHandle_t new_light_handle() {
  cublasLtHandle_t light = nullptr;
  require(cublasLtCreate(&light));
  return light;
}

}  // namespace cufault
