// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasStrmm by a lower triangle: what is above the diagonal is not zero.
#include "cases/operations/operations.hpp"
#include "cases/operations/triangles.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class triangular_product final : public by_handle {
 public:
  void prepare() override {
    const auto a = small_numbers(std::size_t{rows} * rows, fresh_seed()),
               b = small_numbers(std::size_t{rows} * columns, fresh_seed());
    a_.put(a);
    b_.put(b);
    c_.poison();
    expected_ = product_of(lower_triangle(a, rows, 0), b, rows, columns, rows);
  }
  status_record make() override {
    const float one = 1;
    return record_of(cublasStrmm(handle(), CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                 CUBLAS_DIAG_NON_UNIT, rows, columns, &one, floats(a_), rows, floats(b_),
                                 rows, floats(c_), rows));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, c_, expected_); }

 private:
  static constexpr int rows = 96, columns = 80;
  static constexpr std::size_t count = std::size_t{rows} * columns;
  guarded_array a_{CUDA_R_32F, std::size_t{rows} * rows}, b_{CUDA_R_32F, count}, c_{CUDA_R_32F, count};
  std::vector<double> expected_;
};

const register_operation here{
    {.name = "trmm", .step = {"cublasStrmm"}, .summary = "cublasStrmm", .fresh = fresh<triangular_product>}};

}  // namespace
}  // namespace cufault::operations
