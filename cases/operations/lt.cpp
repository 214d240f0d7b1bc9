// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt without its handles and captures.
#include "cases/operations/operations.hpp"

#include <array>
#include <memory>

namespace cufault::operations {
namespace {

/// Sets that the operation has its own cuBLASLt handle.
operation_type by_lt(operation_type o) {
  o.handle = own_handle::cublaslt;
  o.product = by_same_lt_handle;
  return o;
}

/// cublasLtMatmul by the heuristic's first algorithm for the workspace, chosen before.
class lt_matmul_operation final : public by_lt_handle {
 public:
  explicit lt_matmul_operation(const argument_check::product& described, bool with_workspace = true)
      : p_(described), given_bytes_(with_workspace ? workspace_bytes : 0) {
    CUFAULT_REQUIRE(problem_.heuristic(lt(), given_bytes_, nullptr, 1));
    if (problem_.results().empty()) throw not_provoked("the heuristic knows no algorithm for this product");
  }
  void prepare() override { p_.reset(); }
  status_record make() override {
    return record_of(problem_.multiply(lt(), p_.operands(), &problem_.results().front().algo,
                                       given_bytes_ > 0 ? workspace() : nullptr, given_bytes_));
  }
  product_result check() override { return p_.finish(CUBLAS_STATUS_SUCCESS); }
  [[nodiscard]] void* operand() const override { return p_.a.allocation(); }

 private:
  checked_product p_;
  lt_problem problem_{p_.described()};
  std::size_t given_bytes_;
};

make_operation fresh_matmul(const argument_check::product& described, bool with_workspace = true) {
  return [=] { return std::make_unique<lt_matmul_operation>(described, with_workspace); };
}

/// A is transposed, as Hopper requires.
std::unique_ptr<operation> fresh_fp8() {
  if (trial::current().compute_capability() < 89)
    throw not_provoked("products of FP8 take a device of compute capability 8.9 or higher");
  return std::make_unique<lt_matmul_operation>(
      usual_but([](auto& p) { p.function = argument_check::entry::cublas_lt, p.a_op = CUBLAS_OP_T; },
                CUDA_R_8F_E4M3, CUDA_R_16BF));
}

/// With a bias for each row, as in linear layers of frameworks.
class with_bias final : public by_lt_handle {
 public:
  with_bias() {
    set_attribute(problem_.operation(), CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set_attribute(problem_.operation(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_.data());
    CUFAULT_REQUIRE(problem_.heuristic(lt(), workspace_bytes, nullptr, 1));
    if (problem_.results().empty()) throw not_provoked("the heuristic knows no algorithm for a bias");
  }
  void prepare() override {
    const auto a = small_numbers(std::size_t{m} * k, fresh_seed()),
               b = small_numbers(std::size_t{k} * n, fresh_seed()), bias = small_numbers(m, fresh_seed());
    a_.put(a);
    b_.put(b);
    bias_.put(bias);
    c_.poison();
    expected_ = product_of(a, b, m, n, k);
    for (std::size_t i = 0; i < expected_.size(); ++i) expected_[i] += bias[i % m];
  }
  status_record make() override {
    return record_of(problem_.multiply(lt(), {&one, a_.data(), b_.data(), &zero, c_.data(), c_.data()},
                                       &problem_.results().front().algo, workspace(), workspace_bytes));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, c_, expected_); }

 private:
  static constexpr int m = 96, n = 80, k = 64;
  static argument_check::product described() {
    argument_check::product p = usual_product();
    p.a.leading_dimension = m, p.b.leading_dimension = k, p.c.leading_dimension = m;
    return p;
  }
  guarded_array a_{CUDA_R_32F, std::size_t{m} * k}, b_{CUDA_R_32F, std::size_t{k} * n},
      c_{CUDA_R_32F, std::size_t{m} * n}, bias_{CUDA_R_32F, m};
  lt_problem problem_{described()};
  numbers expected_;
};

/// Converts a matrix from column to row order.
class reordered final : public by_lt_handle {
 public:
  reordered() {
    cublasLtMatrixTransformDesc_t created = nullptr;
    CUFAULT_REQUIRE(cublasLtMatrixTransformDescCreate(&created, CUDA_R_32F));
    transform_.reset(created);
    set_attribute(to_.get(), CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW);
  }
  void prepare() override {
    const auto a = small_numbers(count, fresh_seed());
    a_.put(a);
    c_.poison();
    for (std::size_t i = 0; i < count; ++i) expected_[i % rows * columns + i / rows] = a[i];
  }
  status_record make() override {
    return record_of(cublasLtMatrixTransform(lt(), transform_.get(), &one, a_.data(), from_.get(), &zero,
                                             nullptr, nullptr, c_.data(), to_.get(), nullptr));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, c_, expected_); }

