// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  threads of F-MEM-04. The cuBLAS documentation has it for reproducible results; S2-12 says it does not help.
// Expected to help because  eight buffers of 16 KiB take less memory than the default workspace.
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "workspace_16_8",
                            .words = "CUBLAS_WORKSPACE_CONFIG=:16:8",
                            .answers = {"memory", "capture"},
                            .environment = {{"CUBLAS_WORKSPACE_CONFIG", ":16:8"}}}};

}  // namespace
}  // namespace cufault
