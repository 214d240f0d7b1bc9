// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   What starts a thread.
// Why          A limit of the user is reached.
// Documented   setrlimit(2), RLIMIT_NPROC, which does not hold for root.
#include "cases/faults/host_limit.hpp"
#include "harness/matrix/world.hpp"

#include <sys/resource.h>
#include <unistd.h>

namespace cufault {
namespace {

const register_fault here{{.name = "thread_limit",
                           .summary = "the user may start no further thread",
                           .kind = "host_limit",
                           .cells = isolation::lasting,
                           .provoke = [](world& w) {
                             if (geteuid() == 0)
                               throw not_provoked("a limit on threads does not hold for root");
                             auto& limit = w.keep<lowered_limit>(RLIMIT_NPROC, rlim_t{0});
                             w.undo_by([&limit] { limit.lift(); });
                             w.renew_by([&limit] { limit.lower(0); });
                           }}};

}  // namespace
}  // namespace cufault
