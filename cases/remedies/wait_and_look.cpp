// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
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
