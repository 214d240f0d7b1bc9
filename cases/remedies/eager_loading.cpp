// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "eager_loading",
                            .words = "CUDA_MODULE_LOADING=EAGER",
                            .answers = {"memory", "pool", "capture"},
                            .environment = {{"CUDA_MODULE_LOADING", "EAGER"}}}};

}  // namespace
}  // namespace cufault
