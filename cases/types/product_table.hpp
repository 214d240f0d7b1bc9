// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/types/lt_products.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/model/case.hpp"
#include "harness/trial/observe.hpp"

#include <cublas_v2.h>

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cufault/argument_check.hpp"

/// Cases whose arms are lists of rows. A remedy is two lists; the second one runs with the remedy applied.
namespace cufault::product_table {

using argument_check::entry;

/// Prepares and observes one or more products.
using row = std::function<void(const workbench&)>;
using rows = std::vector<row>;

/// One observed call with its preparation. The result of `call` needs a record_of().
template <class Call>
row call_row(step_name step, Call call) {
  return [step = std::move(step), call = std::move(call)](const workbench& on) {
    observe_call(step, [&] { return call(on); });
  };
}

inline rows operator+(rows first, const rows& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

/// The rows, one or several, that `make` returns for each element of a list.
template <class List, class Make>
rows rows_for(const List& all, const Make& make) {
  rows made;
  for (const auto& each : all) made = std::move(made) + rows{make(each)};
  return made;
}

inline void observe_rows(const workbench& on, const rows& all) {
  for (const row& each : all) each(on);
}

/// Observes every row, each in an undamaged process. Returns their results; empty if some were not reached, so that nothing can be
/// concluded. This process must not have used CUDA.
inline std::vector<std::string> observe_apart(trial& t, const rows& all) {
  auto came_to = t.for_each_row(all.size(), [&]() -> trial::row_function {
    return [&, on = new_workbench(t)](std::size_t i) { all.at(i)(on); };
  });
  t.measure("rows", static_cast<double>(all.size()));
  for (const std::string& each : came_to)
    if (each.empty()) return {};
  return came_to;
}

/// A case with such arms. `how` opens the workbench of arms that run in one process.
class product_case : public failure_case {
 public:
  using opener = workbench (*)(trial&);
  product_case(std::string of, std::string about, std::vector<std::string> shown, opener how = new_workbench)
      : failure_case{.name = std::move(of), .summary = std::move(about), .failures = std::move(shown)},
        open_(how) {}

  /// What is registered.
  failure_case done() { return std::move(static_cast<failure_case&>(*this)); }

  arm& control(const std::string& about, const rows& all, const std::vector<std::string>& claims = {}) {
    return list("control", arm_kind::control, about, all, claims);
  }
  arm& fault(const std::string& of, const std::string& about, const rows& all,
             const std::vector<std::string>& claims = {}) {
    return list(of, arm_kind::fault, about, all, claims);
  }
  /// `before`: rows that fail; empty if the remedy is in place from the start. `after`: rows that the remedy makes right.
  arm& remedy(const std::string& of, const std::string& about, const rows& before, const std::string& applied,
              const rows& after) {
    return add(of, arm_kind::remedy, about, [=, open = open_](trial& t) {
      const workbench on = open(t);
      observe_rows(on, before);
      t.apply(applied);
      observe_rows(on, after);
    });
  }
  /// Runs each row in its own process, because any may damage the context: observe_apart().
  arm& fault_apart(const std::string& of, const std::string& about, const rows& all,
                   const std::vector<std::string>& claims = {}) {
    return add(
        of, arm_kind::fault, about, [=](trial& t) { observe_apart(t, all); }, claims);
  }
  arm& remedy_apart(const std::string& of, const std::string& about, const rows& before,
                    const std::string& applied, const rows& after) {
    return add(of, arm_kind::remedy, about, [=](trial& t) {
      if (observe_apart(t, before).empty()) return;
      t.apply(applied);
      observe_rows(new_workbench(t), after);
    });
  }

 private:
  arm& list(const std::string& of, arm_kind kind, const std::string& about, const rows& all,
            const std::vector<std::string>& claims) {
    return add(
        of, kind, about, [=, open = open_](trial& t) { observe_rows(open(t), all); }, claims);
  }
  opener open_;
};

struct element_types {
  cudaDataType a, b, c;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scalar = CUDA_R_32F;
};
/// C = A' B with the smallest leading dimensions. A is transposed and B is not, as documented for FP8 and 8-bit integers. Addresses are
/// aligned, and valid for a check only.
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
