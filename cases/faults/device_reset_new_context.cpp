// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Operations by handles, streams and memory that were there before cudaDeviceReset. After device_reset alone, the operation itself
//              makes the new context.
// Why          The reset destroys the primary context with all that is in it; the new context has none of it.
// Documented   CUDA Runtime API, cudaDeviceReset; cuBLAS documentation: handles must be destroyed before.
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "device_reset_new_context",
                           .summary = "cudaDeviceReset while the handle exists, then a new context",
                           .kind = "reset",
                           .undefined = "addresses and handles may name what was made since",
                           .provoke = [](world&) {
                             CUFAULT_REQUIRE(cudaDeviceReset());
                             CUFAULT_REQUIRE(cudaFree(nullptr));
                           }}};

}  // namespace
}  // namespace cufault
