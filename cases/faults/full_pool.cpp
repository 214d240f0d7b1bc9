// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   What needs device memory, while the program's own pool keeps all of it, though nothing of it is in use.
// Why          A pool gives back what it keeps beyond its release threshold when the program waits, and this one keeps all.
// Documented   CUDA Runtime API, cudaMemPoolAttrReleaseThreshold.
#include "cases/faults/full_device.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "full_pool",
                           .summary = "the program's memory pool keeps all device memory",
                           .kind = "pool",
                           .cells = isolation::lasting,
                           .memory = memory_class::exclusive,
                           .provoke = [](world& w) {
                             stream_ordered_memory& pool =
                                 w.keep<stream_ordered_memory>(w.of_trial().device());
                             renewable_pressure fill(pool, 0);
                             const std::uint64_t left = fill.now().free_bytes();
                             fill.release();
                             auto& rest = w.keep<small_blocks>();
                             w.undo_by([&pool, &rest] {
                               rest.release();
                               pool.trim();
                             });
                             w.renew_by([&pool, &rest, left] {
                               if (pool.free_bytes() != left) {
                                 rest.release();
                                 pool.trim();
                                 const renewable_pressure in_the_pool(pool, 0);
                               }
                               rest.hold();
                             });
                           }}};

}  // namespace
}  // namespace cufault
