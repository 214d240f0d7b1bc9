// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/own_stream.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

#include <string>
#include <utility>

namespace cufault {

/// A stream that is captured while the operation is made; what was captured is replayed before the proof.
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
    cudaGetLastError();  // of a capture that was spoilt: its end has told
    // What graphs took of the device's pools is not given back with them.
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
  /// False where there is no graph that ran.
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

/// The operation is made while a stream is captured: the one of its handle, or another one. cudaStreamNonBlocking: it does not wait for the legacy
/// stream; cudaStreamDefault: it does.
inline fault_type captured(cudaStreamCaptureMode mode, bool its_own_stream, std::string name,
                           std::string summary, unsigned stream_flags = cudaStreamNonBlocking) {
  struct state {
    capture* now = nullptr;
  };
  const auto there = std::make_shared<state>();
  fault_type f;
  f.name = std::move(name);
  f.summary = std::move(summary);
  f.kind = "capture";
  f.cells = isolation::undone;
  if (its_own_stream) {
    f.acts_on = {own_handle::cublas};
    f.no_sense_with = [](const operation_type& o) -> std::string {
      return o.uses_private_stream ? "it runs on a stream of its own" : "";
    };
  }
  f.provoke = [=](world& w) {
    there->now = &w.keep<capture>(mode, stream_flags);
    w.undo_by([there] { there->now->end(); });
    if (!its_own_stream) return;
    // A stream that is captured takes work of its own alone: the handle is told of it now, as frameworks do.
    CUFAULT_REQUIRE(cublasSetStream(w.handle(), there->now->stream()));
  };
  f.before_proof = [there](world&, bool) { return there->now->end_and_replay(); };
  return f;
}

}  // namespace cufault
