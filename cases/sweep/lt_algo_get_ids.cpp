// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasLtMatmulAlgoGetIds, by any one driver call inside of it.
// Why          Any version may make some; cuBLAS 13.1.0 makes none.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

#include <array>

namespace cufault::sweeping {
namespace {

class get_ids final : public by_light_handle {
 public:
  status_record make() override {
    found_ = 0;
    std::array<int, 8> ids{};
    return record_of(cublasLtMatmulAlgoGetIds(light_, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                              CUDA_R_32F, CUDA_R_32F, static_cast<int>(ids.size()),
                                              ids.data(), &found_));
  }
  product_result check() override { return {.right = found_ > 0}; }

 private:
  int found_ = 0;
};

const register_case here{sweep_of("lt_algo_get_ids", "cublasLtMatmulAlgoGetIds, each driver call failed",
                                  [] { return std::make_unique<get_ids>(); })};

}  // namespace
}  // namespace cufault::sweeping
