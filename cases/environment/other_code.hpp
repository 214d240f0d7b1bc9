// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/environment/fixtures/foreign_code/foreign_code.hpp"
#include "harness/kit/products.hpp"
#include "harness/system/bundled_file.hpp"
#include "harness/trial/observe.hpp"

#include <dlfcn.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

/// Shared by the cases about code and drivers that do not fit: code in a library of its own, and a product without kernels of cufault.
namespace cufault {

/// One of the libraries of cases/environment/fixtures/foreign_code. Stays loaded: its runtime lives until the process ends.
class code_library {
 public:
  /// Throws not_provoked if it was not built, setup_failed if it cannot be used. Makes no CUDA call.
  explicit code_library(const char* name) {
    const std::string file = bundled_file(name).string();
    if (file.empty()) throw not_provoked(std::string("there is no ") + name + " beside this program");
    void* const library = loaded(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
    run_code_ = reinterpret_cast<decltype(run_code_)>(loaded(dlsym(library, "cufault_run_code")));
    code_architecture_ =
        reinterpret_cast<decltype(code_architecture_)>(loaded(dlsym(library, "cufault_code_architecture")));
  }
  /// Runs its kernel and checks the result.
  [[nodiscard]] product_result run() const {
    int answer = 0;
    product_result result;
    result.waited = static_cast<cudaError_t>(run_code_(&answer));
    result.right = answer == 42;
    return result;
  }
  /// The lowest architecture of its code: 75.
  [[nodiscard]] int architecture() const { return code_architecture_(); }

 private:
  static void* loaded(void* what) {
    if (what != nullptr) return what;
    const char* words = dlerror();
    throw setup_failed(words != nullptr ? words : "the loader gave nothing and no reason");
  }
  decltype(&cufault_run_code) run_code_ = nullptr;
  decltype(&cufault_code_architecture) code_architecture_ = nullptr;
};

/// A product by cublasSgemm, prepared and checked on the host, for processes in which kernels of cufault may not run. Small whole numbers
/// make any order of sums exact.
inline product_result product_from_host(cublasHandle_t handle) {
  constexpr int m = 48, n = 40, k = 56;
  std::vector<float> a(m * k), b(k * n), c(m * n, std::numeric_limits<float>::quiet_NaN());
  std::mt19937_64 random(fresh_seed());
  std::uniform_int_distribution<int> small(-8, 8);
  for (float& x : a) x = static_cast<float>(small(random));
  for (float& x : b) x = static_cast<float>(small(random));

  std::vector<float> all(a);
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  const std::size_t bytes = all.size() * sizeof(float);
  product_result result;
  float* block = nullptr;
  if ((result.waited = cudaMalloc(&block, bytes)) != cudaSuccess) return result;
  const float *on_a = block, *on_b = on_a + a.size(), one = 1, zero = 0;
  float* on_c = block + a.size() + b.size();
  result.waited = cudaMemcpy(block, all.data(), bytes, cudaMemcpyHostToDevice);
  if (result.waited == cudaSuccess)
    result.status =
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, on_a, m, on_b, k, &zero, on_c, m);
  if (result.waited == cudaSuccess) result.waited = cudaDeviceSynchronize();
  if (result.waited == cudaSuccess)
    result.waited = cudaMemcpy(c.data(), on_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(block);

  result.right = true;
  for (int column = 0; column < n; ++column)
    for (int row = 0; row < m; ++row) {
      double reference = 0;
      for (int p = 0; p < k; ++p) reference += static_cast<double>(a[row + p * m]) * b[p + column * k];
      result.right = result.right && c[row + column * m] == reference;
    }
  return result;
}

/// Like create_and_multiply(), with that product.
inline cublasStatus_t create_and_multiply_from_host() {
  cublasHandle_t handle = nullptr;
  const cublasStatus_t status = CUFAULT_OBSERVE(cublasCreate(&handle));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  CUFAULT_OBSERVE_AS("cublasSgemm", "from_host", product_from_host(handle));
  CUFAULT_OBSERVE(cublasDestroy(handle));
  return status;
}

}  // namespace cufault
