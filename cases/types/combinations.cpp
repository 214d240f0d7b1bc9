// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Products with unsuitable element types: A unlike B, a C or compute type without a kernel for the operands, numbers that name
//              no type. Worse: a library may accept such a product and read operands, or write the result, as another type.
// Why          Kernels exist for a list of combinations only. Two libraries check a call against that list, in several places, and pointers
//              have no type.
// Documented   cuBLAS documentation, cublasGemmEx and cublasLtMatmul: the tables of supported types; another combination is
//              CUBLAS_STATUS_NOT_SUPPORTED, a type that is none CUBLAS_STATUS_INVALID_VALUE. One source document says
//              INVALID_VALUE of all of them (S3-2), and that inputs and weights must have the same type (S3-11). Release notes,
//              CUB-9942 (RN-09): compute like single precision, such a result, and operands of other types read as such.
//              Reported as F-NS-07: whisper.cpp#1587, llama-cpp-python#941.
// Measured     H200, cuBLAS 13.1.0: most are NOT_SUPPORTED. INVALID_VALUE come, by cuBLASLt, pairs of A and B that differ where C has
//              the type of A or single precision, C and operands of which one alone is complex with a fast compute, and scale types
//              of another compute type; by cublasGemmEx two operands of one FP8 type, and types that no
//              table has. Accepted and wrong, all by cuBLASLt: operands
//              in single precision with a C of any other real type and a compute of FAST_TF32, FAST_16F, FAST_16BF or
//              EMULATED_16BFX9, where a narrower C is written beyond its end; and C_32F into C_64F with FAST_TF32. Operands that are
//              read as single precision were not met. Not in the tables, accepted and right: 8- and 16-bit operands with one of these
//              computes.
// What helps   Tried: converting to a combination of the tables. Checking the types before the call: how many of the rows here
//              harness/include/cufault/argument_check.hpp predicts is counted, and which it does not.
#include "cases/types/product_table.hpp"
#include "harness/kit/lt_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace product_table;
namespace check_detail = argument_check::detail;

// ---- combinations ----

struct combination {
  entry function;
  element_types types;
};

struct named_compute {
  cublasComputeType_t type;
  const char* name;
};
constexpr std::array computes{
    named_compute{CUBLAS_COMPUTE_16F, "16F"}, named_compute{CUBLAS_COMPUTE_32F, "32F"},
    named_compute{CUBLAS_COMPUTE_64F, "64F"}, named_compute{CUBLAS_COMPUTE_32I, "32I"},
    named_compute{CUBLAS_COMPUTE_32F_FAST_TF32, "32F_FAST_TF32"},
    named_compute{CUBLAS_COMPUTE_32F_FAST_16F, "32F_FAST_16F"},
    named_compute{CUBLAS_COMPUTE_32F_FAST_16BF, "32F_FAST_16BF"},
    named_compute{CUBLAS_COMPUTE_16F_PEDANTIC, "16F_PEDANTIC"},
    named_compute{CUBLAS_COMPUTE_32F_PEDANTIC, "32F_PEDANTIC"},
    named_compute{CUBLAS_COMPUTE_64F_PEDANTIC, "64F_PEDANTIC"},
    named_compute{CUBLAS_COMPUTE_32I_PEDANTIC, "32I_PEDANTIC"},
    // Missing in the headers of CUDA 12.0.
    named_compute{static_cast<cublasComputeType_t>(check_detail::compute_32f_emulated_16bfx9),
                  "32F_EMULATED_16BFX9"},
    named_compute{static_cast<cublasComputeType_t>(check_detail::compute_64f_emulated_fixedpoint),
                  "64F_EMULATED_FIXEDPOINT"}};
constexpr std::span all_computes(computes);
constexpr auto usual_computes = all_computes.first(4), single = all_computes.subspan(1, 1);

/// E.g. "R_16F"
std::string short_name(cudaDataType type) {
  const std::string whole = check_detail::type_name(type), prefix = "CUDA_";
  return whole.starts_with(prefix) ? whole.substr(prefix.size()) : whole;
}

