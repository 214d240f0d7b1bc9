// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "no_workspace_variable",
                            .words = "unset CUBLAS_WORKSPACE_CONFIG",
                            .answers = {"workspace"},
                            .environment = {{"CUBLAS_WORKSPACE_CONFIG", ""}}}};

}  // namespace
}  // namespace cufault
