// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge.hpp"

#include "reports/json_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

namespace cufault {
namespace {

constexpr std::array verdicts{std::pair{verdict::ok, "OK"},
                              std::pair{verdict::reproduced, "REPRODUCED"},
                              std::pair{verdict::cleared, "CLEARED"},
                              std::pair{verdict::still_fails, "STILL_FAILS"},
                              std::pair{verdict::flaky, "FLAKY"},
                              std::pair{verdict::changed, "CHANGED"},
                              std::pair{verdict::gone, "GONE"},
                              std::pair{verdict::worsened, "WORSENED"},
                              std::pair{verdict::remedy_broken, "REMEDY_BROKEN"},
                              std::pair{verdict::uncharted, "UNCHARTED"},
                              std::pair{verdict::not_provoked, "NOT_PROVOKED"},
                              std::pair{verdict::unresolved, "UNRESOLVED"}};

/// A stated rate is given up only when chance would do as badly once in a thousand runs.
constexpr double least_tail = 0.001;

struct judgement {
  verdict v = verdict::unresolved;
  std::string why;
};

bool any_failed(const std::vector<signature>& plateaus) {
  return std::any_of(plateaus.begin(), plateaus.end(), failed);
}

int worst(const std::vector<signature>& plateaus) {
  int most = 0;
  for (const auto& s : plateaus) most = std::max(most, severity(s));
  return most;
}

bool any_applied(const std::vector<signature>& plateaus) {
  return std::any_of(plateaus.begin(), plateaus.end(), [](const signature& s) { return s.applied; });
}

/// What happened before the remedy, plateau by plateau.
std::vector<std::vector<step>> fault_parts(const std::vector<signature>& plateaus) {
  std::vector<std::vector<step>> parts;
  for (const auto& s : plateaus)
    if (parts.empty() || parts.back() != s.fault) parts.push_back(s.fault);
  return parts;
}

bool any_failing_step(const std::vector<std::vector<step>>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const auto& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const step& s) { return !is_success(s.status); });
  });
}

std::string rung_text(const observation& o) {
  return o.rung ? fmt::format("at rung {}: ", *o.rung) : std::string{};
}

std::string reason_of(const observation& o) {
  return rung_text(o) + (o.why.empty() ? std::string{"no reason was given"} : o.why);
}

std::string compared(const std::vector<signature>& expected, const std::vector<signature>& seen) {
  // Of a long list of calls, those that differ.
  if (expected.size() == 1 && seen.size() == 1 && expected[0].fault.size() + expected[0].after.size() > 8) {
    const auto steps = differing_steps(expected[0], seen[0]);
    constexpr std::size_t enough = 5;
    if (!steps.empty())
      return fmt::format(
          "{}{}",
          fmt::join(steps.begin(),
                    steps.begin() + static_cast<std::ptrdiff_t>(std::min(steps.size(), enough)), "; "),
          steps.size() > enough ? fmt::format("; and {} more", steps.size() - enough) : "");
  }
  return fmt::format("expected {}; seen {}", describe(expected), describe(seen));
}

/// Probability of a count at least as far out as `hits` among `trials`, twice the smaller tail.
double two_sided_tail(int hits, int trials, double rate) {
  double below = 0;
  double above = 0;
  for (int k = 0; k <= trials; ++k) {
    double p = 0;
    if (rate <= 0 || rate >= 1) {
      p = k == (rate <= 0 ? 0 : trials) ? 1 : 0;
    } else {
      const auto choose = std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) - std::lgamma(trials - k + 1.0);
      p = std::exp(choose + k * std::log(rate) + (trials - k) * std::log1p(-rate));
    }
    if (k <= hits) below += p;
    if (k >= hits) above += p;
  }
  return std::min(1.0, 2 * std::min(below, above));
}

judgement judge_rates(const std::vector<observation>& trials, const expectation& e) {
  std::vector<int> hits(e.signatures.size(), 0);
  std::optional<signature> stranger;  // the worst that the race does not explain
  int counted = 0;
  for (const auto& o : trials) {
    auto seen = signature_of(o);
    if (o.refined && severity(seen) < 2) continue;
    ++counted;
    const auto known = std::find(e.signatures.begin(), e.signatures.end(), seen);
    if (known != e.signatures.end())
      ++hits[static_cast<std::size_t>(known - e.signatures.begin())];
    else if (!stranger || severity(seen) > severity(*stranger))
      stranger = std::move(seen);
  }
  if (stranger)
    return {severity(*stranger) == 2 && worst(e.signatures) < 2 ? verdict::worsened : verdict::changed,
            compared(e.signatures, {*stranger})};
  std::string counts;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const auto rate = e.flaky->rates[i];
    const auto line = fmt::format("{} of {} trials where {:g} was stated: {}", hits[i], counted, rate,
                                  describe(e.signatures[i]));
    if (two_sided_tail(hits[i], counted, rate) < least_tail) return {verdict::changed, "rate moved: " + line};
    counts += (counts.empty() ? "" : " | ") + line;
  }
  return {verdict::flaky, fmt::format("{} ({})", counts, e.flaky->reason)};
}