std::string text_of(const combination& each) {
  const element_types& types = each.types;
  const auto* const compute = std::find_if(computes.begin(), computes.end(),
                                           [&](const named_compute& x) { return x.type == types.compute; });
  const auto text = fmt::format("{} {} {} {} COMPUTE_{}", name_of(each.function), short_name(types.a),
                                short_name(types.b), short_name(types.c), compute->name);
  return each.function == entry::cublas_lt ? fmt::format("{} scalars {}", text, short_name(types.scalar))
                                           : text;
}

/// The type as which cublasGemmEx reads alpha and beta.
cudaDataType usual_scalar(cublasComputeType_t compute, cudaDataType c) {
  const bool is_complex = c == CUDA_C_32F || c == CUDA_C_64F;
  switch (check_detail::computing_of(compute)) {
    case check_detail::computing::half:
      return CUDA_R_16F;
    case check_detail::computing::integer:
      return CUDA_R_32I;
    case check_detail::computing::double_precision:
      return is_complex ? CUDA_C_64F : CUDA_R_64F;
    default:
      return is_complex ? CUDA_C_32F : CUDA_R_32F;
  }
}

combination with_usual_scalar(entry function, cudaDataType a, cudaDataType b, cudaDataType c,
                              cublasComputeType_t compute) {
  return {function, {a, b, c, compute, usual_scalar(compute, c)}};
}

/// Calls cuBLASLt twice: with the heuristic's first algorithm, and without one, so that cublasLtMatmul itself must refuse an unsupported
/// combination.
status_record multiply(const workbench& on, const combination& each) {
  checked_product work(turned_product(each.function, each.types));
  if (each.function != entry::cublas_lt) return record_of(work.by_gemm_ex(on.handle));
  lt_problem problem(work.described());
  const product_result chosen = work.by_lt(on.lt, on.workspace, on.workspace_bytes, &problem);
  if (chosen.waited != cudaSuccess) return record_of(chosen);
  product_with_facts seen{chosen};
  if (!work.c.guards_intact()) seen.facts["written_beyond"] = std::vector<std::string>{"C"};
  const product_result unchosen = work.by(
      [&] { return problem.multiply(on.lt, work.operands(), nullptr, on.workspace, on.workspace_bytes); });
  const status_record without = record_of(unchosen);
  if (without.numbers == numbers_found::unchecked)
    seen.facts["without_algorithm"] = without.status;
  else
    seen.facts["without_algorithm_numbers"] = name_of(without.numbers);
  return record_of(seen);
}

rows rows_of(const std::vector<combination>& combinations) {
  return rows_for(combinations, [](const combination& each) {
    return call_row(named_by_words(text_of(each)),
                    [each](const workbench& on) { return multiply(on, each); });
  });
}

constexpr std::array both_functions{entry::cublas, entry::cublas_lt};

// ---- tables of combinations ----

/// All combinations of these lists.
struct block {
  std::span<const cudaDataType> operands;
  bool mixed;                             ///< A unlike B too
  std::span<const cudaDataType> results;  ///< empty: that of A
  std::span<const named_compute> computes;
  std::span<const cudaDataType> scalars{};  ///< of cuBLASLt, which is told; empty: the usual one
};

// Small whole numbers are exact in all of these; FP8 as a result would round the sums.
constexpr std::array operand_types{CUDA_R_16F, CUDA_R_16BF,    CUDA_R_32F,     CUDA_R_64F,
                                   CUDA_R_8I,  CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_32I,
                                   CUDA_C_8I,  CUDA_C_32F,     CUDA_C_64F};
constexpr std::span all_operands(operand_types);
constexpr auto common = all_operands.first(5), with_fp8 = all_operands.first(7);
constexpr std::array result_types{CUDA_R_32F, CUDA_R_16BF, CUDA_R_16F, CUDA_R_64F,
                                  CUDA_R_32I, CUDA_R_8I,   CUDA_C_32F, CUDA_C_64F};
