// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Each of the 11 operations that were tried, or the call behind it, warm, after a synchronisation: the context is damaged as by an illegal
//              address of its own.
// Why          Clients of one MPS server share what an error damages.
// Documented   Multi-Process Service, error containment: a fatal fault of one client can end all clients of the GPU.
#include "cases/faults/neighbour.hpp"

namespace cufault {
namespace {

const register_fault here{
    beside_failing(device_fault::illegal_address, true, "mps_neighbour_illegal_address",
                   "a kernel of another client of the MPS server stored outside of every allocation",
                   memory_class::exclusive, "lt_matmul")};

}  // namespace
}  // namespace cufault
