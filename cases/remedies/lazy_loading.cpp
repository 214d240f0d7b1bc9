// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether eager loading alone makes the difference.
// Expected to help because  code is loaded only when it is called, so that the first handle takes less memory.
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "lazy_loading",
                            .words = "CUDA_MODULE_LOADING=LAZY",
                            .answers = {"memory", "loading", "failed_create"},
                            .environment = {{"CUDA_MODULE_LOADING", "LAZY"}}}};

}  // namespace
}  // namespace cufault
