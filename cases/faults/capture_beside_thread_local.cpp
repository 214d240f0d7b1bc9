// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   With cuBLAS 13.1.0 on an H200: allocations, results in host memory, cublasCreate, and what waits, as in the global mode
//              (capture_beside.cpp). cublasDestroy, cublasLtDestroy and some first products succeed and invalidate the capture.
// Why          A capture cannot record them; in which threads the runtime refuses them depends on the mode.
// Documented   CUDA Runtime API, cudaStreamBeginCapture and cudaThreadExchangeStreamCaptureMode; cuBLAS documentation, CUDA graphs support.
#include "cases/faults/capture.hpp"

namespace cufault {
namespace {

const register_fault here{captured(cudaStreamCaptureModeThreadLocal, false, "capture_beside_thread_local",
                                   "another stream is captured meanwhile, in the thread-local mode")};

}  // namespace
}  // namespace cufault
