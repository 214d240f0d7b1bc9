// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/checked_product.hpp"
#include "harness/kit/elements.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/trial.hpp"
#include "kernels/compare.hpp"
#include "kernels/product.hpp"

#include <cstddef>
#include <type_traits>
#include <vector>

namespace cufault {

/// A product that shows whether all bits of its numbers were used: C(i, j) is k u(i) v(j) (1 + 2^-place), where u and v are 1 or 2.
/// Elements of A are u(i) (1 + 2^-place); with fewer bits, rounded or cut off, they become u(i). Both sums are exact in every order if
/// `Real` has the bits for multiples of 2^-place up to 4 k (1 + 2^-place).
template <class Real, int place>
class fine_product {
 public:
  explicit fine_product(const product_extents& extents) : extents_(extents) {
    const auto one_or_two = [seed = fresh_seed()](int i) { return random_element(seed, i) < 0 ? 1.0 : 2.0; };
    const auto [m, n, k] = extents_;
    constexpr double fine = 1 + 1.0 / static_cast<double>(1LL << place);
    std::vector<double> a(a_.size()), b(b_.size());
    for (int l = 0; l < k; ++l)
      for (int i = 0; i < m; ++i) a[std::size_t(l) * m + i] = one_or_two(i) * fine;
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l) b[std::size_t(j) * k + l] = one_or_two(m + j);
      for (int i = 0; i < m; ++i) limited_[std::size_t(j) * m + i] = k * one_or_two(i) * one_or_two(m + j);
    }
    for (std::size_t e = 0; e < whole_.size(); ++e) whole_[e] = limited_[e] * fine;
    a_.put(a);
    b_.put(b);
  }

  [[nodiscard]] argument_check::product described(cublasComputeType_t compute) const {
    argument_check::product p;
    p.m = extents_.m, p.n = extents_.n, p.k = extents_.k;
    p.a = {a_.data(), type, p.m};
    p.b = {b_.data(), type, p.k};
    p.c = {c_.data(), type, p.m};
    p.alpha = &one, p.beta = &zero;
    p.scalar = type;
    p.compute = compute;
    return p;
  }
  /// For the result of the next call.
  void* poisoned_c() {
    c_.poison();
    return c_.data();
  }
  /// Result of a call: right if all bits went into C; wrong if the last one was lost.
  [[nodiscard]] product_result whole(cublasStatus_t status) const { return compared(status, c_, whole_); }
  [[nodiscard]] product_result limited(cublasStatus_t status) const { return compared(status, c_, limited_); }

 private:
  static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double>);
  static constexpr cudaDataType type = std::is_same_v<Real, float> ? CUDA_R_32F : CUDA_R_64F;
  static constexpr Real one = 1, zero = 0;
  product_extents extents_;
  guarded_array a_{type, std::size_t(extents_.m) * extents_.k},
      b_{type, std::size_t(extents_.k) * extents_.n}, c_{type, std::size_t(extents_.m) * extents_.n};
  std::vector<double> limited_ = std::vector<double>(c_.size()), whole_ = limited_;
};

}  // namespace cufault
