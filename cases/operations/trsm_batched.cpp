// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasStrsmBatched of two systems: arrays of pointers, in device memory.
#include "cases/operations/operations.hpp"
#include "cases/operations/triangles.hpp"

#include <array>
#include <utility>
#include <vector>

namespace cufault::operations {
namespace {

class solve_batched final : public by_handle {
 public:
  solve_batched() {
    const std::array<float*, 4> all{floats(a_[0]), floats(a_[1]), floats(x_[0]), floats(x_[1])};
    CUFAULT_REQUIRE(cudaMemcpy(pointers_.get(), all.data(), sizeof all, cudaMemcpyDefault));
  }
  void prepare() override {
    for (std::size_t i = 0; i < count; ++i) {
      triangular_system system(rows, columns);
      a_[i].put(system.a);
      x_[i].put(system.b);
      expected_[i] = std::move(system.x);
    }
  }
  status_record make() override {
    const float one = 1;
    auto** pointers = static_cast<float**>(pointers_.get());
    return record_of(cublasStrsmBatched(handle(), CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                        CUBLAS_DIAG_NON_UNIT, rows, columns, &one, pointers, rows,
                                        pointers + count, rows, count));
  }
  product_result check() override {
    product_result result = compared(CUBLAS_STATUS_SUCCESS, x_[0], expected_[0]);
    if (result.ok()) result = compared(CUBLAS_STATUS_SUCCESS, x_[1], expected_[1]);
    return result;
  }

 private:
  static constexpr int rows = 96, columns = 80, count = 2;
  static std::array<guarded_array, count> two(std::size_t elements) {
    return {guarded_array(CUDA_R_32F, elements), guarded_array(CUDA_R_32F, elements)};
  }
  std::array<guarded_array, count> a_ = two(std::size_t{rows} * rows), x_ = two(std::size_t{rows} * columns);
  std::array<std::vector<double>, count> expected_;
  owned_memory pointers_ = new_memory(2 * count * sizeof(float*));
};

const register_operation here{{.name = "trsm_batched",
                               .step = {"cublasStrsmBatched"},
                               .summary = "cublasStrsmBatched",
                               .fresh = fresh<solve_batched>}};

}  // namespace
}  // namespace cufault::operations
