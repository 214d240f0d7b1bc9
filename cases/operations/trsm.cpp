// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasStrsm: kernels of its own.
#include "cases/operations/operations.hpp"
#include "cases/operations/triangles.hpp"

#include <utility>
#include <vector>

namespace cufault::operations {
namespace {

class solve final : public by_handle {
 public:
  void prepare() override {
    triangular_system system(rows, columns);
    a_.put(system.a);
    x_.put(system.b);
    expected_ = std::move(system.x);
  }
  status_record make() override {
    const float one = 1;
    return record_of(cublasStrsm(handle(), CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                 CUBLAS_DIAG_NON_UNIT, rows, columns, &one, floats(a_), rows, floats(x_),
                                 rows));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, x_, expected_); }

 private:
  static constexpr int rows = 96, columns = 80;
  guarded_array a_{CUDA_R_32F, std::size_t{rows} * rows}, x_{CUDA_R_32F, std::size_t{rows} * columns};
  std::vector<double> expected_;
};

const register_operation here{
    {.name = "trsm", .step = {"cublasStrsm"}, .summary = "cublasStrsm", .fresh = fresh<solve>}};

}  // namespace
}  // namespace cufault::operations