 private:
  static constexpr int rows = 96, columns = 80;
  static constexpr std::size_t count = std::size_t{rows} * columns;
  static lt_layout layout(int leading_dimension) {
    cublasLtMatrixLayout_t created = nullptr;
    CUFAULT_REQUIRE(cublasLtMatrixLayoutCreate(&created, CUDA_R_32F, rows, columns, leading_dimension));
    return lt_layout(created);
  }
  guarded_array a_{CUDA_R_32F, count}, c_{CUDA_R_32F, count};
  lt_layout from_ = layout(rows), to_ = layout(columns);
  std::unique_ptr<cublasLtMatrixTransformDescOpaque_t, destroy_by<cublasLtMatrixTransformDescDestroy>>
      transform_;
  numbers expected_ = numbers(count);
};

/// It reads properties of the device and, the first time, loads kernels.
class heuristic final : public by_lt_handle {
 public:
  void prepare() override {
    p_.reset();
    found_ = 0;
  }
  status_record make() override { return record_of(problem_.heuristic(lt(), workspace_bytes, &found_)); }
  product_result check() override {
    if (found_ == 0) return {};
    return p_.finish(problem_.multiply(lt(), p_.operands(), &problem_.results().front().algo, workspace(),
                                       workspace_bytes));
  }

 private:
  checked_product p_{usual_product()};
  lt_problem problem_{p_.described()};
  int found_ = 0;
};

/// cuBLAS 13.1.0 on an H200 makes 90 driver calls in the first one of a process, none in a later one.
class get_ids final : public by_lt_handle {
 public:
  status_record make() override {
    found_ = 0;
    std::array<int, 8> ids{};
    return record_of(cublasLtMatmulAlgoGetIds(lt(), CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                              CUDA_R_32F, CUDA_R_32F, static_cast<int>(ids.size()),
                                              ids.data(), &found_));
  }
  product_result check() override { return {.right = found_ > 0}; }

 private:
  int found_ = 0;
};

const register_operations here{
    by_lt({.name = "lt_matmul",
           .step = {"cublasLtMatmul", "first_algorithm"},
           .summary = "cublasLtMatmul",
           .fresh = fresh_matmul(usual_product()),
           .has_operand = true,
           .lower_precision = "lt_matmul_half",
           .representative = true}),
    // Sums in FP32.
    by_lt({.name = "lt_matmul_half",
           .step = {"cublasLtMatmul", "fp16"},
           .summary = "cublasLtMatmul in FP16",
           .fresh = fresh_matmul(usual_product(CUDA_R_16F, CUDA_R_16F)),
           .has_operand = true}),
    by_lt({.name = "lt_matmul_no_workspace",
           .step = {"cublasLtMatmul", "no_workspace"},
           .summary = "cublasLtMatmul without a workspace",
           .fresh = fresh_matmul(usual_product(), false),
           .has_operand = true}),
    by_lt({.name = "fp8",
           .step = {"cublasLtMatmul", "fp8_first_algorithm"},
           .summary = "cublasLtMatmul in FP8",
           .fresh = fresh_fp8,
           .has_operand = true}),
    by_lt({.name = "lt_matmul_bias",
           .step = {"cublasLtMatmul", "bias"},
           .summary = "cublasLtMatmul with a bias",
           .fresh = fresh<with_bias>}),
    by_lt({.name = "lt_transform", .step = {"cublasLtMatrixTransform"}, .fresh = fresh<reordered>}),
    by_lt({.name = "lt_heuristic",
           .step = {"cublasLtMatmulAlgoGetHeuristic"},
           .fresh = fresh<heuristic>,
           .representative = true,
           .claims = {"S2-1"}}),
    by_lt({.name = "lt_algo_get_ids", .step = {"cublasLtMatmulAlgoGetIds"}, .fresh = fresh<get_ids>})};

}  // namespace
}  // namespace cufault::operations
