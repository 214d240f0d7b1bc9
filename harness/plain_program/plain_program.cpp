// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Somebody's program: linked to cuBLAS, found by the loader before main.
//   plain_program          asks cuBLAS for its version, which takes cuBLASLt and no GPU: {"major": 13}
//   plain_program DEVICE   multiplies, and checks the numbers: {"cublas": 0, "cuda": 0, "right": true}, with the first
//                          status of either library that is not success
// Exits with 0 whenever it comes to its end.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int m = 48, n = 40, k = 56;

struct outcome {
  cublasStatus_t cublas = CUBLAS_STATUS_SUCCESS;
  cudaError_t cuda = cudaSuccess;
  bool right = false;
};

/// Small whole numbers, whose sums are exact in any order.
std::vector<float> numbers(int count, int step) {
  std::vector<float> all(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = static_cast<float>(i * step % 17 - 8);
  return all;
}

bool is_product(const std::vector<float>& c, const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t column = 0; column < n; ++column)
    for (std::size_t row = 0; row < m; ++row) {
      float sum = 0;
      for (std::size_t i = 0; i < k; ++i) sum += a[row + i * m] * b[i + column * k];
      if (c[row + column * m] != sum) return false;
    }
  return true;
}

outcome multiply(int device) {
  outcome seen;
  const auto cuda = [&](cudaError_t status) { return (seen.cuda = status) == cudaSuccess; };
  const auto cublas = [&](cublasStatus_t status) { return (seen.cublas = status) == CUBLAS_STATUS_SUCCESS; };
  const std::vector<float> a = numbers(m * k, 5), b = numbers(k * n, 7);
  std::vector<float> c(static_cast<std::size_t>(m) * n);
  const auto bytes = [](const std::vector<float>& of) { return of.size() * sizeof(float); };
  float *on_a = nullptr, *on_b = nullptr, *on_c = nullptr;
  cublasHandle_t handle = nullptr;
  const float one = 1, zero = 0;
  seen.right = cuda(cudaSetDevice(device)) && cuda(cudaMalloc(&on_a, bytes(a))) &&
               cuda(cudaMalloc(&on_b, bytes(b))) && cuda(cudaMalloc(&on_c, bytes(c))) &&
               cuda(cudaMemcpy(on_a, a.data(), bytes(a), cudaMemcpyHostToDevice)) &&
               cuda(cudaMemcpy(on_b, b.data(), bytes(b), cudaMemcpyHostToDevice)) &&
               cublas(cublasCreate(&handle)) &&
               cublas(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, on_a, m, on_b, k, &zero,
                                  on_c, m)) &&
               cuda(cudaMemcpy(c.data(), on_c, bytes(c), cudaMemcpyDeviceToHost)) && is_product(c, a, b) &&
               cublas(cublasDestroy(handle));
  return seen;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    int major = 0;
    cublasGetProperty(MAJOR_VERSION, &major);
    std::printf("{\"major\": %d}\n", major);
    return 0;
  }
  const outcome seen = multiply(std::atoi(argv[1]));
  std::printf("{\"cublas\": %d, \"cuda\": %d, \"right\": %s}\n", seen.cublas, seen.cuda,
              seen.right ? "true" : "false");
  return 0;
}
