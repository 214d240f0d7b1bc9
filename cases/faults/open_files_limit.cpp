// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Of what was tried cudaMallocAsync alone, cold (reports/pages/evidence/matrix.md). Looked for: what opens a file.
// Why          A limit of the process is reached: no descriptor that is free lies below it.
// Documented   setrlimit(2), RLIMIT_NOFILE. cuBLAS and the driver name no such cause.
#include "harness/kit/host_limit.hpp"
#include "harness/matrix/world.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cufault {
namespace {

const register_fault here{
    {.name = "open_files_limit",
     .summary = "the process may open no further file",
     .kind = "host_limit",
     .cells = isolation::lasting,
     .provoke = [](world& w) {
       const int lowest_free = open("/dev/null", O_RDONLY | O_CLOEXEC);
       if (lowest_free < 0) throw setup_failed("no file can be opened before the limit");
       close(lowest_free);
       auto& limit = w.keep<lowered_limit>(RLIMIT_NOFILE, static_cast<rlim_t>(lowest_free));
       w.undo_by([&limit] { limit.lift(); });
       w.renew_by([&limit, lowest_free] { limit.lower(static_cast<rlim_t>(lowest_free)); });
     }}};

}  // namespace
}  // namespace cufault
