// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "workspace_0_0",
                            .words = "CUBLAS_WORKSPACE_CONFIG=:0:0",
                            .answers = {"memory", "capture"},
                            .environment = {{"CUBLAS_WORKSPACE_CONFIG", ":0:0"}}}};

}  // namespace
}  // namespace cufault
