// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
// Why          What is free lies in pieces between what is held.
// Documented   Nowhere for cudaMalloc, whose addresses are virtual. memory.fragmentation has the same for single calls.
#include "harness/kit/every_second_block.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "fragmented_memory",
                           .summary = "half of the memory is free, in pieces between blocks that are held",
                           .kind = "memory",
                           .cells = isolation::lasting,
                           .memory = memory_class::exclusive,
                           .provoke = [](world& w) {
                             auto& held = w.keep<every_second_block>();
                             w.undo_by([&held] { held.release(); });
                             w.renew_by([&held] { held.hold(); });
                           }}};

}  // namespace
}  // namespace cufault
