// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/checked_product.hpp"
#include "harness/kit/elements.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/product.hpp"
#include "reports/model/observation.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {

/// Opens the context.
inline workbench new_workbench(trial& t) {
  t.open_context();
  return {};
}

/// A product with a k so long that cuBLASLt splits it, which needs a workspace. The end of the process releases it.
class long_sum {
 public:
  long_sum() { CUFAULT_REQUIRE(cudaMalloc(&block_, product_bytes(summed))); }

  lt_problem problem{summed};

  /// The best algorithm of a query for `workspace_bytes` that needs some of them.
  cublasLtMatmulHeuristicResult_t one_with_workspace(
      cublasLtHandle_t lt, std::size_t workspace_bytes = workbench::workspace_bytes) {
    CUFAULT_REQUIRE(problem.heuristic(lt, workspace_bytes));
    for (const auto& each : problem.results())
      if (each.state == CUBLAS_STATUS_SUCCESS && each.workspaceSize > 0) return each;
    throw not_provoked("no algorithm for this product wants a workspace: try other extents");
  }

  product_result multiply(cublasLtHandle_t lt, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                          std::size_t bytes) {
    const float one = 1, zero = 0;
    product_operands on;
    product_result result;
    if ((result.waited = prepare_product(summed, block_, fresh_seed(), &on)) != cudaSuccess) return result;
    result.status = problem.multiply(lt, {&one, on.a, on.b, &zero, on.c, on.c}, algorithm, workspace, bytes);
    return checked(result, summed, block_);
  }

 private:
  static constexpr product_extents summed{.m = 96, .n = 64, .k = 65536};
  void* block_ = nullptr;
};

/// A product of chosen numbers, for cases in which those of checked_product do not suffice.
class chosen_product {
 public:
  /// `described` gives every leading dimension; `of_a`, `of_b` and `expected` are whole arrays, as stored.
  chosen_product(const argument_check::product& described, const std::vector<double>& of_a,
                 const std::vector<double>& of_b, std::vector<double> expected, double beta = 0)
      : a(described.a.type, of_a.size()),
        b(described.b.type, of_b.size()),
        d(described.c.type, expected.size()),
        described_(described),
        expected_(std::move(expected)),
        alpha_(encoded(described.scalar, std::array{1.0})),
        beta_(encoded(described.scalar, std::array{beta})) {
    a.put(of_a);
    b.put(of_b);
    described_.a.data = a.data(), described_.b.data = b.data(), described_.c.data = d.data();
    described_.alpha = alpha_.data(), described_.beta = beta_.data();
  }

  guarded_array a, b, d;
  /// The description with addresses of operands and scalars.
  [[nodiscard]] const argument_check::product& described() const { return described_; }
  [[nodiscard]] lt_operands in_place() const { return with_c(d.data()); }
  [[nodiscard]] lt_operands with_c(const void* c) const {
    return {alpha_.data(), a.data(), b.data(), beta_.data(), c, d.data()};
  }
  /// Poisons D, makes the call, and compares every element of D.
  template <class Call>
  product_result by(Call&& call) {
    d.poison();
    return compared(call(), d, expected_);
  }
  /// By cublasLtMatmul with the first algorithm of `problem` for the workspace.
  product_result by_lt(const workbench& on, lt_problem& problem, const lt_operands& operands) {
    return by([&] { return problem.multiply_by_first(on.lt, operands, on.workspace, on.workspace_bytes); });
  }

 private:
  argument_check::product described_;
  std::vector<double> expected_;
  std::vector<std::byte> alpha_, beta_;
};

/// The step name of a product in a table: cublasLtMatmul e4m3_by_e5m2 for "E4M3 by E5M2" by cublasLtMatmul.
inline step_name product_named(std::string_view words, std::string api = "cublasLtMatmul") {
  std::string variant = variant_of(words);
  for (char& c : variant)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return {std::move(api), std::move(variant)};
}

struct extents {
  std::int64_t m = 0, n = 0, k = 0;
};

/// Numbers in the part `kept` of the operands, zeros elsewhere, with the smallest leading dimensions.
inline chosen_product padded(argument_check::product described, const extents& kept) {
  const auto numbers = [](argument_check::matrix& of, cublasOperation_t op, std::int64_t rows,
                          std::int64_t columns, std::int64_t kept_rows, std::int64_t kept_columns) {
    if (op != CUBLAS_OP_N) {
      std::swap(rows, columns);
      std::swap(kept_rows, kept_columns);
    }
    of.leading_dimension = rows;
    auto all = small_numbers(static_cast<std::size_t>(rows * columns), fresh_seed());
    for (std::int64_t i = 0; i < rows * columns; ++i)
      if (i % rows >= kept_rows || i / rows >= kept_columns) all[static_cast<std::size_t>(i)] = 0;
    return all;
  };
  auto& p = described;
  const auto of_a = numbers(p.a, p.a_op, p.m, p.k, kept.m, kept.k);
  const auto of_b = numbers(p.b, p.b_op, p.k, p.n, kept.k, kept.n);
  p.c.leading_dimension = p.m;
  return {p, of_a, of_b,
          multiplied(p, 1, of_a, of_b, 0, std::vector<double>(static_cast<std::size_t>(p.m * p.n)))};
}

}  // namespace cufault
