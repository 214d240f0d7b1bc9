// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/benchmarks/samples.hpp"
#include "reports/judge/cost.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

/// Two sides that are measured in the same turns, compared turn by turn, and what their median says of a bar.
namespace cufault {

/// The median of what each turn says. Precondition: as many turns of both, and at least one.
template <class Compare>
double median_of_turns(const std::vector<double>& with, const std::vector<double>& bare, Compare compare) {
  std::vector<double> turns;
  for (std::size_t i = 0; i < with.size(); ++i) turns.push_back(compare(with[i], bare[i]));
  return median(turns);
}

enum class bar_verdict : std::uint8_t { within, beyond, not_shown };
inline std::string_view name_of(bar_verdict v) {
  return v == bar_verdict::within ? "within" : v == bar_verdict::beyond ? "BEYOND" : "NOT SHOWN";
}

inline constexpr double least_coverage = 0.95;

/// Whether the whole interval lies between the two, or none of it; else, and of an interval that covers less than 95 %, nothing is shown.
inline bar_verdict verdict_of(const median_estimate& found, double least, double most) {
  if (found.coverage < least_coverage) return bar_verdict::not_shown;
  if (found.high < least || found.low > most) return bar_verdict::beyond;
  return found.low >= least && found.high <= most ? bar_verdict::within : bar_verdict::not_shown;
}

/// Of the part of a rate that is kept, 1 for all of it. `control`: the same of two sides that are alike. Where these may differ by as much as
/// the bar allows, nothing is shown.
inline bar_verdict verdict_of_rate(const median_estimate& kept, const median_estimate& control, double bar) {
  if (verdict_of(control, bar, 1 / bar) != bar_verdict::within) return bar_verdict::not_shown;
  return verdict_of(kept, bar, std::numeric_limits<double>::infinity());
}

}  // namespace cufault
