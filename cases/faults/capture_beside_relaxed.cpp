// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   With cuBLAS 13.1.0 on an H200: cudaDeviceSynchronize; and the instantiation of the captured graph while the operation
//              captures a stream of its own. cublasDestroy and cublasLtDestroy succeed and invalidate the capture.
// Why          A capture cannot record them; in which threads the runtime refuses them depends on the mode.
// Documented   CUDA Runtime API, cudaStreamBeginCapture and cudaThreadExchangeStreamCaptureMode; cuBLAS documentation, CUDA graphs support.
#include "cases/faults/capture.hpp"

namespace cufault {
namespace {

const register_fault here{captured(cudaStreamCaptureModeRelaxed, false, "capture_beside_relaxed",
                                   "another stream is captured meanwhile, in the relaxed mode")};

}  // namespace
}  // namespace cufault
