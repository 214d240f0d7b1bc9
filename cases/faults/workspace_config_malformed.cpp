// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
// Why          The variable cannot be read.
// Documented   cuBLAS documentation, CUBLAS_WORKSPACE_CONFIG: pairs of a size and a count.
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "workspace_config_malformed",
                           .summary = "CUBLAS_WORKSPACE_CONFIG that is no pair of numbers",
                           .kind = "workspace",
                           .environment = {{"CUBLAS_WORKSPACE_CONFIG", "many"}},
                           .cells = isolation::undone}};

}  // namespace
}  // namespace cufault
