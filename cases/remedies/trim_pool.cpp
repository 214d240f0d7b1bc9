// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  S0-14 (empty the cache) and threads of F-MEM-03.
// Expected to help because  the pool then returns freed memory to the device, where cuBLAS can allocate it.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

namespace cufault {
namespace {

const register_remedy here{
    {.name = "trim_pool",
     .words = "cudaDeviceSynchronize(), cudaMemPoolTrimTo() of the device's pool to 0, then again",
     .answers = {"memory", "pool"},
     .after = [](world& w) {
       cudaMemPool_t pool = nullptr;
       CUFAULT_OBSERVE(cudaDeviceSynchronize());
       CUFAULT_REQUIRE(cudaDeviceGetDefaultMemPool(&pool, w.of_trial().device()));
       CUFAULT_OBSERVE(cudaMemPoolTrimTo(pool, 0));
     }}};

}  // namespace
}  // namespace cufault
