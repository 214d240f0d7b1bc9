// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trial/observe.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace cufault {

/// A stream that does not synchronise with the legacy stream, unless its flags say so. Throws setup_failed.
class own_stream {
 public:
  explicit own_stream(unsigned flags = cudaStreamNonBlocking) {
    CUFAULT_REQUIRE(cudaStreamCreateWithFlags(&stream_, flags));
  }
  ~own_stream() { cudaStreamDestroy(stream_); }
  own_stream(const own_stream&) = delete;
  own_stream& operator=(const own_stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Restores a handle's legacy stream and default workspace at its end, before its present ones are destroyed.
class stream_given_back {
 public:
  explicit stream_given_back(cublasHandle_t handle) : handle_(handle) {}
  ~stream_given_back() { cublasSetStream(handle_, nullptr); }
  stream_given_back(const stream_given_back&) = delete;
  stream_given_back& operator=(const stream_given_back&) = delete;

 private:
  cublasHandle_t handle_;
};

}  // namespace cufault
