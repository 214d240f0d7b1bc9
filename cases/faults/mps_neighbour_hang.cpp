// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   None of the 6 operations that were tried, warm; when each was complete, the kernel of the other client had ended.
// Why          Not measured.
// Documented   Multi-Process Service, provisioning: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE limits the part of the GPU that a client can occupy.
#include "cases/faults/neighbour.hpp"

namespace cufault {
namespace {

const register_fault here{beside_hanging(true, "mps_neighbour_hang",
                                         "a kernel of another client of the MPS server occupies the GPU",
                                         memory_class::exclusive, "dot_host")};

}  // namespace
}  // namespace cufault
