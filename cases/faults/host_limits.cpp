// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// A limit of the process or of its user is reached.
#include "harness/kit/host_limit.hpp"
#include "harness/matrix/world.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cufault {
namespace {

/// Holds until the cell or its remedy lifts the limit.
lowered_limit& lower(world& w, decltype(RLIMIT_AS) which, rlim_t to) {
  auto& limit = w.keep<lowered_limit>(which, to);
  w.undo_by([&limit] { limit.lift(); });
  return limit;
}

const register_faults here{
    // What fails   Calls that map much memory of the host.
    // Why          The process may map only 64 MiB more, which the observing code may need.
    // Documented   setrlimit(2), RLIMIT_AS. cuBLAS and the driver name no such cause.
    {.name = "address_space_limit",
     .summary = "the process may map no more than 64 MiB of further memory",
     .kind = "host_limit",
     .provoke = [](world& w) { lower(w, RLIMIT_AS, mapped_now().all + (rlim_t{64} << 20)); }},
    // What fails   With cuBLAS 13.1.0 on an H200: first calls of a process that create a handle, set it up or load code. Most end the process
    //              by SIGABRT, some return EXECUTION_FAILED or INTERNAL_ERROR, and cublasLtMatrixTransform returns SUCCESS with wrong
    //              numbers. A call that the process has made before works.
    // Why          The process may allocate only 4 MiB more, which the observing code may need.
    // Documented   setrlimit(2), RLIMIT_DATA. cuBLAS documentation, CUBLAS_STATUS_ALLOC_FAILED: resource allocation failed.
    {.name = "host_memory_limit",
     .summary = "the process may have no more than 4 MiB of further memory of the host",
     .kind = "host_limit",
     .provoke = [](world& w) { lower(w, RLIMIT_DATA, mapped_now().data + (rlim_t{4} << 20)); }},
    // What fails   Of the operations tried only cudaMallocAsync, cold (reports/pages/evidence/matrix.md). Expected: calls that open a file.
    // Why          The process has no free descriptor below its limit.
    // Documented   setrlimit(2), RLIMIT_NOFILE. cuBLAS and the driver name no such cause.
    {.name = "open_files_limit",
     .summary = "the process may open no further file",
     .kind = "host_limit",
     .cells = isolation::lasting,
     .provoke =
         [](world& w) {
           const int lowest_free = open("/dev/null", O_RDONLY | O_CLOEXEC);
           if (lowest_free < 0) throw setup_failed("no file can be opened before the limit");
           close(lowest_free);
           auto& limit = lower(w, RLIMIT_NOFILE, static_cast<rlim_t>(lowest_free));
           w.renew_by([&limit, lowest_free] { limit.lower(static_cast<rlim_t>(lowest_free)); });
         }},
    // What fails   Nothing that was tried (reports/pages/evidence/matrix.md). Expected: calls that start a thread.
    // Why          A limit of the user is reached.
    // Documented   setrlimit(2), RLIMIT_NPROC. Does not hold for root and privileged processes: the trial's process drops its privileges
    //              permanently.
    {.name = "thread_limit",
     .summary = "the user may start no further thread",
     .kind = "host_limit",
     .provoke = [](world& w) {
       if (geteuid() == 0) give_up_privileges();
       lower(w, RLIMIT_NPROC, rlim_t{0});
     }}};

}  // namespace
}  // namespace cufault
