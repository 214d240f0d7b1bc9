// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  PyTorch's documentation (CUDA environment variables) and threads of F-MEM-04. S2-12 says it does not help.
// Expected to help because  cuBLAS then takes no workspace.
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "workspace_0_0",
                            .words = "CUBLAS_WORKSPACE_CONFIG=:0:0",
                            .answers = {"memory", "capture"},
                            .environment = {{"CUBLAS_WORKSPACE_CONFIG", ":0:0"}}}};

}  // namespace
}  // namespace cufault