judgement judge_as_expected(arm_kind kind, const std::vector<signature>& seen) {
  switch (kind) {
    case arm_kind::control:
      return {verdict::ok, {}};
    case arm_kind::fault:
      return {any_failed(seen) ? verdict::reproduced : verdict::ok, {}};
    case arm_kind::remedy:
    case arm_kind::dead_end:
      break;
  }
  return {any_failed(seen) ? verdict::still_fails : verdict::cleared, {}};
}

verdict judge_difference(arm_kind kind, const std::vector<signature>& expected,
                         const std::vector<signature>& seen) {
  if (worst(seen) == 2 && worst(expected) < 2) return verdict::worsened;
  if (kind == arm_kind::control) return verdict::changed;

  const bool failed_before = any_failed(expected);
  const bool fails_now = any_failed(seen);
  if (failed_before && !fails_now) return verdict::gone;
  if (kind == arm_kind::fault) return verdict::changed;

  // A remedy that is in place from the start (an environment variable, say) applies nothing on the way: all
  // its steps are the work that it ought to save, and there is no fault part to compare.
  const bool has_fault_part = any_applied(expected) || any_applied(seen);
  const auto expected_fault = has_fault_part ? fault_parts(expected) : decltype(fault_parts(expected)){};
  const auto seen_fault = has_fault_part ? fault_parts(seen) : decltype(fault_parts(seen)){};
  if (any_failing_step(expected_fault) && !any_failing_step(seen_fault)) return verdict::gone;
  if (kind == arm_kind::remedy && !failed_before && fails_now && expected_fault == seen_fault)
    return verdict::remedy_broken;
  return verdict::changed;
}

/// A remedy or dead end before which nothing failed.
bool nothing_to_clear(const arm_result& arm, const std::vector<signature>& seen) {
  if (arm.kind != arm_kind::remedy && arm.kind != arm_kind::dead_end) return false;
  return std::any_of(seen.begin(), seen.end(), [](const signature& s) {
    return s.applied && !s.fault.empty() && !any_failing_step({s.fault});
  });
}

judgement judgement_of(const arm_result& arm, const expectation* expected) {
  if (arm.trials.empty()) return {verdict::unresolved, "no trial was recorded"};
  for (const auto& o : arm.trials)
    if (o.ended == outcome::harness_failed) return {verdict::unresolved, "harness failed: " + reason_of(o)};
  for (const auto& o : arm.trials)
    if (ran_out_of_time(o)) return {verdict::unresolved, rung_text(o) + why_not_comparable(o)};
  for (const auto& o : arm.trials) {
    if (o.ended != outcome::not_provoked) continue;
    // What the other trials saw is not lost: a crash is a crash.
    if (expected != nullptr && worst(expected->signatures) < 2)
      for (const auto& other : arm.trials)
        if (comparable(other) && severity(signature_of(other)) == 2)
          return {verdict::worsened, compared(expected->signatures, {signature_of(other)})};
    return {verdict::not_provoked, reason_of(o)};
  }

  if (arm.kind == arm_kind::control)
    for (const auto& o : arm.trials)
      if (const auto s = signature_of(o); failed(s) || s.numbers == "wrong")
        return {verdict::unresolved, fmt::format("control failed: {}{}", rung_text(o), describe(s))};

  const auto seen = arm_signatures(arm);
  if (nothing_to_clear(arm, seen) && (expected == nullptr || seen == expected->signatures))
    return {verdict::not_provoked,
            "nothing failed before the remedy, so there was nothing to clear: " + describe(seen)};
  if (expected == nullptr) return {verdict::uncharted, "no expectation covers this stack"};
  if (expected->flaky) return judge_rates(arm.trials, *expected);
  if (seen == expected->signatures) return judge_as_expected(arm.kind, seen);
  return {judge_difference(arm.kind, expected->signatures, seen), compared(expected->signatures, seen)};
}

bool had_context(const arm_result& arm) {
  return std::any_of(arm.trials.begin(), arm.trials.end(),
                     [](const observation& o) { return o.context != "none"; });
}

bool failed_here(const case_result& c, const std::string& arm_name) {
  return std::any_of(c.arms.begin(), c.arms.end(), [&](const arm_result& arm) {
    return arm.name == arm_name &&
           std::any_of(arm.trials.begin(), arm.trials.end(),
                       [](const observation& o) { return comparable(o) && failed(signature_of(o)); });
  });
}

