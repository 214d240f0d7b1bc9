// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasLtMatrixTransform of a matrix from column to row order.
#include "cases/operations/operations.hpp"

#include <memory>
#include <vector>

namespace cufault::operations {
namespace {

using transform =
    std::unique_ptr<cublasLtMatrixTransformDescOpaque_t, destroy_by<cublasLtMatrixTransformDescDestroy>>;

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
    const float one = 1, zero = 0;
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
  transform transform_;
  std::vector<double> expected_ = std::vector<double>(count);
};

const register_operation here{{.name = "lt_transform",
                               .step = {"cublasLtMatrixTransform"},
                               .summary = "cublasLtMatrixTransform",
                               .fresh = fresh<reordered>,
                               .handle = own_handle::cublaslt,
                               .product = by_same_lt_handle}};

}  // namespace
}  // namespace cufault::operations
