// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Warm, while another client of the MPS server holds the device memory: cublasCreate (ALLOC_FAILED) and cudaMalloc; the other 9 operations that
//              were tried work.
// Why          There is none, and this process can do nothing about it.
// Documented   Multi-Process Service, provisioning: CUDA_MPS_PINNED_DEVICE_MEM_LIMIT limits what a client can allocate.
#include "cases/faults/other_process.hpp"
#include "harness/kit/neighbour.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "mps_neighbour_full",
                           .summary = "device memory is held by another client of the MPS server",
                           .kind = "memory",
                           .levels = {0},
                           .unit = "MiB free",
                           .cells = isolation::lasting,
                           .cold_apart = true,
                           .fills_device = true,
                           .memory = memory_class::exclusive,
                           .under_mps = true,
                           .takes_seconds = true,
                           .quick_operation = "kernel_launch",
                           .provoke = [](world& w) {
                             require_mps(true);
                             hold_memory_in_another_process(w, true);
                           }}};

}  // namespace
}  // namespace cufault
