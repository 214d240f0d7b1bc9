// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  S1-5 (catch the exception and carry on), threads of F-STK-05 and F-MEM-10; those of F-STK-01 say it does not help.
// Expected to help because  an error that is not sticky stays the runtime's last error, and then cuBLAS can take it for its own.
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
