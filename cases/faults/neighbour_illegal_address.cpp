// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   None of the 11 operations that were tried, warm.
// Why          Another process has a context of its own, and the error belongs to that.
// Documented   Multi-Process Service, introduction: without it, processes take turns on the GPU, each in its own context.
#include "cases/faults/neighbour.hpp"

namespace cufault {
namespace {

const register_fault here{
    beside_failing(device_fault::illegal_address, false, "neighbour_illegal_address",
                   "a kernel of another process on the GPU stored outside of every allocation",
                   memory_class::exclusive, "cublas_create")};

}  // namespace
}  // namespace cufault
