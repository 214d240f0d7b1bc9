// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   None of the 7 operations that were tried, warm; each was complete while the kernel of the other process still ran.
// Why          Both processes take turns on the GPU.
// Documented   Multi-Process Service, introduction: without it, processes take turns on the GPU, each in its own context.
#include "cases/faults/neighbour.hpp"

namespace cufault {
namespace {

const register_fault here{beside_hanging(false, "neighbour_hang",
                                         "a kernel of another process occupies the GPU",
                                         memory_class::exclusive, "gemm_ex_half")};

}  // namespace
}  // namespace cufault
