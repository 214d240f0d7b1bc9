// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   With cuBLAS 13.1.0 on an H200: what launches a kernel. cudaLaunchKernelExC returns cudaErrorLaunchFailure, functions of cuBLAS
//              EXECUTION_FAILED or INTERNAL_ERROR; cublasLtMatrixTransform returns SUCCESS with wrong numbers. Where the rule meets no
//              launch in the operation, as in cudaGraphLaunch, the launch that fails is that of its proof.
// Why          The driver refuses the next launch of a kernel, and the context stays usable.
// Documented   cuBLAS documentation, CUBLAS_STATUS_EXECUTION_FAILED. Made up: it is injected.
#include "cases/faults/failed_driver_call.hpp"

namespace cufault {
namespace {

const register_fault here{failed_driver_call("failed_launch", "made up: one launch of a kernel fails",
                                             "cuLaunchKernel*", "LAUNCH_FAILED")};

}  // namespace
}  // namespace cufault
