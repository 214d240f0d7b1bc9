// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Work on the legacy stream, which waits for every blocking stream. capture_beside is the same beside a non-blocking stream.
// Why          The legacy stream would depend on the capture. The runtime refuses that, and may spoil the capture.
// Documented   CUDA Programming Guide, prohibited and unhandled operations of stream capture; CUDA Runtime API,
//              cudaErrorStreamCaptureImplicit (906).
#include "cases/faults/capture.hpp"

namespace cufault {
namespace {

const register_fault here{captured(cudaStreamCaptureModeGlobal, false, "capture_beside_blocking",
                                   "another, blocking stream is captured meanwhile, in the global mode",
                                   cudaStreamDefault)};

}  // namespace
}  // namespace cufault
