// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// A stream is captured while the operation is made. The runtime refuses what a capture cannot record, and may invalidate the capture.
// Documented   CUDA Runtime API, cudaStreamBeginCapture and cudaThreadExchangeStreamCaptureMode; cuBLAS documentation, CUDA graphs support.
#include "harness/kit/own_stream.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

#include <string>
#include <utility>

namespace cufault {
namespace {

/// Captures a stream while the operation is made, and replays the graph before the proof.
class capture {
 public:
  explicit capture(cudaStreamCaptureMode mode, unsigned stream_flags = cudaStreamNonBlocking)
      : stream_(stream_flags) {
    CUFAULT_REQUIRE(cudaStreamBeginCapture(stream_.get(), mode));
  }
  ~capture() {
    end();
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    cudaGetLastError();  // clears an error of an invalidated capture, already reported
    // Destroying graphs does not return their memory to the device's pools.
    int device = 0;
    cudaMemPool_t pool = nullptr;
    if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess) {
      cudaDeviceGraphMemTrim(device);
      cudaMemPoolTrimTo(pool, 0);
    }
  }
  capture(const capture&) = delete;
  capture& operator=(const capture&) = delete;

  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  void end() {
    if (std::exchange(capturing_, false)) cudaStreamEndCapture(stream_.get(), &graph_);
  }
  /// Returns false if no graph ran.
  bool end_and_replay() {
    capturing_ = false;
    if (CUFAULT_OBSERVE(cudaStreamEndCapture(stream_.get(), &graph_)) != cudaSuccess) return false;
    if (CUFAULT_OBSERVE(cudaGraphInstantiateWithFlags(&executable_, graph_, 0)) != cudaSuccess) return false;
    return CUFAULT_OBSERVE(cudaGraphLaunch(executable_, stream_.get())) == cudaSuccess;
  }

 private:
  own_stream stream_;
  bool capturing_ = true;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

/// The captured stream: that of the operation's handle, or another one.
enum class capture_of { its_stream, another_stream };

/// cudaStreamNonBlocking: the stream does not wait for the legacy stream; cudaStreamDefault: it does.
fault_type captured(fault_type f, capture_of what, cudaStreamCaptureMode mode,
                    unsigned stream_flags = cudaStreamNonBlocking) {
  const auto now = std::make_shared<capture*>();
  f.kind = "capture";
  f.cells = isolation::undone;
  if (what == capture_of::its_stream) {
    f.acts_on = {own_handle::cublas};
    f.no_sense_with = [](const operation_type& o) -> std::string {
      return o.uses_private_stream ? "it runs on a stream of its own" : "";
    };
  }
  f.provoke = [=](world& w) {
    *now = &w.keep<capture>(mode, stream_flags);
    w.undo_by([now] { (*now)->end(); });
    // A captured stream records only its own work: set it on the handle now, as frameworks do.
    if (what == capture_of::its_stream) CUFAULT_REQUIRE(cublasSetStream(w.handle(), (*now)->stream()));
  };
  f.before_proof = [now](world&, bool) { return (*now)->end_and_replay(); };
  return f;
}

const register_faults here{
    // What fails   Operations that allocate, wait or use the legacy stream; so it does in the other modes, capture_relaxed and
    //              capture_thread_local.
    captured({.name = "capture_global", .summary = "its stream is captured, in the global mode"},
             capture_of::its_stream, cudaStreamCaptureModeGlobal),
    captured({.name = "capture_relaxed", .summary = "its stream is captured, in the relaxed mode"},
             capture_of::its_stream, cudaStreamCaptureModeRelaxed),
    captured({.name = "capture_thread_local", .summary = "its stream is captured, in the thread-local mode"},
             capture_of::its_stream, cudaStreamCaptureModeThreadLocal),
    // What fails   Operations that allocate, wait or use the legacy stream.
    captured(
        {.name = "capture_beside", .summary = "another stream is captured meanwhile, in the global mode"},
        capture_of::another_stream, cudaStreamCaptureModeGlobal),
    // What fails   Work on the legacy stream, which waits for every blocking stream.
    // Why          The legacy stream would depend on the capture.
    // Documented   CUDA Programming Guide, prohibited and unhandled operations of stream capture; CUDA Runtime API,
    //              cudaErrorStreamCaptureImplicit (906).
    captured({.name = "capture_beside_blocking",
              .summary = "another, blocking stream is captured meanwhile, in the global mode"},
             capture_of::another_stream, cudaStreamCaptureModeGlobal, cudaStreamDefault),
    // What fails   With cuBLAS 13.1.0 on an H200: cudaDeviceSynchronize; and the instantiation of the captured graph while the operation
    //              captures its own stream. cublasDestroy and cublasLtDestroy succeed and invalidate the capture.
    // Why          The mode decides in which threads the runtime refuses what cannot be recorded.
    captured({.name = "capture_beside_relaxed",
              .summary = "another stream is captured meanwhile, in the relaxed mode"},
             capture_of::another_stream, cudaStreamCaptureModeRelaxed),
    // What fails   With cuBLAS 13.1.0 on an H200, as in the global mode: allocations, results in host memory, cublasCreate, and waiting
    //              calls. cublasDestroy, cublasLtDestroy and some first products succeed and invalidate the capture.
    // Why          As with capture_beside_relaxed.
    captured({.name = "capture_beside_thread_local",
              .summary = "another stream is captured meanwhile, in the thread-local mode"},
             capture_of::another_stream, cudaStreamCaptureModeThreadLocal)};

}  // namespace
}  // namespace cufault
