// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project: PyTorch's documentation has it as the default of PyTorch. S2-12 says it does not help.
// Expected to help because  8320 KiB take less memory than the default workspace on Hopper.
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "workspace_4096_2_16_8",
                            .words = "CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8",
                            .answers = {"memory", "capture"},
                            .environment = {{"CUBLAS_WORKSPACE_CONFIG", ":4096:2:16:8"}}}};

}  // namespace
}  // namespace cufault
