// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "lazy_loading",
                            .words = "CUDA_MODULE_LOADING=LAZY",
                            .answers = {"memory", "loading", "failed_create"},
                            .environment = {{"CUDA_MODULE_LOADING", "LAZY"}}}};

}  // namespace
}  // namespace cufault
