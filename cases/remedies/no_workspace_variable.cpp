// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether the variable alone makes the difference; S2-12 says that it may make memory short.
// Expected to help because  cuBLAS then takes a workspace of its default size.
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "no_workspace_variable",
                            .words = "unset CUBLAS_WORKSPACE_CONFIG",
                            .answers = {"workspace"},
                            .environment = {{"CUBLAS_WORKSPACE_CONFIG", ""}}}};

}  // namespace
}  // namespace cufault
