// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   With cuBLAS 13.1.0 on an H200: first calls of a process that create a handle, set it up or load code. Most end the process
//              by SIGABRT, some return EXECUTION_FAILED or INTERNAL_ERROR, and cublasLtMatrixTransform returns SUCCESS with wrong
//              numbers. A call that the process has made before works.
// Why          A limit of the process is reached but for 4 MiB, which what observes may need.
// Documented   setrlimit(2), RLIMIT_DATA. cuBLAS documentation, CUBLAS_STATUS_ALLOC_FAILED: resource allocation failed.
#include "harness/kit/host_limit.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "host_memory_limit",
                           .summary = "the process may have no more than 4 MiB of further memory of the host",
                           .kind = "host_limit",
                           .cells = isolation::process,
                           .provoke = [](world& w) {
                             constexpr rlim_t more = rlim_t{4} << 20;
                             auto& limit = w.keep<lowered_limit>(RLIMIT_DATA, mapped_now().data + more);
                             w.undo_by([&limit] { limit.lift(); });
                           }}};

}  // namespace
}  // namespace cufault
