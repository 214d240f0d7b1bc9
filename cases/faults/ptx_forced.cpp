// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Code that has no PTX.
// Why          The driver ignores machine code that it could run. A build of cufault without PTX cannot open its context then.
// Documented   CUDA Programming Guide, environment variables: CUDA_FORCE_PTX_JIT.
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "ptx_forced",
                           .summary = "the driver is told to compile PTX and to use no code as it is",
                           .kind = "code",
                           .environment = {{"CUDA_FORCE_PTX_JIT", "1"}},
                           .cells = isolation::undone}};

}  // namespace
}  // namespace cufault
