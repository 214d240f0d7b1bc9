// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

int main() {
  float *x, result = 0;
  CUDA_CHECK(cudaMalloc(&x, sizeof(float) * 4096));
  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  CUBLAS_CHECK(cublasSetStream(handle, stream));
  CUBLAS_CHECK(cublasSdot(handle, 4096, x, 1, x, 1, &result));
  cudaGraph_t graph;
  CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CUBLAS_CHECK(cublasSdot(handle, 4096, x, 1, x, 1, &result));
  CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  std::printf("captured, %f\n", result);
}
