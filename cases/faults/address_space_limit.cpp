// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   What maps much memory of the host.
// Why          A limit of the process is reached but for 64 MiB, which what observes may need.
// Documented   setrlimit(2), RLIMIT_AS. cuBLAS and the driver name no such cause.
#include "harness/kit/host_limit.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "address_space_limit",
                           .summary = "the process may map no more than 64 MiB of further memory",
                           .kind = "host_limit",
                           .cells = isolation::process,
                           .provoke = [](world& w) {
                             constexpr rlim_t more = rlim_t{64} << 20;
                             auto& limit = w.keep<lowered_limit>(RLIMIT_AS, mapped_now().all + more);
                             w.undo_by([&limit] { limit.lift(); });
                           }}};

}  // namespace
}  // namespace cufault
