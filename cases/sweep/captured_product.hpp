// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/sweep/operations.hpp"
#include "kernels/product.hpp"

#include <cuda_runtime.h>

namespace cufault::sweeping {

/// A product on a stream of its own, and a graph of it. Ends whatever it has begun.
class captured_product : public by_handle {
 public:
  captured_product() {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cudaMalloc(&block_, product_bytes(extents)));
    require(cudaMalloc(&workspace_, workspace_bytes));
    require(cublasSetStream(handle_, stream_));
    require(cublasSetWorkspace(handle_, workspace_, workspace_bytes));
    // The first product of a process loads its kernel, which is not what the sweep of a capture is about.
    refresh();
    require(multiply_on_stream());
    require(cudaStreamSynchronize(stream_));
  }
  ~captured_product() override {
    end();
    cublasSetStream(handle_, nullptr);
    cudaStreamDestroy(stream_);
    cudaFree(workspace_);
    cudaFree(block_);
  }

 protected:
  void refresh() {
    require(prepare_product(extents, block_, fresh_seed(), &on_, stream_));
    require(cudaStreamSynchronize(stream_));
  }
  cublasStatus_t multiply_on_stream() {
    const auto& [m, n, k] = extents;
    const float one = 1, zero = 0;
    return cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, on_.a, m, on_.b, k, &zero, on_.c,
                       extents.ldc());
  }
  void begin() { require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal)); }
  void instantiate() {
    require(cudaStreamEndCapture(stream_, &graph_));
    require(cudaGraphInstantiateWithFlags(&executable_, graph_, 0));
  }
  cudaError_t launch() { return cudaGraphLaunch(executable_, stream_); }
  cudaError_t wait() { return cudaStreamSynchronize(stream_); }
  product_result checked() {
    product_result result{.waited = wait()};
    product_check found;
    if (result.waited == cudaSuccess) result.waited = check_product(extents, block_, &found);
    result.right = result.waited == cudaSuccess && found.right();
    return result;
  }
  product_result replayed() {
    const cudaError_t launched = launch();
    return launched == cudaSuccess ? checked() : product_result{.waited = launched};
  }
  /// Whatever a call that failed left half done.
  void end() {
    cudaStreamCaptureStatus now{};
    if (cudaStreamIsCapturing(stream_, &now) != cudaSuccess || now != cudaStreamCaptureStatusNone)
      cudaStreamEndCapture(stream_, &graph_);
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    executable_ = nullptr;
    graph_ = nullptr;
    cudaGetLastError();  // of an invalidated capture: it is told by what was called
  }

 private:
  static constexpr product_extents extents{
      .m = product_shape::m, .n = product_shape::n, .k = product_shape::k};
  static constexpr std::size_t workspace_bytes = 32 << 20;
  cudaStream_t stream_ = nullptr;
  void *block_ = nullptr, *workspace_ = nullptr;
  product_operands on_{};
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace cufault::sweeping
