// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing that was tried (reports/pages/matrix.md). Looked for: what starts a thread.
// Why          A limit of the user is reached.
// Documented   setrlimit(2), RLIMIT_NPROC. It does not hold for root and for privileged processes: the trial's process gives them up permanently.
#include "cases/faults/host_limit.hpp"
#include "harness/matrix/world.hpp"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace cufault {
namespace {

/// Another real user, and no capability that lifts the limit. The effective user stays, so that files stay accessible.
void give_up_privileges() {
  constexpr uid_t nobody = 65534;
  if (setresuid(nobody, 0, 0) != 0) throw not_provoked("the process cannot become another user's");
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0)
    throw not_provoked("the process's capabilities cannot be read");
  for (const unsigned each : {CAP_SYS_ADMIN, CAP_SYS_RESOURCE}) {
    sets.at(CAP_TO_INDEX(each)).effective &= ~CAP_TO_MASK(each);
    sets.at(CAP_TO_INDEX(each)).permitted &= ~CAP_TO_MASK(each);
  }
  if (syscall(SYS_capset, &header, sets.data()) != 0)
    throw not_provoked("the process's capabilities cannot be given up");
}

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
