// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether one buffer of 8 KiB is enough. S2-12 says that the variable does not help.
// Expected to help because  it takes less memory than the default workspace.
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "workspace_8_1",
                            .words = "CUBLAS_WORKSPACE_CONFIG=:8:1",
                            .answers = {"memory", "capture"},
                            .environment = {{"CUBLAS_WORKSPACE_CONFIG", ":8:1"}}}};

}  // namespace
}  // namespace cufault
