// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/types/light_products.hpp"
#include "harness/argument_check.hpp"
#include "harness/lt_problem.hpp"
#include "harness/trial.hpp"
#include "reports/observation.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

/// Tables of products, of which any may damage the context: rows are made from data and run in processes that a trial forks.
namespace cufault::product_table {

using argument_check::entry;

/// What a row has to work with. The end of the process gives it back: some rows leave a context in which nothing can be freed.
struct workbench {
  cublasHandle_t handle = nullptr;
  cublasLtHandle_t light = nullptr;
  void* workspace = nullptr;  ///< usual_workspace_bytes
  int capability = 0;

  explicit workbench(trial& t) {
    t.open_context();
    handle = new_handle();
    light = new_light_handle();
    workspace = new_usual_workspace();
    capability = t.compute_capability();
  }
};

struct row {
  std::string text;  ///< "cublasGemmEx R_16F R_16BF R_16F COMPUTE_32F"
  std::function<status_record(const workbench&)> call;
};

inline status_record observe_row(const workbench& on, const row& r) {
  return observe_call(r.text.c_str(), [&] { return r.call(on); });
}

inline void observe_rows(const workbench& on, const std::vector<row>& rows) {
  for (const row& r : rows) observe_row(on, r);
}

/// Observes every row, and returns the names of what they came to: "never returned" where a row ended its process. This process
/// must not have touched CUDA.
inline std::vector<std::string> run(trial& t, const std::vector<row>& rows) {
  using name = std::array<char, 64>;
  void* const shared = mmap(nullptr, rows.size() * sizeof(name), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);  // until the process ends
  if (shared == MAP_FAILED) throw setup_failed("no memory to share with the processes that run rows");
  const std::span<name> names(static_cast<name*>(shared), rows.size());
  t.each_row(rows.size(), [&]() -> trial::row_function {
    return [&, on = workbench(t)](std::size_t i) {
      const std::string came_to = observe_row(on, rows.at(i)).name;
      came_to.copy(names[i].data(), sizeof(name) - 1);
    };
  });
  t.measure("rows", static_cast<double>(rows.size()));
  std::vector<std::string> all;
  for (const name& each : names) all.emplace_back(each.front() == '\0' ? "never returned" : each.data());
  return all;
}

/// A remedy or a dead end in a process of its own, as what came before it may have damaged the context.
inline void run_then(trial& t, const std::vector<row>& before, const char* words,
                     const std::vector<row>& after) {
  run(t, before);
  t.apply(words);
  observe_rows(workbench(t), after);
}

/// "3 CUBLAS_STATUS_INVALID_VALUE, 12 RIGHT_NUMBERS"
inline std::string counted(const std::vector<std::string>& names) {
  std::map<std::string, int> times;
  for (const std::string& each : names) ++times[each];
  std::string text;
  for (const auto& [name, n] : times) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, name);
  return text.empty() ? "none" : text;
}

/// Did something fail, and all that failed with CUBLAS_STATUS_INVALID_VALUE?
inline bool fails_as_invalid_value_only(const std::vector<std::string>& names) {
  bool any = false;
  for (const std::string& each : names) {
    if (is_success(each)) continue;
    if (each != "CUBLAS_STATUS_INVALID_VALUE") return false;
    any = true;
  }
  return any;
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

/// As `p` says, whatever it says.
inline cublasStatus_t gemm_ex(const workbench& on, const argument_check::product& p, void* c) {
  const auto narrow = [](std::int64_t x) { return static_cast<int>(x); };
  return cublasGemmEx(on.handle, p.a_op, p.b_op, narrow(p.m), narrow(p.n), narrow(p.k), p.alpha, p.a.data,
                      p.a.type, narrow(p.a.leading_dimension), p.b.data, p.b.type,
                      narrow(p.b.leading_dimension), p.beta, c, p.c.type, narrow(p.c.leading_dimension),
                      p.compute, CUBLAS_GEMM_DEFAULT);
}

}  // namespace cufault::product_table
