// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasLtMatmul, by any one driver call inside of it.
// Why          The first product by an algorithm loads its kernel; every product launches.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

namespace cufault::sweeping {
namespace {

const register_case here{sweep_of("lt_matmul", "cublasLtMatmul, each driver call failed",
                                  [] { return std::make_unique<light_product>(usual_product()); })};

}  // namespace
}  // namespace cufault::sweeping
