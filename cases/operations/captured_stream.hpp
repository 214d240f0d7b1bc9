// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/operations/operations.hpp"

#include <cuda_runtime.h>

namespace cufault::operations {

/// A stream, a graph of what was captured on it, and its executable. Ends whatever it has begun.
class captured_stream {
 public:
  captured_stream() = default;
  ~captured_stream() { end(); }
  captured_stream(const captured_stream&) = delete;
  captured_stream& operator=(const captured_stream&) = delete;

  [[nodiscard]] cudaStream_t get() const { return stream_.get(); }
  void begin() { CUFAULT_REQUIRE(cudaStreamBeginCapture(get(), cudaStreamCaptureModeThreadLocal)); }
  /// Ends the capture. The executable takes device memory, so that this may fail under a fault: then `waited_in` names the call.
  [[nodiscard]] product_result instantiate() {
    product_result result{.waited = cudaStreamEndCapture(get(), &graph_),
                          .waited_in = "cudaStreamEndCapture"};
    if (result.waited == cudaSuccess)
      result = {.waited = cudaGraphInstantiateWithFlags(&executable_, graph_, 0),
                .waited_in = "cudaGraphInstantiateWithFlags"};
    return result;
  }
  cudaError_t launch() { return cudaGraphLaunch(executable_, get()); }
  cudaError_t wait() { return cudaStreamSynchronize(get()); }
  /// Whatever a call that failed left half done.
  void end() {
    cudaStreamCaptureStatus now{};
    if (cudaStreamIsCapturing(get(), &now) != cudaSuccess || now != cudaStreamCaptureStatusNone)
      cudaStreamEndCapture(get(), &graph_);
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    executable_ = nullptr;
    graph_ = nullptr;
    cudaGetLastError();  // of an invalidated capture: it is told by what was called
  }

 private:
  owned_stream stream_ = new_stream();
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace cufault::operations
