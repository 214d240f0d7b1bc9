// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/checked_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

namespace cufault {
namespace {

int narrow(std::int64_t x) {
  return static_cast<int>(x);
}

}  // namespace

cublasStatus_t gemm_ex(cublasHandle_t handle, const argument_check::product& p, void* c) {
  const bool wide = p.function == argument_check::entry::cublas_64;
  if (p.batch == 1 && wide)
    return cublasGemmEx_64(handle, p.a_op, p.b_op, p.m, p.n, p.k, p.alpha, p.a.data, p.a.type,
                           p.a.leading_dimension, p.b.data, p.b.type, p.b.leading_dimension, p.beta, c,
                           p.c.type, p.c.leading_dimension, p.compute, CUBLAS_GEMM_DEFAULT);
  if (p.batch == 1)
    return cublasGemmEx(handle, p.a_op, p.b_op, narrow(p.m), narrow(p.n), narrow(p.k), p.alpha, p.a.data,
                        p.a.type, narrow(p.a.leading_dimension), p.b.data, p.b.type,
                        narrow(p.b.leading_dimension), p.beta, c, p.c.type, narrow(p.c.leading_dimension),
                        p.compute, CUBLAS_GEMM_DEFAULT);
  if (wide)
    return cublasGemmStridedBatchedEx_64(
        handle, p.a_op, p.b_op, p.m, p.n, p.k, p.alpha, p.a.data, p.a.type, p.a.leading_dimension, p.a.stride,
        p.b.data, p.b.type, p.b.leading_dimension, p.b.stride, p.beta, c, p.c.type, p.c.leading_dimension,
        p.c.stride, p.batch, p.compute, CUBLAS_GEMM_DEFAULT);
  return cublasGemmStridedBatchedEx(handle, p.a_op, p.b_op, narrow(p.m), narrow(p.n), narrow(p.k), p.alpha,
                                    p.a.data, p.a.type, narrow(p.a.leading_dimension), p.a.stride, p.b.data,
                                    p.b.type, narrow(p.b.leading_dimension), p.b.stride, p.beta, c, p.c.type,
                                    narrow(p.c.leading_dimension), p.c.stride, narrow(p.batch), p.compute,
                                    CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t sgemm(cublasHandle_t handle, const argument_check::product& p, void* c) {
  const auto floats = [](const void* at) { return static_cast<const float*>(at); };
  return cublasSgemm(handle, p.a_op, p.b_op, narrow(p.m), narrow(p.n), narrow(p.k), floats(p.alpha),
                     floats(p.a.data), narrow(p.a.leading_dimension), floats(p.b.data),
                     narrow(p.b.leading_dimension), floats(p.beta), static_cast<float*>(c),
                     narrow(p.c.leading_dimension));
}

product_result compared(cublasStatus_t status, const guarded_array& array, std::span<const double> expected) {
  return proved(status, [&] { return differing(expected, array.get()).empty() && array.guards_intact(); });
}

struct checked_product::sized {
  argument_check::product described;
  std::size_t a, b, c;  // elements

  explicit sized(const argument_check::product& as_said)
      : described(as_said),
        a(complete(described.a, described.a_op, described.m, described.k)),
        b(complete(described.b, described.b_op, described.k, described.n)),
        c(complete(described.c, CUBLAS_OP_N, described.m, described.n)) {}

 private:
  std::size_t complete(argument_check::matrix& of, cublasOperation_t op, std::int64_t rows,
                       std::int64_t columns) const {
    if (op != CUBLAS_OP_N) std::swap(rows, columns);
    const std::int64_t batch = described.batch;
    if (of.leading_dimension == 0) of.leading_dimension = std::max<std::int64_t>(1, rows);
    const std::int64_t one = argument_check::detail::span(rows, columns, of.leading_dimension);
    if (of.stride == 0 && batch > 1) of.stride = one;
    if (of.leading_dimension < rows || of.stride < 0)
      throw setup_failed(fmt::format(
          "a checked product cannot make an operand of leading dimension {} and stride {} for {} rows",
          of.leading_dimension, of.stride, rows));
    return static_cast<std::size_t>(std::max<std::int64_t>(1, (batch - 1) * of.stride + one));
  }
};

checked_product::checked_product(argument_check::product described, const options& how)
    : checked_product(sized(described), how) {}

checked_product::checked_product(const sized& all, const options& how)
    : a(all.described.a.type, all.a, how.off_by[0]),
      b(all.described.b.type, all.b, how.off_by[1]),
      c(all.described.c.type, all.c, how.off_by[2]),
      described_(all.described),
      alpha_number_(how.alpha),
      beta_number_(how.beta) {
  const auto put = [&](std::array<std::byte, 16>& scalar, double number) {
    const auto bytes = encoded(described_.scalar, std::array{number});
    std::memcpy(scalar.data(), bytes.data(), bytes.size());
  };
  put(alpha_, how.alpha);
  put(beta_, how.beta);
  described_.a.data = a.data(), described_.b.data = b.data(), described_.c.data = c.data();
  described_.alpha = alpha_.data(), described_.beta = beta_.data();
}

void checked_product::reset() {
  const auto of_a = small_numbers(a.size(), fresh_seed()), of_b = small_numbers(b.size(), fresh_seed());
  a.put(of_a);
  b.put(of_b);
  if (beta_number_ == 0)
    c.poison();
  else
    c.put(small_numbers(c.size(), fresh_seed()));
  expected_ = multiplied(described_, alpha_number_, of_a, of_b, beta_number_, c.get());
}

product_result checked_product::finish(cublasStatus_t status) {
  wrong_.clear();
  return proved(status, [&] {
    wrong_ = differing(expected_, c.get());
    // The call wrote another NaN than the poison's.
    for (const std::size_t i : c.written())
      if (std::isnan(expected_[i]) && !std::binary_search(wrong_.begin(), wrong_.end(), i)) {
        wrong_.insert(std::upper_bound(wrong_.begin(), wrong_.end(), i), i);
      }
    return wrong_.empty() && a.guards_intact() && b.guards_intact() && c.guards_intact();
  });
}

product_result checked_product::by_gemm_ex(cublasHandle_t handle) {
  return by([&] { return gemm_ex(handle, described_, c.data()); });
}

product_result checked_product::by_lt(cublasLtHandle_t lt, void* workspace, std::size_t workspace_bytes,
                                      lt_problem* problem) {
  std::optional<lt_problem> made;
  if (problem == nullptr) problem = &made.emplace(described_);
  return by([&] { return problem->multiply_by_first(lt, operands(), workspace, workspace_bytes); });
}

}  // namespace cufault
