// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/cost.hpp"
#include "reports/model/results.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What follows from the samples of a cost record.
namespace cufault {

/// A median, and between which two of the samples, by rank, the median of what they are drawn from lies. No distribution is assumed.
struct median_estimate {
  double median = 0, low = 0, high = 0;
  double coverage =
      0;  ///< probability that the interval holds it; at least 0.95 where there are six samples or more
};
/// Of at least one number.
median_estimate median_of(std::vector<double> samples);
/// of[i] / by[i]. Precondition: as many of both.
std::vector<double> ratios(std::span<const double> of, std::span<const double> by);

enum class cost_verdict {
  measured,       ///< the time differs by more than the control does
  inside_noise,   ///< it may not: the interval of the ratio reaches into that of the control, or to 1
  few_rounds,     ///< fewer than six: no interval of 95 %
  wrong_numbers,  ///< the work with the remedy gave wrong numbers; what it costs does not matter
  failed          ///< it was not measured
};
std::string to_string(cost_verdict v);  ///< "inside the noise"

/// A remedy on one kind of work.
struct judged_cost {
  const cost_comparison* where = nullptr;
  const cost_side* what = nullptr;
  cost_verdict verdict = cost_verdict::failed;
  median_estimate milliseconds{}, without{};
  median_estimate ratio{};                   ///< time with the remedy by time without it, in the same round
  median_estimate control{};                 ///< time without it once more, likewise
  std::optional<std::int64_t> more_bytes{};  ///< device memory with the remedy, less that without it
  std::string why{};                         ///< where it was not measured
};
/// All remedies of a record, by comparison. Comparisons that failed are left out: they have no remedies. It points into the record.
std::vector<judged_cost> judged(const cost_record& r);

/// The control differs by more than chance and by more than a fiftieth: something else moved the times of this comparison.
bool is_unsteady(const median_estimate& control);

// ---- beside a verdict ----

/// A remedy on all work that it was measured on.
struct remedy_cost_summary {
  std::string remedy, words;
  std::size_t works = 0, inside_noise = 0, failed = 0, wrong = 0;
  std::optional<double> least{}, most{};              ///< ratio, of the works where it is outside the noise
  std::optional<double> least_added{}, most_added{};  ///< milliseconds a call, of the same works
  std::optional<std::int64_t> least_bytes{}, most_bytes{};
};
std::vector<remedy_cost_summary> summed_up(const std::vector<judged_cost>& all);

/// "costs 3.0 %; 64 MiB", "costs 1.0 % to 12 %", "saves 5.0 %", "adds 662 ms", "costs nothing outside the noise"; empty where nothing
/// was measured.
std::string cost_text(const remedy_cost_summary& s);
std::string time_text(double milliseconds);  ///< "12 us", "3.1 ms", "1.2 s"
std::string bytes_text(std::int64_t bytes);  ///< "64 MiB", "-2.5 GiB", "0"

/// By the label of a stack and the name of a remedy: cost_text().
using cost_notes = std::map<std::string, std::map<std::string, std::string>>;
cost_notes notes_of(std::span<const cost_record> records);
/// Empty where the remedy was not measured on the stack; an empty stack is any.
std::string note_of(const cost_notes& notes, const std::string& stack, const std::string& remedy);
/// Of "CASE/ARM" the remedy by whose name its cost is measured: "CASE/OPERATION.cold+retry" -> "retry"; what arms of documented cases
/// call otherwise is in a table: "memory.create_under_pressure/half_precision_lazy" -> "fp16_for_fp32".
std::string remedy_of_arm(std::string_view arm);
/// What the remedy of a judged arm costs on a stack, where it cleared its fault and that was measured; else empty.
std::string cost_beside(const cost_notes& notes, const std::string& stack, const case_result& c,
                        const arm_result& arm);

}  // namespace cufault
