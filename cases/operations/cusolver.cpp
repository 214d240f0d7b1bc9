// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Operations of cuSOLVER.
#include "cases/operations/operations.hpp"

#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>

#include <vector>
#endif

namespace cufault::operations {
namespace {

#if __has_include(<cusolverDn.h>)
class create_solver final : public without_handle {
 public:
  status_record make() override {
    cusolverDnHandle_t handle = nullptr;
    const cusolverStatus_t status = cusolverDnCreate(&handle);
    if (status == CUSOLVER_STATUS_SUCCESS) made_.emplace_back(handle);
    return record_of(status);
  }
  product_result check() override { return product_by_new_handle(); }

 private:
  std::vector<std::unique_ptr<cusolverDnContext, destroy_by<cusolverDnDestroy>>> made_;
};

/// Factors L L^T. L has ones on its diagonal, and 1 or -1 below it, so that its factor is exact.
class factor final : public without_handle {
 public:
  factor() {
    cusolverDnHandle_t handle = nullptr;
    CUFAULT_REQUIRE(cusolverDnCreate(&handle));
    solver_.reset(handle);
    CUFAULT_REQUIRE(
        cusolverDnSpotrf_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, rows, floats(a_), rows, &work_floats_));
    work_ = new_memory(static_cast<std::size_t>(work_floats_) * sizeof(float));
  }
  void prepare() override {
    const std::vector<double> numbers = small_numbers(rows, fresh_seed());
    std::vector<double> l(std::size_t{rows} * rows), transposed(l);
    for (std::size_t i = 0; i < rows; ++i) {
      l[i * rows + i] = transposed[i * rows + i] = 1;
      if (i + 1 < rows) l[i * rows + i + 1] = transposed[(i + 1) * rows + i] = numbers[i] < 0 ? -1 : 1;
    }
    expected_ = product_of(l, transposed, rows, rows, rows);
    a_.put(expected_);
    for (std::size_t column = 0; column < rows; ++column)  // elements above the diagonal stay
      for (std::size_t row = column; row < rows; ++row)
        expected_[column * rows + row] = l[column * rows + row];
  }
  status_record make() override {
    return record_of(cusolverDnSpotrf(solver_.get(), CUBLAS_FILL_MODE_LOWER, rows, floats(a_), rows,
                                      static_cast<float*>(work_.get()), work_floats_,
                                      static_cast<int*>(info_.get())));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, a_, expected_); }

 private:
  static constexpr int rows = 96;
  std::unique_ptr<cusolverDnContext, destroy_by<cusolverDnDestroy>> solver_;
  guarded_array a_{CUDA_R_32F, std::size_t{rows} * rows};
  std::vector<double> expected_;
  int work_floats_ = 0;
  owned_memory work_, info_ = new_memory(sizeof(int));
};

constexpr auto fresh_solver = fresh<create_solver>, fresh_factor = fresh<factor>;
#else
constexpr auto fresh_solver = without_headers, fresh_factor = without_headers;
#endif

const register_operations here{// cuSOLVER documentation: NOT_INITIALIZED, ALLOC_FAILED, ARCH_MISMATCH.
                               {.name = "cusolver_create",
                                .step = {"cusolverDnCreate"},
                                .fresh = fresh_solver,
                                .handle = own_handle::none,
                                .needs_context = false,
                                .apart = true,
                                .product = by_new_handle},
                               {.name = "cusolver_potrf",
                                .step = {"cusolverDnSpotrf"},
                                .fresh = fresh_factor,
                                .handle = own_handle::none,
                                .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
