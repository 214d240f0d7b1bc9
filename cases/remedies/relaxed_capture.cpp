// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  threads of F-CAP-05.
// Expected to help because  the relaxed mode allows this thread calls that are unsafe during a capture, as cudaMalloc.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

namespace cufault {
namespace {

const register_remedy here{{.name = "relaxed_capture",
                            .words = "cudaThreadExchangeStreamCaptureMode() to the relaxed mode, before",
                            .answers = {"capture"},
                            .before = [](world&) {
                              cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
                              CUFAULT_REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode));
                            }}};

}  // namespace
}  // namespace cufault
