// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasSgeam, by any one driver call inside of it.
// Why          As a product, with a kernel of its own.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"
#include "harness/elements.hpp"

#include <vector>

namespace cufault::sweeping {
namespace {

class sum final : public by_handle {
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
    const auto floats = [](const guarded_array& of) { return static_cast<float*>(of.data()); };
    return record_of(cublasSgeam(handle_, CUBLAS_OP_N, CUBLAS_OP_N, rows, columns, &one, floats(a_), rows,
                                 &two, floats(b_), rows, floats(c_), rows));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, c_, expected_); }

 private:
  static constexpr int rows = 96, columns = 80;
  static constexpr std::size_t count = std::size_t{rows} * columns;
  guarded_array a_{CUDA_R_32F, count}, b_{CUDA_R_32F, count}, c_{CUDA_R_32F, count};
  std::vector<double> expected_ = std::vector<double>(count);
};

const register_case here{
    sweep_of("geam", "cublasSgeam, each driver call failed", [] { return std::make_unique<sum>(); })};

}  // namespace
}  // namespace cufault::sweeping
