// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "workspace_4096_8",
                            .words = "CUBLAS_WORKSPACE_CONFIG=:4096:8",
                            .answers = {"memory", "capture"},
                            .environment = {{"CUBLAS_WORKSPACE_CONFIG", ":4096:8"}}}};

}  // namespace
}  // namespace cufault
