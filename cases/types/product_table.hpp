// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/types/lt_products.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <cublas_v2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cufault/argument_check.hpp"

/// Tables of products, of which any may damage the context: rows are made from data and run in processes that a trial forks.
namespace cufault::product_table {

using argument_check::entry;

struct row {
  std::string text;  ///< "cublasGemmEx R_16F R_16BF R_16F COMPUTE_32F"
  std::function<status_record(const workbench&)> call;
};

inline void observe_row(const workbench& on, const row& r) {
  observe_call(named_by_words(r.text), [&] { return r.call(on); });
}

inline void observe_rows(const workbench& on, const std::vector<row>& rows) {
  for (const row& r : rows) observe_row(on, r);
}

/// Observes every row, and returns what they came to; nothing where some were not reached, so that there is nothing to conclude.
/// This process must not have touched CUDA.
inline std::vector<std::string> run(trial& t, const std::vector<row>& rows) {
  auto came_to = t.for_each_row(rows.size(), [&]() -> trial::row_function {
    return [&, on = new_workbench(t)](std::size_t i) { observe_row(on, rows.at(i)); };
  });
  t.measure("rows", static_cast<double>(rows.size()));
  for (const std::string& each : came_to)
    if (each.empty()) return {};
  return came_to;
}

/// A remedy or a dead end in a process of its own, as what came before it may have damaged the context.
inline void run_then(trial& t, const std::vector<row>& before, const char* words,
                     const std::vector<row>& after) {
  if (run(t, before).empty()) return;
  t.apply(words);
  observe_rows(new_workbench(t), after);
}

struct element_types {
  cudaDataType a, b, c;
  cublasComputeType_t compute;
  cudaDataType scalar;
};
/// C = A' B with the least leading dimensions. A is transposed and B is not, as FP8 and 8-bit integers are documented to want it.
/// Addresses are aligned, and fit for a check only.
inline argument_check::product turned_product(entry function, const element_types& types,
                                              const extents& of = {32, 48, 16}) {
  alignas(256) static const std::array<std::byte, 768> somewhere{};
  argument_check::product p;
  p.function = function;
  p.a_op = CUBLAS_OP_T;
  p.m = of.m, p.n = of.n, p.k = of.k;
  p.a = {somewhere.data(), types.a, of.k};
  p.b = {somewhere.data() + 256, types.b, of.k};
  p.c = {somewhere.data() + 512, types.c, of.m};
  p.alpha = p.beta = somewhere.data();
  p.compute = types.compute;
  p.scalar = types.scalar;
  return p;
}

inline const char* name_of(entry function) {
  return function == entry::cublas_lt ? "cublasLtMatmul" : "cublasGemmEx";
}

}  // namespace cufault::product_table
