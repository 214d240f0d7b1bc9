// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/products.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

/// Connects code of pages to a trial (reports/pages/messages). A page shows the lines between `// [NAME fails]` or `// [NAME corrected]`
/// and `// [end]`.
namespace cufault {

/// Small whole numbers on the device, whose products are exact, and the expected output.
class snippet_operands {
 public:
  snippet_operands(int rows, int columns, int inner) : m(rows), n(columns), k(inner) {
    std::minstd_rand random(static_cast<unsigned>(fresh_seed()));
    const std::array<std::size_t, 3> sizes{size(m, k), size(k, n), size(m, n)};
    const std::array<float**, 3> to{&a, &b, &c};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      host_[i].assign(sizes[i], -1);  // poisons the output
      if (i < 2)
        for (float& x : host_[i]) x = static_cast<float>(random() % 8);
      CUFAULT_REQUIRE(cudaMalloc(to[i], sizes[i] * sizeof(float)));
      CUFAULT_REQUIRE(cudaMemcpy(*to[i], host_[i].data(), sizes[i] * sizeof(float), cudaMemcpyHostToDevice));
    }
    host_c = host_[0];
    host_c.resize(sizes[2]);
  }
  /// Row-major: c is the product of a and b.
  [[nodiscard]] bool is_product() const {
    return output_is([&](std::size_t at) {
      const std::size_t row = at / static_cast<std::size_t>(n), column = at % static_cast<std::size_t>(n);
      double sum = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i)
        sum += host_[0][size(k, 1) * row + i] * host_[1][size(n, 1) * i + column];
      return static_cast<float>(sum);
    });
  }
  [[nodiscard]] bool is_copy() const {
    return output_is([&](std::size_t at) { return host_c[at]; });
  }
  /// The output is twice a, without its first element, a header.
  [[nodiscard]] bool is_double() const {
    return output_is([&](std::size_t at) { return 2 * host_[0][at]; }, 1);
  }

  int m, n, k;
  float *a = nullptr, *b = nullptr, *c = nullptr;
  std::vector<float> host_c;  ///< what is_copy() expects

 private:
  static std::size_t size(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  template <class Expected>
  [[nodiscard]] bool output_is(Expected expected, std::size_t from = 0) const {
    std::vector<float> seen(size(m, n));
    if (cudaMemcpy(seen.data(), c, seen.size() * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess)
      return false;
    for (std::size_t i = from; i < seen.size(); ++i)
      if (seen[i] != expected(i)) return false;
    return true;
  }
  std::array<std::vector<float>, 3> host_{};
};

/// Result of the code: a status of cuBLAS or of the CUDA runtime.
struct snippet_status {
  snippet_status(cublasStatus_t s) : of_cublas(s) {}
  snippet_status(cudaError_t s) : of_cuda(s) {}
  cublasStatus_t of_cublas = CUBLAS_STATUS_SUCCESS;
  cudaError_t of_cuda = cudaSuccess;
};

/// Failing code, and the same code corrected.
struct snippet {
  const char* name;
  const char* summary;  ///< the mistake
  const char* cure;
  const char* api;  ///< the call that returns the status
  int m, n, k;
  std::function<snippet_status(snippet_operands&)> fails, corrected;
  bool (snippet_operands::*right)() const = &snippet_operands::is_product;
};

inline void run_snippet(trial& t, const snippet& s, bool corrected) {
  t.open_context();
  snippet_operands operands(s.m, s.n, s.k);
  if (corrected) t.apply(s.cure);
  observe_call({s.api, "snippet"}, [&] {
    const snippet_status returned = (corrected ? s.corrected : s.fails)(operands);
    product_result result{.status = returned.of_cublas, .waited = returned.of_cuda};
    if (result.status == CUBLAS_STATUS_SUCCESS && result.waited == cudaSuccess)
      result.right = (operands.*s.right)();
    return result;
  });
}

/// Each snippet becomes an arm NAME and an arm NAME_corrected.
inline failure_case case_of_snippets(const char* name, const char* summary,
                                     const std::vector<snippet>& snippets) {
  failure_case c;
  c.name = name;
  c.summary = summary;
  c.control("a product that is checked as those of the code are", [](trial& t) {
    t.open_context();
    create_and_multiply();
  });
  for (const snippet& s : snippets) {
    c.fault(s.name, s.summary, [s](trial& t) { run_snippet(t, s, false); });
    c.remedy(s.name + std::string("_corrected"), s.cure, [s](trial& t) { run_snippet(t, s, true); }).against =
        s.name;
  }
  return c;
}

}  // namespace cufault
