// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasLtMatmulAlgoGetIds: cuBLAS 13.1.0 on an H200 makes 90 driver calls in the first one of a process, none in a later one.
#include "cases/operations/operations.hpp"

#include <array>

namespace cufault::operations {
namespace {

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

const register_operation here{{.name = "lt_algo_get_ids",
                               .step = {"cublasLtMatmulAlgoGetIds"},
                               .summary = "cublasLtMatmulAlgoGetIds",
                               .fresh = fresh<get_ids>,
                               .handle = own_handle::cublaslt,
                               .product = by_same_lt_handle}};

}  // namespace
}  // namespace cufault::operations
