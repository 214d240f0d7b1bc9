// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  threads of F-MEM-02 and F-LIF-08.
// Expected to help because  kernels are loaded with the library, not at the first call on a full device or during a capture.
#include "harness/matrix/remedy.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "eager_loading",
                            .words = "CUDA_MODULE_LOADING=EAGER",
                            .answers = {"memory", "pool", "capture"},
                            .environment = {{"CUDA_MODULE_LOADING", "EAGER"}}}};

}  // namespace
}  // namespace cufault