constexpr std::span all_results(result_types);
constexpr std::array scalar_types{CUDA_R_16F, CUDA_R_32F, CUDA_R_64F, CUDA_R_32I};

constexpr std::array usual_blocks{block{common, false, all_results.first(5), usual_computes},
                                  block{with_fp8, true, all_results.first(2), single}};
constexpr std::array every_block{block{all_operands, false, all_results, all_computes.first(5)},
                                 block{with_fp8, true, all_results.first(5), single},
                                 block{all_results, false, {}, all_computes},
                                 block{common, false, {}, usual_computes, scalar_types}};

/// False for emulation in an older library: how that reads the number does not concern types.
bool is_known(cublasComputeType_t compute) {
  constexpr std::size_t with_emulation = 130100;
  return compute < check_detail::compute_32f_emulated_16bfx9 || cublasLtGetVersion() >= with_emulation;
}

std::vector<combination> table(entry function, std::span<const block> blocks) {
  std::vector<combination> all;
  std::set<std::string> seen;
  const auto add = [&](const combination& each) {
    if (is_known(each.types.compute) && seen.insert(text_of(each)).second) all.push_back(each);
  };
  const auto add_all_scalars = [&](const block& of, const combination& usual) {
    if (of.scalars.empty()) return add(usual);
    for (const cudaDataType scalar : of.scalars) {
      combination other = usual;
      other.types.scalar = scalar;
      add(other);
    }
  };
  for (const block& of : blocks) {
    if (!of.scalars.empty() && function != entry::cublas_lt) continue;
    for (const cudaDataType a : of.operands) {
      const auto others = of.mixed ? of.operands : std::span(&a, 1);
      const auto results = of.results.empty() ? std::span(&a, 1) : of.results;
      for (const cudaDataType b : others)
        for (const cudaDataType c : results)
          for (const named_compute& compute : of.computes)
            add_all_scalars(of, with_usual_scalar(function, a, b, c, compute.type));
    }
  }
  return all;
}

/// True if the documented tables contain it.
bool is_documented(const combination& each) {
  const auto& [a, b, c, compute, scalar] = each.types;
  const int wanted = check_detail::scalar_for(each.function, compute, a, b, c);
  return wanted >= 0 && (each.function != entry::cublas_lt || wanted == scalar);
}

/// True if the tables have this type of A with this compute type and any result.
bool takes(cublasComputeType_t compute, cudaDataType a) {
  return std::any_of(std::begin(check_detail::supported), std::end(check_detail::supported),
                     [=](const check_detail::combination& each) {
                       return each.how == check_detail::computing_of(compute) && each.ab == a;
                     });
}

/// Why the tables lack this combination.
std::string mismatch_of(const combination& each) {
  const auto& [a, b, c, compute, scalar] = each.types;
  if (a != b) return "A unlike B";
  if (check_detail::is_fp8(a)) return "A and B of one FP8 type";
  if (!takes(compute, a)) return "operands that the compute type does not take";
  if (check_detail::scalar_for(each.function, compute, a, b, c) < 0)
    return "a result that there is not of these operands";
  return "scalars that do not go with the rest";
}

// ---- predictions ----

std::string predicted(const combination& each, int capability) {
  auto p = turned_product(each.function, each.types);
  p.compute_capability = capability;
  const auto problems = argument_check::check(p);
  const auto has = [&](argument_check::severity what) {
    return std::any_of(problems.begin(), problems.end(),
                       [&](const argument_check::problem& x) { return x.what == what; });
  };
  using argument_check::severity;
  return has(severity::refused)       ? "CUBLAS_STATUS_INVALID_VALUE"
         : has(severity::unsupported) ? "CUBLAS_STATUS_NOT_SUPPORTED"
         : has(severity::silent)      ? "WRONG_NUMBERS"
                                      : "RIGHT_NUMBERS";
}