void not_provoked(arm_result& arm, std::string why) {
  arm.judged = verdict::not_provoked;
  arm.why = std::move(why);
}

}  // namespace

std::vector<counted_signature> distinct_signatures(const std::vector<observation>& trials) {
  std::vector<counted_signature> counted;
  for (const auto& o : trials) {
    auto s = signature_of(o);
    if (o.refined && severity(s) < 2) continue;
    const auto known =
        std::find_if(counted.begin(), counted.end(), [&](const auto& entry) { return entry.seen == s; });
    if (known == counted.end())
      counted.push_back({std::move(s), 1});
    else
      ++known->trials;
  }
  std::stable_sort(counted.begin(), counted.end(),
                   [](const auto& a, const auto& b) { return a.trials > b.trials; });
  return counted;
}

std::vector<signature> arm_signatures(const arm_result& arm) {
  if (arm.races.empty()) return signatures_of(arm.trials);
  std::vector<signature> each;
  for (auto& entry : distinct_signatures(arm.trials)) each.push_back(std::move(entry.seen));
  return each;
}

std::string describe(const arm_result& arm) {
  const auto counted = distinct_signatures(arm.trials);
  if (arm.races.empty() || counted.size() < 2) return describe(arm_signatures(arm));
  std::string text;
  for (const auto& entry : counted)
    text += fmt::format("{}{} of {}: {}", text.empty() ? "" : " | ", entry.trials, arm.trials.size(),
                        describe(entry.seen));
  return text;
}

bool as_expected(verdict v) {
  return v == verdict::ok || v == verdict::reproduced || v == verdict::cleared || v == verdict::still_fails ||
         v == verdict::flaky;
}

void judge(arm_result& arm, const expectation* expected) {
  auto [v, why] = judgement_of(arm, expected);
  arm.judged = v;
  arm.why = std::move(why);
  arm.covered = expected != nullptr;
  arm.expectation = expected == nullptr ? std::string{} : expected->source;
}

void judge(case_result& c, const expectation_set& expected, const stack_keys& stack) {
  for (auto& arm : c.arms) {
    judge(arm, expected.find(c.name, arm.name, stack));
    // A stack that lost its GPU does not know its own capability, and must not be let off for that.
    if (!arm.covered && arm.judged == verdict::not_provoked)
      arm.covered = expected.may_cover(c.name, arm.name, stack);
  }

  const auto absent = std::find_if(c.arms.begin(), c.arms.end(), [](const arm_result& arm) {
    return arm.kind == arm_kind::control && arm.judged == verdict::not_provoked;
  });
  for (auto& arm : c.arms) {
    if (arm.judged == verdict::unresolved || arm.judged == verdict::not_provoked) continue;
    if (absent != c.arms.end() && had_context(arm))
      not_provoked(arm, fmt::format("control {} could not run", absent->name));
    else if (!arm.against.empty() && !failed_here(c, arm.against))
      not_provoked(arm, fmt::format("{}, which it answers, did not fail in this run", arm.against));
  }

  const auto broken = std::find_if(c.arms.begin(), c.arms.end(), [](const arm_result& arm) {
    return arm.kind == arm_kind::control && arm.judged == verdict::unresolved;
  });
  if (broken == c.arms.end()) return;
  const auto why =
      fmt::format("control {} failed: without a working control a failure proves nothing", broken->name);
  for (auto& arm : c.arms) {
    if (arm.judged == verdict::unresolved) continue;  // it has a reason of its own
    arm.judged = verdict::unresolved;
    arm.why = why;
  }
}

int exit_code(std::span<const case_result> cases, run_mode mode, int not_provoked_budget) {
  int arms = 0;
  int not_provoked = 0;
  int missed = 0;  // not provoked although an expectation says that it can be
  bool any_unexpected = false;
  for (const auto& c : cases)
    for (const auto& arm : c.arms) {
      if (arm.judged == verdict::unresolved) return 2;
      ++arms;
      if (arm.judged == verdict::not_provoked) {
        ++not_provoked;
        missed += arm.covered ? 1 : 0;
      } else {
        any_unexpected = any_unexpected || !as_expected(arm.judged);
      }
    }
  if (arms == 0) return 2;
  if (mode == run_mode::gate && (any_unexpected || missed > not_provoked_budget)) return 1;
  return not_provoked == arms ? 77 : 0;
}

std::string to_string(verdict v) {
  for (const auto& [known, name] : verdicts)
    if (known == v) return name;
  return "unknown";
}

std::string to_string(run_mode m) {
  return m == run_mode::gate ? "gate" : "observe";
}

verdict verdict_from(const json_cursor& at) {
  const auto text = at.string();
  for (const auto& [known, name] : verdicts)
    if (text == name) return known;
  at.fail("no verdict of this name");
}

}  // namespace cufault
