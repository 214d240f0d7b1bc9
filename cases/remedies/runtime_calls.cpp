// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Remedies that are calls of the CUDA runtime.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

namespace cufault {
namespace {

const register_remedies here{
    // Recommended by  S1-5 (catch the exception and carry on), threads of F-STK-05 and F-MEM-10; those of F-STK-01 say it does not help.
    // Expected to help because  an error that is not sticky stays the runtime's last error, and then cuBLAS can take it for its own.
    {.name = "clear_error",
     .words = "cudaGetLastError() twice, then again, as after catching an exception",
     .answers = {"dead_context", "last_error", "reset", "memory", "driver_call"},
     .after =
         [](world&) {
           cudaGetLastError();
           cudaGetLastError();
         }},
    // Recommended by  this project, to see whether waiting for the device alone makes the difference.
    // Expected to help because  it reports an error of earlier work, and lets the pool return memory that was freed in stream order.
    {.name = "wait_and_look",
     .words = "cudaDeviceSynchronize(), then again",
     .answers = {"dead_context", "memory", "last_error", "pool"},
     .after = [](world&) { cudaDeviceSynchronize(); }},
    // Recommended by  this project, to see whether threads of F-STK-02 are right that it does not help.
    // Expected to help because  it destroys the context, with what is damaged and what is allocated in it.
    {.name = "device_reset",
     .words = "cudaDeviceReset(), then again by a new handle",
     .answers = {"dead_context", "memory", "pool", "handles", "failed_create", "context", "mps"},
     .after = [](world&) { cudaDeviceReset(); },
     .new_operation = true,
     .own_process = true},
    // Recommended by  threads of F-LIF-09, and the cuBLAS documentation: the context of a handle must be current.
    // Expected to help because  handles are made in the primary context, and work only while it is current.
    {.name = "primary_context",
     .words = "cudaSetDevice(), which makes the primary context current, then again",
     .answers = {"context", "reset"},
     .after = [](world& w) { cudaSetDevice(w.of_trial().device()); }},
    // Recommended by  S0-14 (empty the cache) and threads of F-MEM-03.
    // Expected to help because  the pool then returns freed memory to the device, where cuBLAS can allocate it.
    {.name = "trim_pool",
     .words = "cudaDeviceSynchronize(), cudaMemPoolTrimTo() of the device's pool to 0, then again",
     .answers = {"memory", "pool"},
     .after =
         [](world& w) {
           cudaMemPool_t pool = nullptr;
           CUFAULT_OBSERVE(cudaDeviceSynchronize());
           CUFAULT_REQUIRE(cudaDeviceGetDefaultMemPool(&pool, w.of_trial().device()));
           CUFAULT_OBSERVE(cudaMemPoolTrimTo(pool, 0));
         }},
    // Recommended by  threads of F-CAP-05.
    // Expected to help because  the relaxed mode allows this thread calls that are unsafe during a capture, as cudaMalloc.
    {.name = "relaxed_capture",
     .words = "cudaThreadExchangeStreamCaptureMode() to the relaxed mode, before",
     .answers = {"capture"},
     .before = [](world&) {
       cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
       CUFAULT_REQUIRE(cudaThreadExchangeStreamCaptureMode(&mode));
     }}};

}  // namespace
}  // namespace cufault
