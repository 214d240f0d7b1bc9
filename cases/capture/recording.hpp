// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/product.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>

/// Shared by the cases about stream capture: a product that is captured, and checked after every replay.
namespace cufault {

inline constexpr float one = 1, zero = 0;
inline constexpr product_extents small_extents{
    .m = product_shape::m, .n = product_shape::n, .k = product_shape::k};
/// A k so long that cuBLAS splits it, which needs a workspace.
inline constexpr product_extents long_extents{.m = 96, .n = 64, .k = 16384};

/// A product, the stream on which its cublasSgemm is captured, and the resulting graph. Only the end of the trial's process releases them:
/// some arms leave a context in which nothing can be freed.
struct recording {
  product_extents extents;
  cublasHandle_t handle = nullptr;
  cudaStream_t stream = nullptr;
  void* block = nullptr;
  product_operands on{};
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  bool captured = false;  ///< a call that computes the product was captured, and succeeded

  explicit recording(const product_extents& of = small_extents, unsigned stream_flags = cudaStreamNonBlocking)
      : extents(of) {
    CUFAULT_REQUIRE(cudaStreamCreateWithFlags(&stream, stream_flags));
    CUFAULT_REQUIRE(cudaMalloc(&block, product_bytes(extents)));
    CUFAULT_REQUIRE(refresh());  // sets the operands' addresses
    CUFAULT_REQUIRE(cudaStreamSynchronize(stream));
  }
  /// New numbers and a poisoned C, on the stream, which must not be capturing.
  cudaError_t refresh() { return prepare_product(extents, block, fresh_seed(), &on, stream); }
};

inline cublasStatus_t sgemm(const recording& r, const float* alpha, const float* beta) {
  const auto& [m, n, k] = r.extents;
  return cublasSgemm(r.handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, r.on.a, m, r.on.b, k, beta, r.on.c,
                     r.extents.ldc());
}

/// Waits for the product, and checks C.
inline product_result checked(const recording& r, product_result started) {
  return checked(started, r.extents, r.block);
}

/// The product without a capture.
inline product_result multiply_at_once(recording& r, const float* alpha = &one, const float* beta = &zero) {
  product_result result{.waited = r.refresh()};
  if (result.waited == cudaSuccess) result.status = sgemm(r, alpha, beta);
  return checked(r, result);
}

/// Makes a handle on the stream and loads its kernel for the product.
inline void warm_up(recording& r) {
  r.handle = new_handle();
  CUFAULT_REQUIRE(cublasSetStream(r.handle, r.stream));
  CUFAULT_REQUIRE(multiply_at_once(r));
}

/// Of both, in the trial's context.
inline recording warm_recording(trial& t, const product_extents& of = small_extents) {
  t.open_context();
  recording r(of);
  warm_up(r);
  return r;
}

/// Sets a workspace of the caller of the size recommended for recent devices. The handle must already have its stream.
inline void give_workspace(recording& r) {
  constexpr std::size_t bytes = 32 << 20;
  void* workspace = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&workspace, bytes));
  CUFAULT_OBSERVE(cublasSetWorkspace(r.handle, workspace, bytes));
}

inline void begin(recording& r, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  r.graph = nullptr;
  r.executable = nullptr;
  r.captured = false;
  CUFAULT_REQUIRE(cudaStreamBeginCapture(r.stream, mode));
}

inline cublasStatus_t captured_sgemm(recording& r, const float* alpha = &one, const float* beta = &zero) {
  const cublasStatus_t status = sgemm(r, alpha, beta);
  r.captured = r.captured || status == CUBLAS_STATUS_SUCCESS;
  return status;
}

/// Ends the capture, also an invalidated one. Returns true if there is a graph.
inline bool end(recording& r) {
  return CUFAULT_OBSERVE(cudaStreamEndCapture(r.stream, &r.graph)) == cudaSuccess;
}

/// One launch of the graph, on new numbers.
inline product_result replay(recording& r) {
  product_result result{.waited = r.refresh()};
  if (result.waited == cudaSuccess) result.waited = cudaGraphLaunch(r.executable, r.stream);
  return checked(r, result);
}

inline void instantiate_and_replay(recording& r) {
  if (CUFAULT_OBSERVE(cudaGraphInstantiate(&r.executable, r.graph)) == cudaSuccess)
    CUFAULT_OBSERVE_AS("cudaGraphLaunch", "", replay(r));
}

/// Launches the graph, if there is one with the product.
inline void end_and_replay(recording& r) {
  if (end(r) && r.captured) instantiate_and_replay(r);
}

/// One product, from the first call of the capture to the numbers.
inline void capture_and_replay(recording& r) {
  begin(r);
  CUFAULT_OBSERVE_AS("cublasSgemm", "captured", captured_sgemm(r));
  end_and_replay(r);
}

}  // namespace cufault