/// Measures the number of failed calls by kind and outcome: "of no documented table, A unlike B: CUBLAS_STATUS_NOT_SUPPORTED".
void measure_failing(trial& t, std::string_view of,
                     const std::map<std::string, std::vector<std::string>>& kinds) {
  std::map<std::string, int> calls;
  for (const auto& [kind, came_to] : kinds)
    for (const std::string& each : came_to)
      if (each != "RIGHT_NUMBERS") ++calls[fmt::format("{}, {}: {}", of, kind, each)];
  for (const auto& [name, count] : calls) t.measure(name, count, "calls");
}

void every_combination(trial& t, entry function, std::span<const block> blocks) {
  const auto all = table(function, blocks);
  const auto came_to = observe_apart(t, rows_of(all));
  if (came_to.empty()) return;
  const int capability = t.compute_capability();
  std::map<std::string, std::vector<std::string>> outside;
  std::vector<std::string> mixed, missed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string expected = predicted(all[i], capability);
    if (!is_documented(all[i])) outside[mismatch_of(all[i])].push_back(came_to[i]);
    if (all[i].types.a != all[i].types.b) mixed.push_back(came_to[i]);
    if (expected != came_to[i])
      missed.push_back(fmt::format("foretold {}, came to {}: {}", expected, came_to[i], text_of(all[i])));
  }
  const auto times = [](const std::vector<std::string>& names, const char* name) {
    return std::count(names.begin(), names.end(), name);
  };
  t.measure("accepted with wrong numbers", static_cast<double>(times(came_to, "WRONG_NUMBERS")));
  t.measure("foretold rightly by argument_check", static_cast<double>(all.size() - missed.size()),
            fmt::format("of {}", all.size()));
  for (const std::string& each : missed) t.measure(each, 1);
  measure_failing(t, "of no documented table", outside);
  t.measure("combinations in which A and B differ", static_cast<double>(mixed.size()), "calls");
  t.measure("of these, with the right numbers", static_cast<double>(times(mixed, "RIGHT_NUMBERS")), "calls");
}

// ---- controls ----

