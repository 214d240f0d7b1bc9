// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "blocking_launches",
                            .words = "CUDA_LAUNCH_BLOCKING=1",
                            .answers = {"dead_context"},
                            .environment = {{"CUDA_LAUNCH_BLOCKING", "1"}}}};

}  // namespace
}  // namespace cufault
