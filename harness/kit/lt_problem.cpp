// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/lt_problem.hpp"

#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <cstdint>

namespace cufault {

namespace {

argument_check::product described_by(const product_extents& extents) {
  argument_check::product p;
  p.m = extents.m, p.n = extents.n, p.k = extents.k;
  p.a.leading_dimension = extents.m, p.b.leading_dimension = extents.k, p.c.leading_dimension = extents.ldc();
  return p;
}

cublasLtMatrixLayout_t new_layout(const argument_check::matrix& of, std::int64_t rows, std::int64_t columns,
                                  std::int64_t batch) {
  cublasLtMatrixLayout_t created = nullptr;
  CUFAULT_REQUIRE(cublasLtMatrixLayoutCreate(&created, of.type, static_cast<std::uint64_t>(rows),
                                             static_cast<std::uint64_t>(columns), of.leading_dimension));
  if (batch == 1) return created;
  set_attribute(created, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  set_attribute(created, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, of.stride);
  return created;
}

}  // namespace

lt_problem::lt_problem(const product_extents& extents) : lt_problem(described_by(extents)) {}

lt_problem::lt_problem(const argument_check::product& described) : described_(described) {
  const auto& p = described_;
  const auto layout_of = [&](const argument_check::matrix& of, cublasOperation_t op, std::int64_t rows,
                             std::int64_t columns) {
    const bool turned = op != CUBLAS_OP_N;
    return new_layout(of, turned ? columns : rows, turned ? rows : columns, p.batch);
  };
  a_.reset(layout_of(p.a, p.a_op, p.m, p.k));
  b_.reset(layout_of(p.b, p.b_op, p.k, p.n));
  c_.reset(layout_of(p.c, CUBLAS_OP_N, p.m, p.n));
  cublasLtMatmulDesc_t operation = nullptr;
  CUFAULT_REQUIRE(cublasLtMatmulDescCreate(&operation, p.compute, p.scalar));
  operation_.reset(operation);
  if (p.a_op != CUBLAS_OP_N) set_attribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, p.a_op);
  if (p.b_op != CUBLAS_OP_N) set_attribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, p.b_op);
  cublasLtMatmulPreference_t preference = nullptr;
  CUFAULT_REQUIRE(cublasLtMatmulPreferenceCreate(&preference));
  preference_.reset(preference);
}

cublasLtMatrixLayout_t lt_problem::own_d() {
  if (!d_) d_.reset(new_layout(described_.c, described_.m, described_.n, described_.batch));
  return d_.get();
}

cublasStatus_t lt_problem::heuristic(cublasLtHandle_t lt, std::size_t workspace_bytes, int* found,
                                     int wanted) {
  set_attribute(preference_.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace_bytes});
  results_ = {};
  found_ = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(lt, operation_.get(), a_.get(), b_.get(), c_.get(), result(),
                                     preference_.get(), wanted, results_.data(), &found_);
  if (status != CUBLAS_STATUS_SUCCESS) found_ = 0;
  if (found != nullptr) *found = found_;
  return status;
}

cublasStatus_t lt_problem::first(const cublasLtMatmulAlgo_t** algorithm) const {
  if (found_ == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  *algorithm = &results_.front().algo;
  return results_.front().state;
}

cublasStatus_t lt_problem::multiply(cublasLtHandle_t lt, const product_operands& on_device, void* workspace,
                                    std::size_t workspace_bytes, cudaStream_t stream) const {
  const cublasLtMatmulAlgo_t* algorithm = nullptr;
  if (const cublasStatus_t status = first(&algorithm)) return status;
  const float one = 1, zero = 0;
  return multiply(lt, {&one, on_device.a, on_device.b, &zero, on_device.c, on_device.c}, algorithm, workspace,
                  workspace_bytes, stream);
}

cublasStatus_t lt_problem::multiply(cublasLtHandle_t lt, const lt_operands& on_device,
                                    const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                    std::size_t workspace_bytes, cudaStream_t stream) const {
  return cublasLtMatmul(lt, operation_.get(), on_device.alpha, on_device.a, a_.get(), on_device.b, b_.get(),
                        on_device.beta, on_device.c, c_.get(), on_device.d, result(), algorithm, workspace,
                        workspace_bytes, stream);
}

cublasStatus_t lt_problem::multiply_by_first(cublasLtHandle_t lt, const lt_operands& on_device,
                                             void* workspace, std::size_t workspace_bytes) {
  if (const cublasStatus_t status = heuristic(lt, workspace_bytes, nullptr, 1)) return status;
  const cublasLtMatmulAlgo_t* algorithm = nullptr;
  if (const cublasStatus_t status = first(&algorithm)) return status;
  return multiply(lt, on_device, algorithm, workspace, workspace_bytes);
}

product_result lt_product(cublasLtHandle_t lt, void* workspace, std::size_t workspace_bytes) {
  product_result result;
  product_operands on_device;
  lt_problem problem;
  if ((result.waited = prepare_product(fresh_seed(), &on_device)) != cudaSuccess) return result;
  result.status = problem.heuristic(lt, workspace_bytes);
  if (result.status == CUBLAS_STATUS_SUCCESS)
    result.status = problem.multiply(lt, on_device, workspace, workspace_bytes);
  return checked(result);
}

std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256U;
  return static_cast<std::uint32_t>(bits & -bits);
}

void tell_alignment(lt_problem& problem, const lt_operands& of) {
  const cublasLtMatmulPreference_t told = problem.preference();
  set_attribute(told, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(of.a));
  set_attribute(told, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(of.b));
  set_attribute(told, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(of.c));
  set_attribute(told, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(of.d));
}

}  // namespace cufault
