// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Results of the rows of a table of arguments, compared with the predictions of argument_check.
#include "harness/kit/argument_table.hpp"
#include "harness/trial/status_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace cufault::argument_table {
namespace {

bool undamaged(const row_end& end) {
  return end.returned && end.waited == cudaSuccess;
}

/// True if a described product did its work and nothing else.
bool did_exactly_its_work(const row_end& end) {
  const bool only_c = end.written == (end.due ? written_where::c : 0);
  return undamaged(end) && end.status == CUBLAS_STATUS_SUCCESS && only_c && !end.lost;
}

/// E.g. "CUBLAS_STATUS_SUCCESS, then cudaErrorIllegalAddress"
std::string text_of_end(const row_seen& seen) {
  if (!seen.end.returned || undamaged(seen.end)) return seen.status;
  return fmt::format("{}, then {}", seen.status, record_of(static_cast<cudaError_t>(seen.end.waited)).text());
}

/// As `role` lists them.
std::string_view word_for(role what) {
  constexpr std::string_view words[]{"handle or descriptor",
                                     "enumeration",
                                     "algorithm",
                                     "size",
                                     "count",
                                     "leading dimension",
                                     "stride",
                                     "stride",
                                     "increment",
                                     "increment",
                                     "increment",
                                     "element size",
                                     "number of bytes",
                                     "pointer to a scalar",
                                     "input",
                                     "output",
                                     "array of pointers",
                                     "array in host memory",
                                     "place for a result",
                                     "argument of another kind"};
  static_assert(std::size(words) == static_cast<std::size_t>(role::kept) + 1);
  return words[static_cast<std::size_t>(what)];
}

std::string_view word_for(prediction f) {
  constexpr std::string_view words[]{"not asked", "nothing", "caution", "silent", "unsupported", "refused"};
  return words[static_cast<int>(f)];
}

bool of_shapes_or_types(role what) {
  return what == role::size || what == role::count || what == role::leading_dimension ||
         what == role::stride || what == role::output_stride || what == role::enumeration;
}

}  // namespace

prediction forecast_of(const std::optional<argument_check::product>& described) {
  if (!described) return prediction::not_asked;
  auto gravest = prediction::nothing;
  constexpr prediction as_severity_lists_them[]{prediction::refused, prediction::unsupported,
                                                prediction::silent, prediction::caution};
  for (const argument_check::problem& each : argument_check::check(*described))
    gravest = std::max(gravest, as_severity_lists_them[static_cast<std::size_t>(each.what)]);
  return gravest;
}

std::optional<bool> predicted_correctly(const row_end& end) {
  const auto refused_with = [&](cublasStatus_t status) {
    return undamaged(end) && end.status == static_cast<int>(status);
  };
  switch (end.predicted) {
    case prediction::not_asked:
    case prediction::caution:
      return std::nullopt;
    case prediction::nothing:
      return did_exactly_its_work(end);
    case prediction::refused:
      return refused_with(CUBLAS_STATUS_INVALID_VALUE);
    case prediction::unsupported:
      return refused_with(CUBLAS_STATUS_NOT_SUPPORTED);
    case prediction::silent:
      return !undamaged(end) || (end.status == CUBLAS_STATUS_SUCCESS && !did_exactly_its_work(end));
  }
  return std::nullopt;
}

std::map<std::string, int> outcomes_by_kind(std::span<const row_seen> rows) {
  std::map<std::string, int> calls;
  for (const row_seen& each : rows)
    if (each.what.wrong) ++calls[fmt::format("{}: {}", word_for(each.what.what), text_of_end(each))];
  return calls;
}

std::map<std::string, found_count> found_beforehand(std::span<const row_seen> rows) {
  std::map<std::string, found_count> calls;
  for (const row_seen& each : rows) {
    if (each.end.predicted == prediction::not_asked || !of_shapes_or_types(each.what.what)) continue;
    found_count& of =
        calls[did_exactly_its_work(each.end) ? std::string{} : std::string{word_for(each.what.what)}];
    ++of.all;
    if (each.end.predicted > prediction::caution) ++of.found;
  }
  return calls;
}

namespace {

/// Measures the speed of rows and the number predicted by argument_check; names the others.
void measure_rows(trial& t, std::span<const row_seen> rows) {
  double healthy = 0, milliseconds = 0;
  std::vector<double> each_took;
  double asked = 0, rightly = 0, wrongly = 0;
  for (const row_seen& each : rows) {
    if (undamaged(each.end)) {
      ++healthy;
      milliseconds += each.end.milliseconds;
      each_took.push_back(each.end.milliseconds);
    }
    if (each.end.predicted == prediction::not_asked) continue;
    ++asked;
    const auto right = predicted_correctly(each.end);
    if (!right) continue;
    ++(*right ? rightly : wrongly);
    if (!*right)
      t.measure(fmt::format("foretold wrongly as {}: {}", word_for(each.end.predicted), each.what.text()), 1);
  }
  t.measure("rows", static_cast<double>(rows.size()));
  t.measure("rows that damaged nothing", healthy);
  if (milliseconds > 0) {
    t.measure("rows a second, of those that damaged nothing", 1000 * healthy / milliseconds);
    const auto middle = each_took.begin() + static_cast<std::ptrdiff_t>(each_took.size() / 2);
    std::nth_element(each_took.begin(), middle, each_took.end());
    t.measure("median milliseconds of those", *middle);
  }
  if (asked == 0) return;
  t.measure("rows described to argument_check", asked);
  t.measure("rows foretold rightly", rightly);
  t.measure("rows foretold wrongly", wrongly);
}

/// Measures what rules of claims count.
void measure_by_kind(trial& t, std::span<const row_seen> rows) {
  for (const auto& [kind, calls] : outcomes_by_kind(rows)) t.measure("wrong " + kind, calls, "calls");
  for (const auto& [kind, calls] : found_beforehand(rows)) {
    const std::string went = kind.empty() ? "went right" : "went wrong", of = kind.empty() ? "" : ": " + kind;
    t.measure(went + of, calls.all, "calls");
    t.measure(went + " and was found beforehand" + of, calls.found, "calls");
  }
}

}  // namespace

void measure(trial& t, std::span<const row_seen> rows) {
  measure_rows(t, rows);
  measure_by_kind(t, rows);
}

}  // namespace cufault::argument_table
