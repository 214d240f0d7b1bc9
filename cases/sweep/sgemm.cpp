// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasSgemm, by any one driver call inside of it.
// Why          The first product of a kind loads its kernel; every product asks for attributes and launches.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/operations.hpp"

namespace cufault::sweeping {
namespace {

const register_case here{sweep_of_call(
    "sgemm", "cublasSgemm, each driver call failed", usual_product(),
    [](cublasHandle_t handle, checked_product& p) { return sgemm(handle, p.described(), p.c.data()); })};

}  // namespace
}  // namespace cufault::sweeping
