// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether threads of F-STK-02 are right that it does not help.
// Expected to help because  it destroys the context, with what is damaged and what is allocated in it.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

#include <cuda_runtime.h>

namespace cufault {
namespace {

const register_remedy here{
    {.name = "device_reset",
     .words = "cudaDeviceReset(), then again by a new handle",
     .answers = {"dead_context", "memory", "pool", "handles", "failed_create", "context", "mps"},
     .after = [](world&) { cudaDeviceReset(); },
     .new_operation = true,
     .own_process = true}};

}  // namespace
}  // namespace cufault
