// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   With cuBLAS 13.1.0 on an H200: reductions and cublasStrsmBatched. Products are right.
// Why          The variable leaves the library no workspace of its own.
// Documented   cuBLAS documentation, CUBLAS_WORKSPACE_CONFIG.
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "workspace_config_none",
                           .summary = "CUBLAS_WORKSPACE_CONFIG=:0:0",
                           .kind = "workspace",
                           .environment = {{"CUBLAS_WORKSPACE_CONFIG", ":0:0"}},
                           .cells = isolation::undone}};

}  // namespace
}  // namespace cufault
