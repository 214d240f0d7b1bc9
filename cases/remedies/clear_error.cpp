// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

#include <cuda_runtime.h>

namespace cufault {
namespace {

const register_remedy here{{.name = "clear_error",
                            .words = "cudaGetLastError() twice, then again, as after catching an exception",
                            .answers = {"dead_context", "last_error", "reset", "memory", "driver_call"},
                            .after = [](world&) {
                              cudaGetLastError();
                              cudaGetLastError();
                            }}};

}  // namespace
}  // namespace cufault
