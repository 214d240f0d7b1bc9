// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  threads of F-LIF-09, and the cuBLAS documentation: the context of a handle must be current.
// Expected to help because  handles are made in the primary context, and work only while it is current.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

#include <cuda_runtime.h>

namespace cufault {
namespace {

const register_remedy here{{.name = "primary_context",
                            .words = "cudaSetDevice(), which makes the primary context current, then again",
                            .answers = {"context", "reset"},
                            .after = [](world& w) { cudaSetDevice(w.of_trial().device()); }}};

}  // namespace
}  // namespace cufault
