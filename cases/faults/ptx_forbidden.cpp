// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   By the documentation, code that is PTX alone. Nothing that was tried (reports/pages/evidence/matrix.md).
// Why          The driver compiles none.
// Documented   CUDA Programming Guide, environment variables: CUDA_DISABLE_PTX_JIT.
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "ptx_forbidden",
                           .summary = "the driver is told to compile no PTX",
                           .kind = "code",
                           .environment = {{"CUDA_DISABLE_PTX_JIT", "1"}},
                           .cells = isolation::undone}};

}  // namespace
}  // namespace cufault
