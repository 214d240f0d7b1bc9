// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   What needs device memory, while the program's own pool has all of it, freed in stream order and not waited for.
// Why          cudaFreeAsync gives memory back to its pool. Until somebody waits for the device nobody else gets it; after that, cudaMalloc takes
//              it from the pool, whatever the pool may keep (memory.pool_keeps_memory).
// Documented   CUDA Runtime API, cudaMemPoolTrimTo.
#include "cases/faults/full_device.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{
    {.name = "full_pool",
     .summary = "the program's memory pool has all device memory, freed and not waited for",
     .kind = "pool",
     .cells = isolation::lasting,
     .cold_apart = true,
     .fills_device = true,
     .memory = memory_class::exclusive,
     .provoke = [](world& w) {
       auto& kept = w.keep<freed_pool_memory>(w.of_trial().device());
       w.undo_by([&kept] { kept.release(); });
       w.renew_by([&kept] { kept.fill_and_free(); });
     }}};

}  // namespace
}  // namespace cufault
