// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Each of the 11 operations that were tried, or the call behind it: the context is damaged as by a trap of its own.
// Why          Clients of one MPS server share what an error damages.
// Documented   Multi-Process Service, error containment: a fatal fault of one client can end all clients of the GPU.
#include "cases/faults/neighbour.hpp"

namespace cufault {
namespace {

const register_fault here{beside_failing(device_fault::trap, true, "mps_neighbour_trap",
                                         "a kernel of another client of the MPS server trapped",
                                         memory_class::exclusive, "sgemm_64")};

}  // namespace
}  // namespace cufault
