// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether waiting for the device alone makes the difference.
// Expected to help because  it reports an error of earlier work, and lets the pool return memory that was freed in stream order.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

#include <cuda_runtime.h>

namespace cufault {
namespace {

const register_remedy here{{.name = "wait_and_look",
                            .words = "cudaDeviceSynchronize(), then again",
                            .answers = {"dead_context", "memory", "last_error", "pool"},
                            .after = [](world&) { cudaDeviceSynchronize(); }}};

}  // namespace
}  // namespace cufault
