// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing that was tried (reports/pages/evidence/matrix.md). Looked for: what starts a thread.
// Why          A limit of the user is reached.
// Documented   setrlimit(2), RLIMIT_NPROC. It does not hold for root and for privileged processes: the trial's process gives them up permanently.
#include "harness/kit/host_limit.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "thread_limit",
                           .summary = "the user may start no further thread",
                           .kind = "host_limit",
                           .cells = isolation::process,
                           .provoke = [](world& w) {
                             if (geteuid() == 0) give_up_privileges();
                             auto& limit = w.keep<lowered_limit>(RLIMIT_NPROC, rlim_t{0});
                             w.undo_by([&limit] { limit.lift(); });
                           }}};

}  // namespace
}  // namespace cufault
