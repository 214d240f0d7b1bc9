// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Something that a handle or operation uses is destroyed, elsewhere or blocked: handle, stream, operands, context, process or thread.
#include "harness/kit/held_streams.hpp"
#include "harness/kit/own_stream.hpp"
#include "harness/kit/second_context.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace cufault {
namespace {

void operate_in_another_thread(world& w, const std::function<void()>& operate) {
  std::exception_ptr thrown;
  std::thread([&, device = w.of_trial().device()] {
    try {
      CUFAULT_REQUIRE(cudaSetDevice(device));
      operate();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

const register_faults here{
    // What fails   Operations by a destroyed handle.
    // Why          Its memory is freed or belongs to another object.
    // Documented   cuBLAS documentation: CUBLAS_STATUS_NOT_INITIALIZED for an invalid handle; else undefined.
    {.name = "destroyed_handle",
     .summary = "the handle was destroyed",
     .failures = {"F-LIF-04"},
     .kind = "handle",
     .undefined = "what was the handle is free memory",
     .acts_on = {own_handle::cublas, own_handle::cublaslt},
     .provoke =
         [](world& w) {
           if (cublasLtHandle_t lt = w.of_cell().lt(); lt != nullptr) {
             CUFAULT_REQUIRE(cublasLtDestroy(lt));
           } else {
             CUFAULT_REQUIRE(cublasDestroy(w.handle()));
           }
         }},
    // What fails   Operations by a handle whose stream was destroyed.
    // Why          The handle keeps the stream's name and is not notified.
    // Documented   CUDA Runtime API, cudaStreamDestroy: later use is undefined.
    {.name = "destroyed_stream",
     .summary = "the stream of the handle was destroyed",
     .kind = "stream",
     .undefined = "what was the stream is free memory",
     .acts_on = {own_handle::cublas},
     .no_sense_with = [](const operation_type& o) -> std::string {
       return o.uses_private_stream ? "it runs on a stream of its own" : "";
     },
     .provoke =
         [](world& w) {
           cudaStream_t stream = nullptr;
           CUFAULT_REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
           CUFAULT_REQUIRE(cublasSetStream(w.handle(), stream));
           CUFAULT_REQUIRE(cudaStreamDestroy(stream));
         }},
    // What fails   With cuBLAS 13.1.0 on an H200: the call succeeds in all cells but one. After large shapes of cublasSgemm (512 and more,
    //              one block for all operands) the context ends with cudaErrorIllegalAddress. After most others the proof fails: it reads
    //              the freed operand, with cudaErrorInvalidValue.
    // Why          The call gets an address, and the kernel reads it later.
    // Documented   CUDA Runtime API, cudaFree; cudaErrorIllegalAddress (700).
    {.name = "freed_operand",
     .summary = "an operand was freed before the call",
     .kind = "operand",
     .undefined = "of a small operand the memory stays mapped, with what others have there",
     .no_sense_with = [](const operation_type& o) -> std::string {
       return o.has_operand ? "" : "it has no operand that a fault could free";
     },
     .provoke = [](world& w) { CUFAULT_REQUIRE(cudaFree(w.of_cell().operand())); }},
    // What fails   Operations by handles, streams and memory from before cudaDeviceReset.
    // Why          It destroys the primary context with everything in it.
    // Documented   CUDA Runtime API, cudaDeviceReset; cuBLAS documentation: handles must be destroyed before.
    {.name = "device_reset",
     .summary = "cudaDeviceReset while the handle exists",
     .kind = "reset",
     .undefined = "addresses and handles may name what was made since",
     .provoke = [](world&) { CUFAULT_REQUIRE(cudaDeviceReset()); }},
    // What fails   The same. After device_reset alone, the operation itself makes the new context.
    // Why          The new context has nothing that the reset destroyed.
    {.name = "device_reset_new_context",
     .summary = "cudaDeviceReset while the handle exists, then a new context",
     .kind = "reset",
     .undefined = "addresses and handles may name what was made since",
     .provoke =
         [](world&) {
           CUFAULT_REQUIRE(cudaDeviceReset());
           CUFAULT_REQUIRE(cudaFree(nullptr));
         }},
    // What fails   Operations by a handle while another context than its own is current.
    // Why          A handle belongs to the context in which it was made.
    // Documented   cuBLAS documentation, cublasCreate: the handle is tied to the current device's context.
    {.name = "other_context",
     .summary = "another context is current than the one of the handle",
     .failures = {"F-LIF-09"},
     .kind = "context",
     .cells = isolation::lasting,
     .provoke =
         [](world& w) {
           auto& second = w.keep<second_context>(w.of_trial().device());
           w.renew_by([&second] { second.make_current(); });
         }},
    // What fails   Operations in a child that was forked after CUDA was initialised.
    // Why          The child cannot use the driver's state.
    // Limit        If a signal ends the child, the trial ends with it, and no remedy is tried.
    // Documented   CUDA C++ Programming Guide: CUDA in a forked child is not supported.
    {.name = "forked_child",
     .summary = "in a child forked when CUDA was up",
     .failures = {"F-LIF-02"},
     .kind = "fork",
     .around = [](world& w, const std::function<void()>& operate) { w.of_trial().in_forked_child(operate); }},
    // What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
    // Why          Each thread has its own current device. Several threads may use a cuBLAS handle, one at a time.
    // Documented   cuBLAS documentation, thread safety.
    {.name = "other_thread",
     .summary = "by another thread than the one that made the handle",
     .kind = "thread",
     .cells = isolation::undone,
     .around = operate_in_another_thread},
    // What fails   Nothing that was tried (reports/pages/evidence/matrix.md).
    // Why          Calls that copy a result to the host wait for it; others should return at once.
    // Documented   cuBLAS documentation, asynchronous execution; scalar results on the host make a call wait.
    {.name = "waiting_stream",
     .summary = "its stream does not go on for half a second",
     .kind = "wait",
     .cells = isolation::undone,
     .acts_on = {own_handle::cublas},
     .no_sense_with = [](const operation_type& o) -> std::string {
       return o.uses_private_stream        ? "it runs on a stream of its own"
              : o.name == "cublas_destroy" ? "it destroys the handle"
                                           : "";
     },
     .provoke =
         [](world& w) {
           const cudaStream_t stream = w.keep<own_stream>().get();
           CUFAULT_REQUIRE(cublasSetStream(w.handle(), stream));
           w.keep<stream_given_back>(w.handle());
           auto& held = w.keep<held_streams>(std::vector{stream}, 500U);
           w.undo_by([&held] { held.let_go(); });
         }}};

}  // namespace
}  // namespace cufault
