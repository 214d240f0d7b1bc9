// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
// Why          CUDA_MODULE_LOADING=EAGER is recommended against failures of later loads.
// Documented   CUDA Programming Guide, lazy loading.
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "eager_loading",
                           .summary = "all code is loaded at once",
                           .kind = "loading",
                           .environment = {{"CUDA_MODULE_LOADING", "EAGER"}},
                           .cells = isolation::undone}};

}  // namespace
}  // namespace cufault
