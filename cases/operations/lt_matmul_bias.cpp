// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasLtMatmul with a bias for each row, as linear layers of frameworks have it.
#include "cases/operations/operations.hpp"

#include <vector>

namespace cufault::operations {
namespace {

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
    const float one = 1, zero = 0;
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
  std::vector<double> expected_;
};

const register_operation here{{.name = "lt_matmul_bias",
                               .step = {"cublasLtMatmul", "bias"},
                               .summary = "cublasLtMatmul with a bias",
                               .fresh = fresh<with_bias>,
                               .handle = own_handle::cublaslt,
                               .product = by_same_lt_handle}};

}  // namespace
}  // namespace cufault::operations
