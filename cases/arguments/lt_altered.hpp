// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/arguments/lt_attributes.hpp"
#include "cases/arguments/lt_calls.hpp"
#include "harness/kit/argument_table.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// Rows of arguments/lt that make many calls: a product or a conversion with one changed value, from the first descriptor on.
namespace cufault::lt_arguments {

using argument_table::buffers;
using argument_table::depth;
using argument_table::role;
using argument_table::row;
using argument_table::row_maker;

/// A plan or a conversion with one change; without a change if `argument` is empty.
template <class P>
struct altered {
  std::string function, argument, change;
  role what = role::kept;
  bool wrong = false;
  P all{};
};

/// Adds `base` with each attribute set to its usual, valid value and to each other value. `settings_of` returns the lists of settings that
/// receive the value.
template <class P, class Settings>
void alter(std::vector<altered<P>>& rows, const P& base, const std::string& function, const std::string& of,
           const std::vector<attribute>& attributes, const Settings& settings_of) {
  for (const attribute& each : attributes) {
    const std::string argument = of + each.name;
    const auto with = [&](std::int64_t number) {
      P changed = base;
      for (std::vector<setting>* settings : settings_of(changed))
        settings->push_back({each.number, number, each.bytes});
      return changed;
    };
    rows.push_back({function + " " + argument + " as it is", "", "", role::kept, false, with(each.usual)});
    for (const value& other : each.others)
      rows.push_back({function, argument, other.words, each.what, other.wrong, with(other.number)});
  }
}

/// Matrices that change together. D changed alone contradicts C, which has the same memory.
struct target {
  const char* name;
  std::vector<std::size_t> which;
};
inline const target a_only{"A ", {0}}, b_only{"B ", {1}}, result{"C and D ", {2, 3}}, d_only{"D ", {3}};

template <class P>
auto settings_of(const std::vector<std::size_t>& which) {
  return [which](P& changed) {
    std::vector<std::vector<setting>*> all;
    for (const std::size_t i : which) all.push_back(&changed.matrices[i].set);
    return all;
  };
}

using altered_plans = std::vector<altered<plan>>;

/// The function that makes a layout: cublasLtMatrixLayoutCreate or cublasLtMatrixLayoutInit.
enum class layout_maker { create, init };

/// Adds a row for each invalid value of each argument of the function that makes the layouts `of`.
inline void add_invalid_layouts(altered_plans& rows, const plan& base, const target& of, layout_maker by) {
  const bool in_place = by == layout_maker::init;
  const auto add = [&](const char* argument, const char* change, role what, const auto& make) {
    altered<plan> row{.function = in_place ? "cublasLtMatrixLayoutInit" : "cublasLtMatrixLayoutCreate",
                      .argument = std::string(of.name) + argument,
                      .change = change,
                      .what = what,
                      .wrong = true,
                      .all = base};
    for (const std::size_t i : of.which) {
      row.all.matrices[i].in_place = in_place;
      make(row.all.matrices[i]);
    }
    rows.push_back(std::move(row));
  };
  for (const int number : {99, -1})
    add("type", number == 99 ? "of 99" : "of -1", role::enumeration,
        [=](matrix& x) { x.type = static_cast<cudaDataType>(number); });
  const auto add_extent = [&](const char* argument, std::int64_t matrix::*extent) {
    add(argument, "of 0", role::size, [=](matrix& x) { x.*extent = 0; });
    add(argument, "of -1", role::size, [=](matrix& x) { x.*extent = -1; });
    add(argument, "one too many", role::size, [=](matrix& x) { ++(x.*extent); });
  };
  add_extent("rows", &matrix::rows);
  add_extent("cols", &matrix::columns);
  add("ld", "one too small", role::leading_dimension, [](matrix& x) { x.leading_dimension = x.rows - 1; });
  add("ld", "of 0", role::leading_dimension, [](matrix& x) { x.leading_dimension = 0; });
  add("ld", "of -1", role::leading_dimension, [](matrix& x) { x.leading_dimension = -1; });
}

inline altered_plans created(const plan& base, const buffers& /*b*/) {
  altered_plans rows;
  for (const target& each : {a_only, b_only, result})
    add_invalid_layouts(rows, base, each, layout_maker::create);
  return rows;
}

inline altered_plans laid_out(const plan& base, const buffers& /*b*/) {
  altered_plans rows;
  for (const target& each : {a_only, b_only, result, d_only})
    alter(rows, base, "cublasLtMatrixLayoutSetAttribute", each.name,
          attributes_of(base.matrices[each.which.front()]), settings_of<plan>(each.which));
  return rows;
}

/// Layouts made in place; then empty products with consistent layouts, which are legal in cuBLAS and return at once.
inline altered_plans in_place_and_empty(const plan& base, const buffers& /*b*/) {
  altered_plans rows;
  add_invalid_layouts(rows, base, a_only, layout_maker::init);
  const auto empty = [&](const char* extent, const auto& make) {
    plan p = base;
    make(p.matrices);
    rows.push_back({"cublasLtMatrixLayoutCreate", std::string(extent) + " of all", "of 0", role::size, false,
                    std::move(p)});
  };
  empty("m", [](auto& x) { x[0].rows = x[2].rows = x[3].rows = 0; });
  empty("n", [](auto& x) { x[1].columns = x[2].columns = x[3].columns = 0; });
  empty("k", [](auto& x) { x[0].columns = x[1].rows = 0; });
  return rows;
}

inline altered_plans batches(const plan& base, const buffers& /*b*/) {
  altered_plans rows;
  const std::string function = "cublasLtMatrixLayoutSetAttribute";
  for (const target& each : {a_only, b_only, result, d_only})
    alter(rows, base, function, each.name, attributes_in_batch(each.which.back() == 3),
          settings_of<plan>(each.which));
  plan none = base;
  for (matrix& each : none.matrices)
    each.set.push_back({CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 0, sizeof(std::int32_t)});
  rows.push_back({function, "BATCH_COUNT of all", "of 0", role::count, false, std::move(none)});
  return rows;
}

inline altered_plans operations(const plan& base, const buffers& b) {
  altered_plans rows;
  alter(rows, base, "cublasLtMatmulDescSetAttribute", "", attributes_of_operation(b),
        [](plan& p) { return std::vector{&p.operation}; });
  const auto create = [&](const char* argument, const value& of, const auto& make) {
    altered<plan> row{"cublasLtMatmulDescCreate", argument, of.words, role::enumeration, of.wrong, base};
    make(row.all, of.number);
    rows.push_back(std::move(row));
  };
  for (const value& each : enumerators({{"CUBLAS_COMPUTE_16F", CUBLAS_COMPUTE_16F}}))
    create("computeType", each,
           [](plan& p, std::int64_t x) { p.compute = static_cast<cublasComputeType_t>(x); });
  for (const value& each : enumerators({{"CUDA_R_64F", CUDA_R_64F}}))
    create("scaleType", each, [](plan& p, std::int64_t x) { p.scale = static_cast<cudaDataType>(x); });
  return rows;
}

inline altered_plans biases(const plan& base, const buffers& b) {
  const auto* const at = b.device(1);
  std::vector<value> addresses{
      {"null", 0, true}, {"in host memory", address(b.host()), true}, {"freed", address(b.freed()), true}};
  for (const int by : {1, 2, 4, 8}) addresses.push_back({fmt::format("off by {}", by), address(at, by)});
  const std::vector<value> types{{"of 99", 99, true}, {"CUDA_R_16F", CUDA_R_16F}};
  altered_plans rows;
  alter(rows, base, "cublasLtMatmulDescSetAttribute", "",
        {{"BIAS_POINTER", CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8, address(at), role::input, addresses},
         {"BIAS_DATA_TYPE", CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 4, -1, role::enumeration, types}},
        [](plan& p) { return std::vector{&p.operation}; });
  return rows;
}

inline altered_plans preferences(const plan& base, const buffers& /*b*/) {
  altered_plans rows;
  alter(rows, base, "cublasLtMatmulPreferenceSetAttribute", "", attributes_of_preference(),
        [](plan& p) { return std::vector{&p.preference}; });
  return rows;
}

/// Which calls of a plan a row makes.
enum class by { all_calls, product_alone };

inline row_maker plans(plan (*base_of)(const buffers&), altered_plans (*changes)(const plan&, const buffers&),
                       by which) {
  return [=](cublasHandle_t /*handle*/, const buffers& b, depth /*how_deep*/) {
    const objects& on = objects_of(b);
    const plan base = base_of(b);
    const bool alone = which == by::product_alone;
    const std::shared_ptr<prepared> before = alone ? prepare(base, b) : nullptr;
    altered_plans changed = changes(base, b);
    // Rows with all calls already test usual values.
    if (alone) std::erase_if(changed, [](const auto& each) { return each.argument.empty(); });
    changed.insert(changed.begin(), {alone ? "cublasLtMatmulAlgoGetHeuristic" : "cublasLtMatmul", "", "",
                                     role::kept, false, base});
    std::vector<row> rows;
    for (altered<plan>& each : changed) {
      const std::string function = (alone ? "cublasLtMatmul after " : "") + each.function + base.base;
      auto beforehand = described(each.all);
      // An algorithm may need more alignment than the strides have, which argument_check does not know.
      if (alone && each.argument.ends_with("STRIDED_BATCH_OFFSET")) beforehand.reset();
      rows.push_back({function, each.argument, each.change,
                      [&on, before, p = std::move(each.all)] {
                        return carry_out(on, p, before ? &before->algorithm : nullptr);
                      },
                      each.what, each.wrong, beforehand});
    }
    return rows;
  };
}

inline std::vector<row> conversions(cublasHandle_t /*handle*/, const buffers& b, depth /*how_deep*/) {
  conversion base;
  base.matrices.fill({.rows = m, .columns = n});
  std::vector<altered<conversion>> changed{{"cublasLtMatrixTransform", "", "", role::kept, false, base}};
  alter(changed, base, "cublasLtMatrixTransformDescSetAttribute", "", attributes_of_conversion(),
        [](conversion& p) { return std::vector{&p.operation}; });
  for (const target& each : {a_only, target{"C ", {2}}})
    alter(changed, base, "cublasLtMatrixLayoutSetAttribute", each.name, attributes_of(base.matrices[0]),
          settings_of<conversion>(each.which));
  // Two billion conversions do not fail, but exceed a row's time.
  std::erase_if(changed,
                [](const auto& each) { return each.argument == "C BATCH_COUNT" && each.change == "huge"; });
  std::vector<row> rows;
  for (altered<conversion>& each : changed) {
    const bool first = rows.empty();
    rows.push_back({first ? each.function : "cublasLtMatrixTransform after " + each.function, each.argument,
                    each.change,
                    [&on = objects_of(b), &b, p = std::move(each.all)] { return carry_out(on, p, b); },
                    each.what, each.wrong});
  }
  return rows;
}

}  // namespace cufault::lt_arguments
