// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether the variable alone makes the difference.
// Expected to help because  the driver then takes the libraries' machine code for the GPU, and compiles PTX where there is none.
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "no_code_variables",
                            .words = "unset CUDA_FORCE_PTX_JIT and CUDA_DISABLE_PTX_JIT",
                            .answers = {"code"},
                            .environment = {{"CUDA_FORCE_PTX_JIT", ""}, {"CUDA_DISABLE_PTX_JIT", ""}}}};

}  // namespace
}  // namespace cufault
