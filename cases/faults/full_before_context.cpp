// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   The first call that makes a context.
// Why          A context takes device memory.
// Documented   CUDA Runtime API, cudaErrorMemoryAllocation (2).
#include "cases/faults/other_process.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "full_before_context",
                           .summary = "another process held device memory before there was a context",
                           .kind = "memory",
                           .levels = {0, 256},
                           .unit = "MiB free",
                           .cells = isolation::process,
                           .fills_device = true,
                           .memory = memory_class::exclusive,
                           .before_context = true,
                           .provoke = [](world& w) { hold_memory_in_another_process(w, false); }}};

}  // namespace
}  // namespace cufault
