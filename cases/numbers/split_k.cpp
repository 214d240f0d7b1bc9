// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasLtMatmul with a K that is split into parts of unequal length: wrong numbers, with CUBLAS_STATUS_SUCCESS.
// Why          A defect of one algorithm.
// Documented   Release notes (6580689): CUBLASLT_ALGO_CONFIG_ID 66 on compute capability 9.0, where SPLITK_NUM does not divide K and
//              floor(K / SPLITK_NUM) is a multiple of the stage size; since 12.6.3, resolved after 13.4.
// What helps   Documented: a SPLITK_NUM that divides K.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: wrong numbers in every configuration that is told to, right ones where the parts
//              are equal. Nobody gets there by the heuristic: of 556 proposals that split K unevenly none has parts that are a multiple
//              of the stage size, and the 60 of them that were multiplied by are right.
#include "cases/numbers/configurations.hpp"
#include "harness/kit/checked_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace cufault {
namespace {

/// A K, a number of parts that does not divide it, and one that does. The floor of the first quotient is a multiple of 128, and so of every
/// stage size from 8 to 128. With fewer than nine parts such a K is no multiple of 8, for which cuBLAS 13.1.0 has no algorithm 66.
struct uneven {
  int k;
  std::int32_t parts, dividing;
  [[nodiscard]] constexpr bool as_documented() const {
    return k % parts != 0 && k / parts % 128 == 0 && k % dividing == 0;
  }
};
constexpr std::array all_uneven{uneven{770, 3, 2}, uneven{1284, 5, 4}, uneven{1544, 12, 8},
                                uneven{2056, 16, 8}, uneven{2576, 20, 2}};
static_assert(std::all_of(all_uneven.begin(), all_uneven.end(),
                          [](const uneven& u) { return u.as_documented(); }));

/// Half precision with A transposed, as in layers. Sums of these small whole numbers could reach 4 K, but their spread is 2 sqrt(K), at
/// most 181 here. Partial sums may be kept in half precision, which is exact up to 2048.
argument_check::product described(int k) {
  argument_check::product p;
  p.m = 64, p.n = 16, p.k = k;
  p.a_op = CUBLAS_OP_T;
  const std::int64_t padded = (k + 7) / 8 * 8;  // algorithms require columns aligned to 16 bytes
  p.a = {nullptr, CUDA_R_16F, padded};
  p.b = {nullptr, CUDA_R_16F, padded};
  p.c = {nullptr, CUDA_R_16F, p.m};
  return p;
}

product_result multiply(const workbench& on, checked_product& p, const lt_problem& problem,
                        const cublasLtMatmulAlgo_t& algorithm) {
  return p.by([&] { return multiply_by(on, problem, p.operands(), algorithm); });
}

/// Algorithm 66 with that many parts, in every scheme that it has for them.
std::vector<cublasLtMatmulAlgo_t> in_parts(configurations& all, std::int32_t parts) {
  std::vector<cublasLtMatmulAlgo_t> every_scheme;
  for (const cublasLtReductionScheme_t scheme :
       {CUBLASLT_REDUCTION_SCHEME_INPLACE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE,
        CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE}) {
    const auto usable = all.of(algorithm_66, {parts, scheme}, 2);
    every_scheme.insert(every_scheme.end(), usable.begin(), usable.end());
  }
  return every_scheme;
}

/// Every K with such a configuration, until one leaves an error.
void multiply_all(trial& t, std::int32_t uneven::*parts) {
  t.open_context();
  const workbench on;
  bool any = false;
  for (const uneven& u : all_uneven) {
    checked_product p(described(u.k));
    configurations all(on.lt, p.described());
    const auto tried = in_parts(all, u.*parts);
    if (tried.empty()) continue;
    any = true;
    const step_name step{"cublasLtMatmul", fmt::format("algorithm_66_k_{}_in_{}_parts", u.k, u.*parts)};
    const survey seen = observe_call(step, [&] {
      return try_each(tried,
                      [&](const cublasLtMatmulAlgo_t& each) { return multiply(on, p, all.problem(), each); });
    });
    if (seen.over()) return;
  }
  if (!any)
    throw not_provoked(
        "cuBLASLt has no algorithm 66 here that splits K: it is documented for compute capability 9.0");
}

void control(trial& t) {
  multiply_all(t, &uneven::dividing);
}

void told(trial& t) {
  multiply_all(t, &uneven::parts);
}

/// Part of K in a stage: CUBLASLT_MATMUL_STAGES_<this>x<count>; 0 if unknown. By number, since older headers lack the last names.
int stage_size(const cublasLtMatmulAlgo_t& algorithm) {
  const auto id = configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID);
  if (id >= 1 && id <= 24) return 16 << (id - 1) / 6;
  if (id >= 32 && id <= 37) return 8 << (id - 32);  // with the count chosen automatically
  return 0;
}

/// Measures whether the heuristic leads there: proposals with the documented property, and some with other unequal parts.
void proposed(trial& t) {
  t.open_context();
  const workbench on;
  survey s;
  int uneven = 0, documented = 0, others = 0;
  constexpr int most = 60;  // of each kind
  const auto every_proposal = [&] {
    for (int k = 264; k <= 8192 && !s.over(); k += 8) {
      lt_problem problem(described(k));
      if (problem.heuristic(on.lt, workbench::workspace_bytes) != CUBLAS_STATUS_SUCCESS) continue;
      for (const auto& result : problem.results()) {
        const std::int32_t parts = parts_of(result.algo);
        if (result.state != CUBLAS_STATUS_SUCCESS || id_of(result.algo) != algorithm_66 || parts < 2 ||
            k % parts == 0)
          continue;
        ++uneven;
        const int stage = stage_size(result.algo);
        if (++(stage > 0 && k / parts % stage == 0 ? documented : others) > most) continue;
        checked_product p(described(k));
        fact_map facts = facts_of(result.algo);
        facts["first_failing_k"] = std::int64_t{k};
        s.add(facts, multiply(on, p, problem, result.algo));
        if (s.over()) break;
      }
    }
    if (s.tried == 0)
      throw not_provoked(
          "for none of the K tried, the heuristic proposes algorithm 66 with parts that do not divide it");
    return s;
  };
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "each_uneven_proposal_of_algorithm_66", every_proposal());
  t.measure("proposals that split K unevenly", uneven);
  t.measure("those whose parts are a multiple of the stage size", documented);
  t.measure("those multiplied by", static_cast<double>(s.tried));
}

void dividing(trial& t) {
  t.apply("a SPLITK_NUM that divides K");
  multiply_all(t, &uneven::dividing);
}

void split_k(failure_case& c) {
  c.control("algorithm 66 with parts of equal length", control);
  c.fault("told", "algorithm 66 with parts that do not divide K", told);
  c.fault("proposed", "proposals of the heuristic whose parts do not divide K", proposed);
  c.remedy("dividing", "a number of parts that divides K", dividing).against = "told";
  c.in_tier = {"control", "told", "dividing"};
  c.share_process();
}

const register_case here("numbers.split_k", "cublasLtMatmul told to split K into parts of unequal length",
                         {"RN-02"}, split_k);

}  // namespace
}  // namespace cufault
