// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgetrfBatched of two matrices without pivots. They are products of whole numbers L and U, so that its factors are exact.
#include "cases/operations/operations.hpp"

#include <array>
#include <vector>

namespace cufault::operations {
namespace {

class factor_batched final : public by_handle {
 public:
  factor_batched() {
    const std::array<float*, count> all{floats(a_[0]), floats(a_[1])};
    CUFAULT_REQUIRE(cudaMemcpy(pointers_.get(), all.data(), sizeof all, cudaMemcpyDefault));
  }
  void prepare() override {
    for (std::size_t i = 0; i < count; ++i) {
      // L below the diagonal, which is 1 in L and in U, and U above: as the call leaves them. Few are not 0, so that products stay exact.
      std::vector<double> both = small_numbers(std::size_t{rows} * rows, fresh_seed()), l(both.size()),
                          u(both.size());
      for (int column = 0; column < rows; ++column)
        for (int row = 0; row < rows; ++row) {
          const auto at = static_cast<std::size_t>(column) * rows + static_cast<std::size_t>(row);
          if (row == column)
            both[at] = l[at] = u[at] = 1;
          else if (row - column > 4 || column - row > 4)
            both[at] = 0;
          else
            (row > column ? l : u)[at] = both[at];
        }
      a_[i].put(product_of(l, u, rows, rows, rows));
      expected_[i] = both;
    }
  }
  status_record make() override {
    return record_of(cublasSgetrfBatched(handle(), rows, static_cast<float**>(pointers_.get()), rows, nullptr,
                                         static_cast<int*>(info_.get()), count));
  }
  product_result check() override {
    product_result result = compared(CUBLAS_STATUS_SUCCESS, a_[0], expected_[0]);
    if (result.ok()) result = compared(CUBLAS_STATUS_SUCCESS, a_[1], expected_[1]);
    return result;
  }

 private:
  static constexpr int rows = 96, count = 2;
  std::array<guarded_array, count> a_{guarded_array(CUDA_R_32F, std::size_t{rows} * rows),
                                      guarded_array(CUDA_R_32F, std::size_t{rows} * rows)};
  std::array<std::vector<double>, count> expected_;
  owned_memory pointers_ = new_memory(count * sizeof(float*)), info_ = new_memory(count * sizeof(int));
};

const register_operation here{{.name = "getrf_batched",
                               .step = {"cublasSgetrfBatched"},
                               .summary = "cublasSgetrfBatched",
                               .fresh = fresh<factor_batched>}};

}  // namespace
}  // namespace cufault::operations
