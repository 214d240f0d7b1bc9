// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/cost.hpp"

#include "reports/judge/remedy_outcome.hpp"
#include "reports/model/record.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace cufault {
namespace {

constexpr double wanted_coverage = 0.95;

/// Probability that a fair coin shows heads at most `most` times in `n`.
double binomial_at_most(std::size_t most, std::size_t n) {
  double sum = 0;
  const auto all = static_cast<double>(n);
  for (std::size_t i = 0; i <= most; ++i) {
    const auto heads = static_cast<double>(i);
    sum += std::exp(std::lgamma(all + 1) - std::lgamma(heads + 1) - std::lgamma(all - heads + 1) -
                    all * std::log(2.0));
  }
  return sum;
}

cost_verdict verdict_of(const judged_cost& j) {
  if (!j.what->failed.empty()) return cost_verdict::failed;
  if (j.what->numbers == "wrong") return cost_verdict::wrong_numbers;
  if (j.ratio.coverage < wanted_coverage) return cost_verdict::few_rounds;
  // What the control moves by, without any remedy, and 1 as well.
  const double low = std::min(1.0, j.control.low), high = std::max(1.0, j.control.high);
  return j.ratio.low <= high && j.ratio.high >= low ? cost_verdict::inside_noise : cost_verdict::measured;
}

template <class T>
void widen(std::optional<T>& least, std::optional<T>& most, T value) {
  least = least ? std::min(*least, value) : value;
  most = most ? std::max(*most, value) : value;
}

std::string percent(double part) {
  const double p = part * 100;
  return std::abs(p) < 9.95 ? fmt::format("{:.1f} %", p) : fmt::format("{:.0f} %", p);
}

struct arm_remedy {
  const char *pattern, *remedy;
};
/// Arms of documented cases that apply a remedy whose cost is measured under another name; * is anything.
constexpr std::array arm_remedies{
    arm_remedy{"memory.*/half_precision_*", "fp16_for_fp32"},
    arm_remedy{"*+half_precision", "fp16_for_fp32"},
    arm_remedy{"memory.*/halve_and_retry_*", "batch_in_2"},
    arm_remedy{"memory.*/smaller_buffers_*", "batch_in_2"},
    arm_remedy{"*+in_parts", "batch_in_8"},
    arm_remedy{"*+checkpointing", "recompute"},
    arm_remedy{"memory.*/new_process_*", "new_process"},
    arm_remedy{"sticky.*/new_process_*", "new_process"},
    arm_remedy{"memory.pool_keeps_memory/trim", "trim_pool"},
    arm_remedy{"memory.*/workspace_0", "workspace_0_0"},
    arm_remedy{"memory.*/workspace_16", "workspace_16_8"},
    arm_remedy{"memory.*/workspace_4096", "workspace_4096_8"},
    arm_remedy{"numbers.shared_workspace/config_16_8", "workspace_16_8"},
    arm_remedy{"numbers.shared_workspace/config_4096_8", "workspace_4096_8"},
    arm_remedy{"*+no_workspace", "workspace_0_0"},
    arm_remedy{"capture.*/set_workspace", "own_workspace"},
    arm_remedy{"*/load_eagerly", "eager_loading"},
    arm_remedy{"*/load_lazily_eager", "lazy_loading"},
    arm_remedy{"handles.shared_stream_race/handle_each", "handle_for_each_thread"},
    arm_remedy{"numbers.shared_workspace/by_lt", "cublaslt"},
    arm_remedy{"numbers.reduced_precision/disallow", "full_precision_reduction"},
    arm_remedy{"numbers.tf32/pedantic_mode", "pedantic_math"},
    arm_remedy{"layout.shapes/checked_shapes", "argument_check"}};

/// Above it a ratio is told as a factor.
constexpr double told_as_factor = 3;

}  // namespace

median_estimate median_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  const std::size_t n = samples.size(), half = n / 2;
  median_estimate found;
  found.median = n % 2 != 0 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
  // The widest interval is from the least to the greatest; each rank that it gives up on both sides costs coverage.
  std::size_t rank = 0;
  while (rank + 1 < n - rank - 1 && 1 - 2 * binomial_at_most(rank + 1, n) >= wanted_coverage) ++rank;
  found.low = samples[rank];
  found.high = samples[n - 1 - rank];
  found.coverage = n < 2 ? 0 : 1 - 2 * binomial_at_most(rank, n);
  return found;
}

std::vector<double> ratios(std::span<const double> of, std::span<const double> by) {
  std::vector<double> found;
  for (std::size_t i = 0; i < of.size(); ++i) found.push_back(of[i] / by[i]);
  return found;
}

std::string to_string(cost_verdict v) {
  constexpr std::array names{"measured", "inside the noise", "too few rounds", "wrong numbers",
                             "not measured"};
  return names.at(static_cast<std::size_t>(v));
}

std::vector<judged_cost> judged(const cost_record& r) {
  std::vector<judged_cost> all;
  for (const cost_comparison& c : r.comparisons)
    for (const cost_side& s : c.with) {
      judged_cost j{.where = &c, .what = &s, .why = s.failed};
      j.without = median_of(c.without.milliseconds);
      j.control = median_of(ratios(c.again, c.without.milliseconds));
      if (s.failed.empty()) {
        j.milliseconds = median_of(s.milliseconds);
        j.ratio = median_of(ratios(s.milliseconds, c.without.milliseconds));
        if (s.device_bytes && c.without.device_bytes)
          j.more_bytes = *s.device_bytes - *c.without.device_bytes;
      }
      j.verdict = verdict_of(j);
      all.push_back(std::move(j));
    }
  return all;
}