/// A combination documented for years.
void control(trial& t) {
  const workbench on = new_workbench(t);
  const int capability = t.compute_capability();
  std::vector<element_types> documented{{CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_16F},
                                        {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
                                        {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
                                        {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I},
                                        {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
                                        {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F},
                                        {CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F, CUDA_C_32F},
                                        {CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F, CUDA_C_64F}};
  if (capability >= 80)
    documented.push_back({CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F});
  std::vector<combination> all;
  for (const entry function : both_functions)
    for (const element_types& types : documented) all.push_back({function, types});
  if (capability >= 89)
    all.push_back(
        {entry::cublas_lt, {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F}});
  observe_rows(on, rows_of(all));
}

// ---- numbers of types outside the tables ----

/// Operands are in single precision, and the call names another type.
struct mistyped_product {
  std::string text;
  argument_check::product told;
};

std::vector<mistyped_product> mistyped_products(entry function) {
  struct named {
    cudaDataType type;
    std::string name;
  };
  const auto none = [](int value) {
    return named{static_cast<cudaDataType>(value), fmt::format("of {}", value)};
  };
  // Reads as wider types exceed the operands, but stay within their guards.
  const named elsewhere[]{{CUDA_R_8U, "R_8U"},
                          {CUDA_R_16I, "R_16I"},
                          {CUDA_R_16U, "R_16U"},
                          {CUDA_R_32U, "R_32U"},
                          {CUDA_R_64I, "R_64I"},
                          {CUDA_R_64U, "R_64U"},
                          none(99),
                          none(-1)};
  const argument_check::product valid =
      turned_product(function, {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F});
  std::vector<mistyped_product> all;
  const auto add = [&](const std::string& what, const std::string& value, const auto& change) {
    mistyped_product one{fmt::format("{} {} {}", name_of(function), what, value), valid};
    change(one.told);
    all.push_back(std::move(one));
  };
  for (const auto& [type, name] : elsewhere) {
    add("Atype", name, [type = type](auto& p) { p.a.type = type; });
    add("Btype", name, [type = type](auto& p) { p.b.type = type; });
    add("Atype and Btype", name, [type = type](auto& p) { p.a.type = p.b.type = type; });
  }
  for (const int value : {99, -1}) {
    const auto& [type, name] = none(value);
    add("Ctype", name, [type = type](auto& p) { p.c.type = type; });
    if (function == entry::cublas_lt) add("scale type", name, [type = type](auto& p) { p.scalar = type; });
  }
  for (const int value : {99, -1, static_cast<int>(CUDA_R_32F)})  // the last is what old programs pass
    add("computeType", fmt::format("of {}", value),
        [=](auto& p) { p.compute = static_cast<cublasComputeType_t>(value); });
  return all;
}

/// Returns the first failing status.
cublasStatus_t tell(lt_problem& problem, const argument_check::product& told) {
  const auto of_layout = [](cublasLtMatrixLayout_t of, cudaDataType type) {
    return cublasLtMatrixLayoutSetAttribute(of, CUBLASLT_MATRIX_LAYOUT_TYPE, &type, sizeof type);
  };
  const cublasStatus_t each[]{
      of_layout(problem.a(), told.a.type), of_layout(problem.b(), told.b.type),
      of_layout(problem.c(), told.c.type),
      cublasLtMatmulDescSetAttribute(problem.operation(), CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &told.compute,
                                     sizeof told.compute),
      cublasLtMatmulDescSetAttribute(problem.operation(), CUBLASLT_MATMUL_DESC_SCALE_TYPE, &told.scalar,
                                     sizeof told.scalar)};
  const auto* const failed = std::find_if(std::begin(each), std::end(each),
                                          [](cublasStatus_t s) { return s != CUBLAS_STATUS_SUCCESS; });
  return failed == std::end(each) ? CUBLAS_STATUS_SUCCESS : *failed;
}

/// If it is accepted, right numbers mean that the named type was not used.
status_record multiply_as_told(const workbench& on, const mistyped_product& call) {
  checked_product work(turned_product(call.told.function,
                                      {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F}));
  product_result result;
  if (call.told.function == entry::cublas_lt) {
    lt_problem problem(work.described());
    if (const auto status = tell(problem, call.told); status != CUBLAS_STATUS_SUCCESS)
      return record_of(status).with("when_set", true);
    result = work.by_lt(on.lt, on.workspace, on.workspace_bytes, &problem);
  } else {
    auto told = call.told;
    told.a.data = work.a.data(), told.b.data = work.b.data();
    told.alpha = work.alpha(), told.beta = work.beta();
    result = work.by([&] { return gemm_ex(on.handle, told, work.c.data()); });
  }
  if (result.status != CUBLAS_STATUS_SUCCESS || result.waited != cudaSuccess) return record_of(result);
  status_record accepted = record_of(result);
  accepted.ok = false;
  if (result.right) return std::move(accepted).with("taken_as", std::string("R_32F"));
  return std::move(accepted).with(
      "written", work.c.written().empty() ? std::vector<std::string>{} : std::vector<std::string>{"C"});
}

rows rows_of_no_table() {
  return rows_for(both_functions, [](entry function) {
    return rows_for(mistyped_products(function), [](const mistyped_product& call) {
      return call_row(named_by_words(call.text),
                      [call](const workbench& on) { return multiply_as_told(on, call); });
    });
  });
}

// ---- weights of a model, and its input ----

std::vector<combination> integer_weights() {
  std::vector<combination> all;
  for (const entry function : both_functions)
    for (const cudaDataType weights : {CUDA_R_32I, CUDA_R_8I})
      all.push_back(with_usual_scalar(function, weights, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F));
  return all;
}

// ---- remedies ----

std::vector<combination> in(cudaDataType type, cublasComputeType_t compute) {
  std::vector<combination> all;
  for (const entry function : both_functions)
    all.push_back(with_usual_scalar(function, type, type, type, compute));
  return all;
}

/// Two types of operands, and a result of the wider one.
std::vector<combination> mixed() {
  std::vector<combination> all;
  for (const entry function : both_functions) {
    all.push_back(with_usual_scalar(function, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F));
    all.push_back(with_usual_scalar(function, CUDA_R_32F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F));
  }
  return all;
}

/// Combinations outside the tables: other operands with a result in single precision, and operands in single precision with other results.
std::vector<combination> around_single_precision() {
  std::vector<combination> outside;
  const auto add = [&](cudaDataType operands, cudaDataType result, cublasComputeType_t compute) {
    for (const entry function : both_functions) {
      const auto each = with_usual_scalar(function, operands, operands, result, compute);
      if (!is_documented(each)) outside.push_back(each);
    }
  };
  for (const named_compute& compute : computes) {
    const auto how = check_detail::computing_of(compute.type);
    const bool like_single =
        how == check_detail::computing::single || how == check_detail::computing::fast_single;
    if (!like_single || !is_known(compute.type)) continue;
    for (const cudaDataType type : operand_types) add(type, CUDA_R_32F, compute.type);
    for (const cudaDataType type : result_types)
      if (type != CUDA_R_32F) add(CUDA_R_32F, type, compute.type);
  }
  return outside;
}

void misread_then_converted(trial& t) {
  const auto outside = around_single_precision();
  const auto came_to = observe_apart(t, rows_of(outside));
  if (came_to.empty()) return;
  if (std::find(came_to.begin(), came_to.end(), "WRONG_NUMBERS") == came_to.end())
    throw not_provoked(fmt::format(
        "nothing was misread here, of {} combinations with single precision that the tables do not "
        "have: take a cuBLAS before 13.3 Update 1, whose release notes report it as fixed",
        outside.size()));
  t.apply("operands and result in single precision");
  const workbench on = new_workbench(t);
  for (const cublasComputeType_t compute : {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32})
    observe_rows(on, rows_of(in(CUDA_R_32F, compute)));
}

// ---- the case ----

failure_case type_combinations() {
  product_case c("types.combinations", "element types that do not go together", {"F-NS-07", "RN-09"});
  c.add("control", arm_kind::control, "combinations of the documented tables", control);

  const auto add = [&](const char* name, const char* summary, entry function, std::span<const block> blocks) {
    c.add(name, arm_kind::fault, summary, [=](trial& t) { every_combination(t, function, blocks); },
          {"S3-2", "S3-11"})
        .timeout = std::chrono::seconds(180);
  };
  add("gemm_ex", "common types by cublasGemmEx", entry::cublas, usual_blocks);
  add("lt", "common types by cublasLtMatmul", entry::cublas_lt, usual_blocks);
  add("gemm_ex_every", "every combination by cublasGemmEx", entry::cublas, every_block);
  add("lt_every", "every combination by cublasLtMatmul", entry::cublas_lt, every_block);
  c.fault_apart("no_table", "types that no table has, and numbers that name none", rows_of_no_table(),
                {"S3-2"})
      .timeout = std::chrono::seconds(120);
  const rows weights = rows_of(integer_weights()), in_single = rows_of(in(CUDA_R_32F, CUBLAS_COMPUTE_32F)),
             in_double = rows_of(in(CUDA_R_64F, CUBLAS_COMPUTE_64F));
  c.fault_apart("integer_weights", "weights of whole numbers, an input in single precision", weights,
                {"S3-2"});

  c.remedy_apart("wider_type", "two types, then both operands in the wider one", rows_of(mixed()),
                 "both operands in the wider of the two types", in_single + in_double);
  c.remedy_apart("weights_to_single", "weights of whole numbers, then in single precision", weights,
                 "weights and input in single precision", in_single);
  c.add("misread_then_converted", arm_kind::remedy,
        "combinations that are accepted and wrong, then all in single precision", misread_then_converted)
      .timeout = std::chrono::seconds(120);
  c.in_tier = {"control", "gemm_ex", "lt", "wider_type"};
  c.share_process_of({"control"});
  return c.done();
}

const register_case here{type_combinations()};

}  // namespace
}  // namespace cufault
