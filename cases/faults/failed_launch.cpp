// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Not measured yet for the operations of the matrix. sweep.OPERATION fails each driver call of an operation.
// Why          The driver refuses the next launch of a kernel, and the context stays usable.
// Documented   cuBLAS documentation, CUBLAS_STATUS_EXECUTION_FAILED. Made up: it is injected.
#include "cases/faults/failed_driver_call.hpp"

namespace cufault {
namespace {

const register_fault here{failed_driver_call("failed_launch", "made up: one launch of a kernel fails",
                                             "cuLaunchKernel*", "LAUNCH_FAILED")};

}  // namespace
}  // namespace cufault
