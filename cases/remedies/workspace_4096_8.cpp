// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project: the cuBLAS documentation has it for reproducible results. S2-12 says it does not help.
// Expected to help because  eight buffers of 4 MiB take less memory than the default workspace of a handle on Hopper.
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "workspace_4096_8",
                            .words = "CUBLAS_WORKSPACE_CONFIG=:4096:8",
                            .answers = {"memory", "capture"},
                            .environment = {{"CUBLAS_WORKSPACE_CONFIG", ":4096:8"}}}};

}  // namespace
}  // namespace cufault
