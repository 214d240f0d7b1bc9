// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   None of the 11 operations that were tried, cold and warm.
// Why          Another process has a context of its own, and the error belongs to that.
// Documented   Multi-Process Service, introduction: without it, processes take turns on the GPU, each in its own context.
#include "cases/faults/neighbour.hpp"

namespace cufault {
namespace {

const register_fault here{beside_failing(device_fault::trap, false, "neighbour_trap",
                                         "a kernel of another process on the GPU trapped",
                                         memory_class::exclusive, "sgemm_64")};

}  // namespace
}  // namespace cufault
