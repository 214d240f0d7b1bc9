// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  threads of F-STK-01, and messages of PyTorch about failed kernels.
// A diagnosis, because  the launch of the kernel that breaks then returns its error, before cuBLAS is called.
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "blocking_launches",
                            .words = "CUDA_LAUNCH_BLOCKING=1",
                            .answers = {"dead_context"},
                            .environment = {{"CUDA_LAUNCH_BLOCKING", "1"}},
                            .diagnosis = true}};

}  // namespace
}  // namespace cufault
