// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Operations that allocate, wait or use the legacy stream while a stream is captured.
// Why          A capture cannot record them; the runtime refuses them, and may spoil the capture.
// Documented   CUDA Runtime API, cudaStreamBeginCapture and cudaThreadExchangeStreamCaptureMode; cuBLAS documentation, CUDA graphs support.
#include "cases/faults/capture.hpp"

namespace cufault {
namespace {

const register_fault here{captured(cudaStreamCaptureModeRelaxed, true, "capture_relaxed",
                                   "its stream is captured, in the relaxed mode")};

}  // namespace
}  // namespace cufault
