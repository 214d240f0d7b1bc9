// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   What needs device memory, while another process holds it.
// Why          There is none, and this process can do nothing about it.
// Documented   cuBLAS documentation, CUBLAS_STATUS_ALLOC_FAILED.
#include "cases/faults/other_process.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "full_by_another_process",
                           .summary = "device memory is held by another process",
                           .kind = "memory",
                           .levels = {0, 64},
                           .unit = "MiB free",
                           .cells = isolation::lasting,
                           .cold_apart = true,
                           .fills_device = true,
                           .memory = memory_class::exclusive,
                           .provoke = [](world& w) { hold_memory_in_another_process(w, true); }}};

}  // namespace
}  // namespace cufault
