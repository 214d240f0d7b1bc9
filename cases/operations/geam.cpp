// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgeam: a kernel of its own.
#include "cases/operations/operations.hpp"

#include <vector>

namespace cufault::operations {
namespace {

class sum_of_matrices final : public by_handle {
 public:
  void prepare() override {
    const auto a = small_numbers(count, fresh_seed()), b = small_numbers(count, fresh_seed());
    a_.put(a);
    b_.put(b);
    c_.poison();
    for (std::size_t i = 0; i < count; ++i) expected_[i] = a[i] + 2 * b[i];
  }
  status_record make() override {
    const float one = 1, two = 2;
    return record_of(cublasSgeam(handle(), CUBLAS_OP_N, CUBLAS_OP_N, rows, columns, &one, floats(a_), rows,
                                 &two, floats(b_), rows, floats(c_), rows));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, c_, expected_); }

 private:
  static constexpr int rows = 96, columns = 80;
  static constexpr std::size_t count = std::size_t{rows} * columns;
  guarded_array a_{CUDA_R_32F, count}, b_{CUDA_R_32F, count}, c_{CUDA_R_32F, count};
  std::vector<double> expected_ = std::vector<double>(count);
};

const register_operation here{
    {.name = "geam", .step = {"cublasSgeam"}, .summary = "cublasSgeam", .fresh = fresh<sum_of_matrices>}};

}  // namespace
}  // namespace cufault::operations