bool is_unsteady(const median_estimate& control) {
  constexpr double bearable = 0.02;
  return control.coverage >= wanted_coverage && (control.low > 1 || control.high < 1) &&
         std::abs(control.median - 1) > bearable;
}

std::vector<remedy_cost_summary> summed_up(const std::vector<judged_cost>& all) {
  std::vector<remedy_cost_summary> found;
  for (const judged_cost& j : all) {
    auto at = std::ranges::find(found, j.what->remedy, &remedy_cost_summary::remedy);
    if (at == found.end()) at = found.insert(at, {.remedy = j.what->remedy, .words = j.what->words});
    if (j.verdict == cost_verdict::failed || j.verdict == cost_verdict::few_rounds) {
      ++at->failed;
      continue;
    }
    if (j.verdict == cost_verdict::wrong_numbers) {
      ++at->wrong;
      continue;
    }
    ++at->works;
    if (j.verdict == cost_verdict::inside_noise) {
      ++at->inside_noise;
    } else {
      widen(at->least, at->most, j.ratio.median);
      widen(at->least_added, at->most_added, j.milliseconds.median - j.without.median);
    }
    if (j.more_bytes) widen(at->least_bytes, at->most_bytes, *j.more_bytes);
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) { return a.remedy < b.remedy; });
  return found;
}

std::string time_text(double milliseconds) {
  const bool seconds = milliseconds >= 1000, microseconds = milliseconds < 1;
  const double number = milliseconds * (seconds ? 1e-3 : microseconds ? 1e3 : 1);
  return fmt::format("{:.{}f} {}", number, number < 9.95 ? 1 : 0, seconds ? "s" : microseconds ? "us" : "ms");
}

std::string bytes_text(std::int64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  if (bytes == 0) return "0";
  if (std::abs(mib) >= 1024) return fmt::format("{:.1f} GiB", mib / 1024);
  if (std::abs(mib) >= 1) return fmt::format("{:.0f} MiB", mib);
  if (std::abs(bytes) >= 1024) return fmt::format("{:.0f} KiB", mib * 1024);
  return fmt::format("{} bytes", bytes);
}

std::string cost_text(const remedy_cost_summary& s) {
  if (s.works == 0) return s.wrong > 0 ? "gave wrong numbers where its cost was measured" : std::string();
  std::string text;
  if (!s.most) {
    text = "costs nothing outside the noise";
  } else {
    // Where it is inside the noise on some work, that is one end of what it costs.
    const double least = s.inside_noise > 0 ? std::min(1.0, *s.least) : *s.least;
    const double most = s.inside_noise > 0 ? std::max(1.0, *s.most) : *s.most;
    const bool alone = percent(least - 1) == percent(most - 1);
    // So many times as long as one small product says little of other work.
    if (most >= told_as_factor)
      text = s.works == 1 ? fmt::format("adds {}", time_text(*s.most_added))
                          : fmt::format("adds up to {} to a call", time_text(*s.most_added));
    else if (most <= 1)
      text = alone ? "saves " + percent(1 - most)
                   : fmt::format("saves {} to {}", percent(1 - most), percent(1 - least));
    else
      text = alone ? "costs " + percent(most - 1)
                   : fmt::format("costs {} to {}", percent(least - 1), percent(most - 1));
  }
  if (s.most_bytes && (*s.least_bytes != 0 || *s.most_bytes != 0)) {
    const std::string low = bytes_text(*s.least_bytes), high = bytes_text(*s.most_bytes);
    text += low == high ? "; " + high : fmt::format("; {} to {}", low, high);
  }
  return text;
}

cost_notes notes_of(std::span<const cost_record> records) {
  cost_notes notes;
  for (const cost_record& r : records) {
    if (r.size == "tiny") continue;  // its figures mean nothing
    record of_stack;
    of_stack.stack = r.stack;
    for (const remedy_cost_summary& s : summed_up(judged(r)))
      if (const std::string text = cost_text(s); !text.empty()) notes[stack_label(of_stack)][s.remedy] = text;
  }
  return notes;
}

std::string note_of(const cost_notes& notes, const std::string& stack, const std::string& remedy) {
  for (const auto& [label, of_stack] : notes)
    if (stack.empty() || label == stack)
      if (const auto found = of_stack.find(remedy); found != of_stack.end()) return found->second;
  return {};
}

std::string remedy_of_arm(std::string_view arm) {
  const std::string name(arm);
  for (const arm_remedy& each : arm_remedies)
    if (fnmatch(each.pattern, name.c_str(), 0) == 0) return each.remedy;
  const auto behind = arm.find_last_of("+/");
  return std::string(behind == std::string_view::npos ? arm : arm.substr(behind + 1));
}

std::string cost_beside(const cost_notes& notes, const std::string& stack, const case_result& c,
                        const arm_result& arm) {
  if (arm.judged == verdict::unresolved) return {};
  const auto tried = remedy_outcome_of(c, arm);
  return tried && tried->cleared ? note_of(notes, stack, remedy_of_arm(join_key(c.name, arm.name)))
                                 : std::string();
}

}  // namespace cufault
