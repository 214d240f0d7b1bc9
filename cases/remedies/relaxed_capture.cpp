// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
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
