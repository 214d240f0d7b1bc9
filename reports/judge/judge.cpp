// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/judge.hpp"

#include "reports/base/json_input.hpp"
#include "reports/judge/chance.hpp"
#include "reports/judge/remedy_outcome.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace cufault {
namespace {

using plateaus = std::vector<plateau>;

bool any_failed(const plateaus& all) {
  return std::ranges::any_of(all, [](const plateau& p) { return failed(p.seen); });
}

bool wrote_outside(const signature& s) {
  for (const auto* steps : {&s.fault, &s.after})
    for (const step& each : *steps) {
      const auto written = each.facts.find("written");
      const auto* const where =
          written == each.facts.end() ? nullptr : std::get_if<std::vector<std::string>>(&written->second);
      if (each.facts.contains("written_beyond") || each.facts.contains("elements_written_behind_c") ||
          (where != nullptr && std::ranges::find(*where, "outside") != where->end()))
        return true;
    }
  return false;
}

loss loss_by(const signature& s) {
  if (s.numbers == "wrong") return loss::wrong_numbers;
  if (wrote_outside(s)) return loss::memory_written;
  if (s.outcome.starts_with("crashed")) return loss::crash;
  if (severity(s) == 2) return s.context == "damaged" ? loss::context : loss::hang;
  return severity(s) == 1 ? loss::status : loss::value;
}

loss worst(const plateaus& all) {
  loss most = loss::value;
  for (const auto& p : all) most = std::min(most, loss_by(p.seen));
  return most;
}

/// From what a program sees and survives to what it does not, or to what nobody sees.
bool worsens(loss before, loss now) {
  return now < before && now <= loss::context && (before > loss::context || now <= loss::memory_written);
}

bool any_applied(const plateaus& all) {
  return std::ranges::any_of(all, [](const plateau& p) { return p.seen.applied; });
}

/// What happened before the remedy, plateau by plateau.
std::vector<std::vector<step>> fault_parts(const plateaus& all) {
  std::vector<std::vector<step>> parts;
  for (const auto& p : all)
    if (parts.empty() || parts.back() != p.seen.fault) parts.push_back(p.seen.fault);
  return parts;
}

bool any_failing_step(const std::vector<std::vector<step>>& parts) {
  return std::ranges::any_of(parts, [](const auto& steps) {
    return std::ranges::any_of(steps, [](const step& s) { return !s.ok; });
  });
}

std::string level_text(const observation& o) {
  return o.level ? fmt::format("at level {}: ", *o.level) : std::string{};
}

std::string reason_of(const observation& o) {
  return level_text(o) + (o.why.empty() ? std::string{"no reason was given"} : o.why);
}

/// The values of measurements by name, of those that are compared.
std::map<std::string, std::pair<double, double>> ranges_of(const std::vector<observation>& trials,
                                                           const char* names) {
  std::map<std::string, std::pair<double, double>> ranges;
  for (const auto& o : trials)
    for (const auto& m : o.measurements) {
      if (fnmatch(names, m.name.c_str(), 0) != 0) continue;
      auto& [least, greatest] = ranges.try_emplace(m.name, m.value, m.value).first->second;
      least = std::min(least, m.value);
      greatest = std::max(greatest, m.value);
    }
  return ranges;
}

std::string range_text(const std::pair<double, double>& range) {
  return range.first == range.second ? fmt::format("{:.10g}", range.first)
                                     : fmt::format("{:.10g} to {:.10g}", range.first, range.second);
}

/// Behind what was seen: in how many trials of an arm that has no rate.
template <class Count>
std::string in_trials(Count trials, Count of) {
  return of == 1 ? "; 1 trial" : fmt::format("; {} of {} trials", trials, of);
}

/// How measurements that are compared are out of their band; empty where none is. `noted`: further ones that are no difference.
std::string out_of_band(const std::vector<observation>& before, const std::vector<observation>& now,
                        std::string& noted) {
  for (const auto& c : compared_measurements()) {
    const auto was = ranges_of(before, c.names), is = ranges_of(now, c.names);
    for (const auto& [name, range] : is) {
      if (was.contains(name)) continue;
      std::string text = fmt::format("{}: not measured → {}", name, range_text(range));
      if (!c.more_is_noted) return text;
      noted += (noted.empty() ? "" : "; ") + text;
    }
    for (const auto& [name, range] : was) {
      const auto there = is.find(name);
      if (there == is.end()) return fmt::format("{}: {} → not measured", name, range_text(range));
      const double from = range.first - std::abs(range.first) * c.band - c.slack,
                   to = range.second + std::abs(range.second) * c.band + c.slack;
      if (there->second.first < from || there->second.second > to)
        return fmt::format("{}: {} → {}{}", name, range_text(range), range_text(there->second),
                           c.band + c.slack > 0 ? fmt::format(" (band {:.10g} to {:.10g})", from, to) : "");
    }
  }
  return {};
}

verdict judge_as_expected(arm_kind kind, const plateaus& seen) {
  switch (kind) {
    case arm_kind::control:
      return verdict::ok;
    case arm_kind::fault:
      return any_failed(seen) ? verdict::reproduced : verdict::ok;
    case arm_kind::diagnosis:
      return any_failed(seen) ? verdict::diagnosed : verdict::ok;
    case arm_kind::remedy:
    case arm_kind::dead_end:
      break;
  }
  return any_failed(seen) ? verdict::still_fails : verdict::cleared;
}

verdict judge_difference(arm_kind kind, const plateaus& expected, const plateaus& seen) {
  if (worsens(worst(expected), worst(seen))) return verdict::worsened;
  if (kind == arm_kind::control) return verdict::changed;

  const bool failed_before = any_failed(expected);
  const bool fails_now = any_failed(seen);
  if (failed_before && !fails_now) return verdict::gone;
  if (kind == arm_kind::fault || kind == arm_kind::diagnosis) return verdict::changed;

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

bool is_treatment(const arm_result& arm) {
  return arm.kind == arm_kind::remedy || arm.kind == arm_kind::dead_end;
}

/// Whether the process ended before the remedy or dead end was applied: what it would have done is not known.
bool was_not_reached(const arm_result& arm) {
  if (!is_treatment(arm)) return false;
  return arm.against.empty() && std::ranges::all_of(arm.trials, [](const observation& o) {
           return o.applied.empty() && (o.ended == outcome::crashed || o.ended == outcome::timed_out);
         });
}

/// A remedy or dead end with which, or before which, the operation could not be prepared: it was not made.
bool was_not_prepared(const arm_result& arm, const plateaus& seen) {
  const auto failed_preparation = [](const step& s) {
    return s.name == step_name{"check.preparation"} && !s.ok;
  };
  return (is_treatment(arm) || arm.kind == arm_kind::diagnosis) &&
         std::ranges::all_of(seen, [&](const plateau& p) {
           const auto& counts = p.seen.applied ? p.seen.after : p.seen.fault;
           return p.seen.outcome == "completed" && std::ranges::any_of(counts, failed_preparation);
         });
}

/// A remedy or dead end before which nothing failed.
bool nothing_to_clear(const arm_result& arm, const plateaus& seen) {
  if (!is_treatment(arm)) return false;
  return std::ranges::any_of(seen, [](const plateau& p) {
    return p.seen.applied && !p.seen.fault.empty() && !any_failing_step({p.seen.fault});
  });
}

judgement judgement_without_notes(const arm_result& arm, const expectation* expected, std::string& noted) {
  if (arm.trials.empty()) return {verdict::unresolved, "no trial was recorded"};
  for (const auto& o : arm.trials)
    if (o.ended == outcome::harness_failed) return {verdict::unresolved, "harness failed: " + reason_of(o)};
  for (const auto& o : arm.trials)
    if (ran_out_of_time(o)) return {verdict::unresolved, level_text(o) + why_not_comparable(o)};
  for (const auto& o : arm.trials) {
    if (o.ended != outcome::not_provoked) continue;
    // What the other trials saw is not lost: a crash is a crash.
    if (expected != nullptr)
      for (const auto& other : arm.trials)
        if (comparable(other) && worsens(worst(expected->seen), loss_by(signature_of(other))))
          return {verdict::worsened, disagreement(expected->seen, {{.seen = signature_of(other)}})};
    return {verdict::not_provoked, reason_of(o)};
  }

  if (arm.kind == arm_kind::control)
    for (const auto& o : arm.trials)
      if (const auto s = signature_of(o); failed(s) || s.numbers == "wrong")
        return {verdict::unresolved, fmt::format("control failed: {}{}", level_text(o), describe(s))};

  const auto seen =
      expected != nullptr && expected->counts.empty() ? plateaus_of(arm.trials) : arm_plateaus(arm);
  std::string differs = expected == nullptr ? std::string() : disagreement(expected->seen, seen);
  const bool same = differs.empty();
  if (same) {
    if (nothing_to_clear(arm, seen))
      return {verdict::not_provoked,
              "nothing failed before the remedy, so there was nothing to clear: " + describe(seen)};
    if (was_not_prepared(arm, seen))
      return {verdict::not_provoked, "the operation could not be prepared, so that it was not made"};
    if (was_not_reached(arm))
      return {verdict::not_provoked, "the process ended before the remedy was applied: " + describe(seen)};
  }
  if (expected == nullptr) return {verdict::unrecorded, "no recorded stack has it"};
  judgement judged{verdict::changed, std::move(differs)};
  if (!expected->counts.empty())
    judged = judge_rates(arm, distinct_signatures(arm.trials), *expected, least_tail);
  else
    judged.v = same ? judge_as_expected(arm.kind, seen) : judge_difference(arm.kind, expected->seen, seen);
  if (!as_expected(judged.v)) return judged;
  if (auto out = out_of_band(expected->shown->trials, arm.trials, noted); !out.empty()) {
    std::size_t trials = 0;  // that are out of it by themselves
    std::string how, not_noted;
    for (const observation& o : arm.trials)
      if (auto one = out_of_band(expected->shown->trials, {o}, not_noted); !one.empty())
        ++trials, how = std::move(one);
    if (!arm.races.empty() || !takes_further_trials(arm) || trials == 0 || trials == arm.trials.size())
      return {verdict::changed, std::move(out)};
    judged = {verdict::flaky, how + in_trials(trials, arm.trials.size())};
  }
  // Who reads no more than the summary is to learn that an arm begins to flake.
  if (judged.v == verdict::flaky && expected->shown->races.empty() &&
      (arm.races.empty() || arm.races == trials_differed))
    noted = judged.why;
  if (const auto facts = noted_difference(expected->shown->trials, arm.trials); !facts.empty())
    noted += (noted.empty() ? "" : "; ") + facts;
  return judged;
}

bool had_context(const arm_result& arm) {
  return std::ranges::any_of(arm.trials, [](const observation& o) { return o.context != "none"; });
}

bool failed_here(const case_result& c, const std::string& arm_name) {
  return std::ranges::any_of(c.arms, [&](const arm_result& arm) {
    return arm.name == arm_name && count_failures(arm.trials).failing > 0;
  });
}

void not_provoked(arm_result& arm, std::string why) {
  arm.judged = verdict::not_provoked;
  arm.why = std::move(why);
}

/// The first call that failed in any trial, the one in which a process ended included; nullptr: none did.
const step* first_failing(const arm_result& arm) {
  for (const observation& o : arm.trials)
    for (const call_record& call : o.calls)
      if (!call.what.ok) return &call.what;
  return nullptr;
}

/// What the arm names is known without it.
bool names_the_same_call(const case_result& c, const arm_result& diagnosis) {
  const auto without = std::ranges::find(c.arms, diagnosis.against, &arm_result::name);
  const step* const named = first_failing(diagnosis);
  const step* const known = without == c.arms.end() ? nullptr : first_failing(*without);
  return named != nullptr && known != nullptr && named->name == known->name;
}

}  // namespace

std::span<const compared_measurement> compared_measurements() {
  // Exact: what the library decides. Device memory is taken in pieces of 2 MiB, of which a measurement may see one more or less.
  constexpr double piece = 2 << 20;
  static constexpr std::array all{
      compared_measurement{"device memory per handle*", 0.02, piece},
      compared_measurement{"device memory taken by a further *", 0.02, piece},
      compared_measurement{"device memory taken by 16 streams of one handle*", 0.02, piece},
      compared_measurement{"device memory taken by the query", 0.02, piece},
      compared_measurement{"device memory taken by the first query", 0.02, piece},
      compared_measurement{"device memory taken by 999 further queries", 0.02, piece},
      compared_measurement{"device memory taken by the first cublasCreate, *", 0.02, piece},
      compared_measurement{"device memory of a *", 0.02, piece},
      compared_measurement{"device memory not given back by cublasDestroy", 0, piece},
      compared_measurement{"taken by graphs in the caller's workspace", 0, piece},
      compared_measurement{"bytes that the allocation nodes ask for", 0, 0},
      compared_measurement{"memory * nodes", 0, 0},
      compared_measurement{"workspace of the first algorithm*", 0, 0},
      compared_measurement{"workspace that the first algorithm wants", 0, 0},
      compared_measurement{"workspace wanted with*", 0, 0},
      compared_measurement{"workspace that the product wrote to", 0, 0},
      compared_measurement{"workspaces allocated, *", 0, 0},
      compared_measurement{"queries answered, *", 0, 0},
      compared_measurement{"algorithms found*", 0, 0},
      compared_measurement{"cuBLASLt calls in a *", 0, 0},
      compared_measurement{"libcublas* asks for *", 0, 0, true},
      compared_measurement{"combinations in which A and B differ", 0, 0},
      compared_measurement{"of these, with the right numbers", 0, 0},
      compared_measurement{"handle is null after cublasCreate", 0, 0},
      compared_measurement{"main had begun", 0, 0},
      compared_measurement{"versions that differ from those with the right pair", 0, 0},
      compared_measurement{"torch.cuda.cublas_gemm exists", 0, 0},
      compared_measurement{"peak memory over the result, *", 0.25, 0},
      compared_measurement{"error over one rounding, *", 0.5, 0},
  };
  return all;
}

judgement judge_rates(const arm_result& arm, const std::vector<counted_signature>& now,
                      const expectation& before, double least) {
  struct pair {
    const signature* seen;
    int was = 0, is = 0;
  };
  std::vector<pair> all;
  for (std::size_t i = 0; i < before.seen.size(); ++i)
    all.push_back({&before.seen[i].seen, before.counts[i]});
  for (const counted_signature& s : now) {
    const auto known = std::ranges::find_if(all, [&](const pair& p) { return *p.seen == s.seen; });
    (known == all.end() ? all.emplace_back(pair{&s.seen}) : *known).is = s.trials;
  }
  int trials_before = 0, trials_now = 0;
  for (const pair& p : all) trials_before += p.was, trials_now += p.is;
  plateaus seen;
  for (const counted_signature& s : now) seen.push_back({.seen = s.seen});
  const auto frequent = [&](int pair::*of) {
    return std::ranges::max_element(all, [&](const pair& a, const pair& b) { return a.*of < b.*of; });
  };
  const auto was = frequent(&pair::was), is = frequent(&pair::is);
  if (std::ranges::none_of(all, [](const pair& p) { return p.was > 0 && p.is > 0; })) {
    const std::string trials =
        arm.races == trials_differed ? fmt::format("; 0 of {} trials as recorded", trials_now) : "";
    return {judge_difference(arm.kind, before.seen, seen), difference(*was->seen, *is->seen) + trials};
  }
  if (all.size() == 1) return {judge_as_expected(arm.kind, before.seen)};
  std::string reason = arm.races;
  if ((reason.empty() || reason == trials_differed) && before.shown != nullptr &&
      !before.shown->races.empty())
    reason = before.shown->races;
  const bool declared = reason != trials_differed;
  // What one trial proves, however many others came out otherwise: no busy machine makes it. A hang, a status and a damaged context may come
  // from outside.
  const auto proves = [&](loss by) {
    return declared ? worsens(worst(before.seen), by) : by <= loss::crash && by < worst(before.seen);
  };
  const auto in_some = [&](const pair& p) { return declared ? std::string() : in_trials(p.is, trials_now); };
  for (const pair& p : all)
    if (p.was == 0 && proves(loss_by(*p.seen)))
      return {verdict::worsened, difference(*was->seen, *p.seen) + in_some(p)};
  const auto text = [&](const pair& p) {
    return fmt::format("{}: {} of {} → {} of {} trials", shortened(describe(*p.seen)), p.was, trials_before,
                       p.is, trials_now);
  };
  for (const pair& p : all)
    if (!arm.rate_depends_on_load && chance_of_difference(p.is, trials_now, p.was, trials_before) < least)
      return {verdict::changed, "rate moved: " + text(p)};
  const auto further = std::ranges::max_element(
      all, [](const pair& a, const pair& b) { return (a.was == 0 ? a.is : 0) < (b.was == 0 ? b.is : 0); });
  if (!declared && further->was == 0)
    return {verdict::flaky, difference(*was->seen, *further->seen) + in_some(*further)};
  const std::string recorded = before.shown == nullptr ? std::string() : latest_run(*before.shown);
  return {verdict::flaky, fmt::format("{} ({}{})", text(*is), reason,
                                      recorded.empty() ? "" : "; recorded " + recorded.substr(0, 10))};
}

judgement judgement_of(const arm_result& arm, const expectation* before) {
  std::string noted;
  std::optional<expectation> sample;  // trials that differ are one, and so are those that were recorded
  if (before != nullptr && before->counts.empty() && !arm.races.empty())
    before = &sample.emplace(expectation_of(*before->shown, true));
  judgement judged = judgement_without_notes(arm, before, noted);
  if (as_expected(judged.v)) judged.noted = std::move(noted);
  if (before == nullptr || !is_change(judged.v)) return judged;
  plateaus fresh;
  for (const observation& o : arm.trials)
    if (const auto is_same = [&](const plateau& p) { return p.seen == signature_of(o); };
        comparable(o) && std::ranges::none_of(before->seen, is_same))
      fresh.push_back({.seen = signature_of(o)});
  judged.lost = worst(fresh);
  if (judged.lost >= worst(before->seen))
    judged.lost = std::max(judged.lost, loss::status);  // lost before, too
  if (!arm.undefined && !before->shown->undefined) return judged;
  judged.lost = loss::undefined_behaviour;
  if (judged.v != verdict::gone) judged.v = verdict::changed;
  judged.why += "; undefined behaviour";
  return judged;
}

bool is_change(verdict v) {
  return v == verdict::changed || v == verdict::gone || v == verdict::worsened || v == verdict::remedy_broken;
}

bool control_failed(const case_result& c) {
  return std::ranges::any_of(c.arms, [](const arm_result& arm) {
    return arm.kind == arm_kind::control && judgement_of(arm, nullptr).v == verdict::unresolved;
  });
}

void judge_by(arm_result& arm, const expectation* expected) {
  auto [v, why, noted, lost] = judgement_of(arm, expected);
  arm.judged = v;
  arm.lost = lost;
  arm.why = std::move(why);
  arm.noted = std::move(noted);
  // What is expected to show nothing of the remedy has not been missed.
  arm.covered = expected != nullptr && (v != verdict::not_provoked || !observed(arm));
  arm.expectation = expected == nullptr ? std::string{} : expected->shown->source;
  arm.compared_with = expected == nullptr ? std::string{} : expected->stack;
}

namespace {

/// From stacks that are not this one. What the arm came to by itself is in arm.judged.
void predict(arm_result& arm, const std::vector<expectation>& from) {
  std::vector<judgement> each;
  for (const expectation& e : from) each.push_back(judgement_of(arm, &e));
  const auto agrees = [](const judgement& j) { return as_expected(j.v); };
  const auto as = std::ranges::find_if(each, agrees);
  const auto stack_of = [&](auto at) { return from[static_cast<std::size_t>(at - each.begin())].stack; };
  arm.judged = as == each.end() ? verdict::differs : verdict::as_predicted;
  arm.compared_with = stack_of(as == each.end() ? each.begin() : as);
  if (as == each.end()) {
    arm.why = fmt::format("on {}: {}", from[0].stack, each[0].why);
    if (from.size() > 1) arm.why += fmt::format("; nor as on {}", from[1].stack);
    return;
  }
  arm.why = fmt::format("{}, as on {}", to_string(as->v), stack_of(as));
  arm.noted = as->noted;
  if (from.size() < 2) return;
  const auto other = as == each.begin() ? each.begin() + 1 : each.begin();
  arm.why += agrees(*other) ? fmt::format(" and on {}", stack_of(other))
                            : fmt::format(", and not as on {}: the change lies between", stack_of(other));
}

}  // namespace

void judge(arm_result& arm, const reference* known) {
  const bool here = known != nullptr && known->distance == 0 && !known->undefined;
  judge_by(arm, here ? &known->from.front() : nullptr);
  if (is_change(arm.judged) && arm.races.empty() && observed(arm) && takes_further_trials(arm))
    arm.why += in_trials(arm.trials.size(), arm.trials.size());
  if (arm.judged != verdict::unrecorded || known == nullptr) return;
  if (!known->undefined) return predict(arm, known->from);
  arm.judged = verdict::undefined;
  if (known->distance == 0) arm.compared_with = "this stack";  // else it is known of another one
  arm.why = "it was recorded, and nothing is expected of it: nothing is compared";
}

void judge(case_result& c, const baselines& recorded, const stack_keys& stack) {
  for (auto& arm : c.arms) judge(arm, recorded.find(c.name, arm.name, stack));

  const auto absent = std::ranges::find_if(c.arms, [](const arm_result& arm) {
    return arm.kind == arm_kind::control && arm.judged == verdict::not_provoked;
  });
  for (auto& arm : c.arms) {
    if (arm.judged == verdict::unresolved || arm.judged == verdict::not_provoked) continue;
    if (absent != c.arms.end() && had_context(arm))
      not_provoked(arm, fmt::format("control {} could not run", absent->name));
    else if (!arm.against.empty() && !failed_here(c, arm.against)) {
      arm.covered = false;  // what is missed then is the failure that it answers
      not_provoked(arm, fmt::format("{}, which it answers, did not fail in this run", arm.against));
    } else if (auto why = why_it_shows_nothing(c.name, arm);
               !why.empty() && (arm.expectation.empty() || as_expected(arm.judged))) {
      arm.covered = false;
      not_provoked(arm, std::move(why));
    } else if (arm.judged == verdict::diagnosed && names_the_same_call(c, arm)) {
      arm.judged = verdict::still_fails;
      arm.why = "the same call fails without it";
    }
  }

  const auto broken = std::ranges::find_if(c.arms, [](const arm_result& arm) {
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

std::string why_no_gpu(const arm_result& arm) {
  const bool alone = arm.trials.size() == 1 && arm.trials[0].ended == outcome::not_provoked;
  return alone && arm.trials[0].why.starts_with("no GPU: ") ? arm.trials[0].why : std::string();
}

namespace {

/// Whether it did not run because the machine lacks a GPU, a file of NVIDIA's that packages may not have, or libraries whose versions differ.
bool lacks_machine(const arm_result& arm) {
  if (!why_no_gpu(arm).empty()) return true;
  const std::string_view why = arm.trials.empty() ? std::string_view() : arm.trials[0].why;
  return why.starts_with("no toolkit: ") || why.starts_with("no versions differ: ");
}

}  // namespace

int exit_code(std::span<const exit_reason> reasons) {
  return reasons.empty() ? 0 : reasons.front().exit_code;
}

std::vector<exit_reason> exit_reasons(std::span<const case_result> cases, run_mode mode,
                                      int not_provoked_budget) {
  std::map<verdict, std::vector<std::string>> unexpected;
  std::vector<std::string> missed;  // not provoked although a record of this stack shows that it can be
  std::string why_nothing;
  std::size_t arms = 0, not_provoked = 0;
  for (const auto& c : cases)
    for (const auto& arm : c.arms) {
      ++arms;
      const std::string name = join_key(c.name, arm.name);
      if (arm.judged != verdict::not_provoked) {
        if (!as_expected(arm.judged)) unexpected[arm.judged].push_back(name);
        continue;
      }
      ++not_provoked;
      const std::string no_gpu = why_no_gpu(arm);
      if (why_nothing.empty() || !no_gpu.empty()) why_nothing = no_gpu.empty() ? arm.why : no_gpu;
      if (arm.covered && !lacks_machine(arm)) missed.push_back(name);
    }
  if (arms == 0) return {{2, "no arm ran"}};
  std::vector<exit_reason> reasons;
  const auto add = [&](int code, std::string_view what, std::vector<std::string>& named) {
    const auto count = named.size();
    reasons.push_back(
        {code, fmt::format("{} arm{} {}", count, count == 1 ? "" : "s", what), std::move(named)});
  };
  if (auto& unresolved = unexpected[verdict::unresolved]; !unresolved.empty())
    add(2, to_string(verdict::unresolved), unresolved);
  unexpected.erase(verdict::unresolved);
  if (mode == run_mode::gate) {
    for (auto& [v, named] : unexpected)
      if (!is_prediction(v)) add(1, to_string(v), named);
    if (missed.size() > static_cast<std::size_t>(not_provoked_budget))
      add(1,
          fmt::format("recorded on this stack NOT_PROVOKED, and --not-provoked-budget is {}",
                      not_provoked_budget),
          missed);
  }
  if (reasons.empty() && not_provoked == arms)
    reasons.push_back({77, fmt::format("nothing could be provoked here: {}", why_nothing)});
  if (const predictions p = predictions_of(cases);
      mode == run_mode::gate && reasons.empty() && (!p.of_this_stack || p.differ > 0)) {
    const std::string line = prediction_line(p);
    reasons.push_back(
        {exit_no_baseline, (line.empty() ? "no record says what to expect on this stack" : line) +
                               "; to judge the next run by this one: cufault baseline add RECORD"});
  }
  return reasons;
}

predictions predictions_of(std::span<const case_result> cases) {
  predictions all{.of_this_stack = !is_without_baseline(cases)};
  for (const case_result& c : cases)
    for (const arm_result& arm : c.arms) {
      if (!is_prediction(arm.judged)) continue;
      all.differ += arm.judged == verdict::differs ? 1 : 0;
      all.unrecorded += arm.judged == verdict::unrecorded ? 1 : 0;
      if (arm.judged != verdict::unrecorded) ++all.from[arm.compared_with];
      if (arm.judged == verdict::as_predicted) ++all.as_predicted;
    }
  return all;
}

std::string prediction_line(const predictions& p) {
  const std::size_t all = p.as_predicted + p.differ + p.unrecorded;
  if (all == 0) return {};
  const auto most =
      std::ranges::max_element(p.from, [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string line = fmt::format(
      "{}: {} of {} arm{} as {}",
      p.of_this_stack ? "not in the record of this stack" : "no record of this stack", p.as_predicted, all,
      all == 1 ? "" : "s", most == p.from.end() ? "predicted" : "on " + most->first);
  if (p.from.size() > 1) line += " or the nearest stack that has the arm";
  if (p.differ > 0) line += fmt::format("; {} differ{}", p.differ, p.differ == 1 ? "s" : "");
  if (p.unrecorded > 0) line += fmt::format("; {} new", p.unrecorded);
  return line;
}

bool is_without_baseline(std::span<const case_result> cases) {
  bool any = false, any_on_gpu = false;
  for (const case_result& c : cases)
    for (const arm_result& arm : c.arms) any_on_gpu = any_on_gpu || (observed(arm) && had_context(arm));
  for (const case_result& c : cases)
    for (const arm_result& arm : c.arms) {
      // An arm that no architecture affects is judged by records of other GPUs, too.
      if (!observed(arm) || (any_on_gpu && (!had_context(arm) || arm.any_architecture))) continue;
      if (arm.covered) return false;
      any = any || is_prediction(arm.judged) || arm.judged == verdict::undefined;
    }
  return any;
}

std::set<std::string> executed_cases(std::span<const case_result> cases, bool on_gpu) {
  const auto ran = [&](const arm_result& a) {
    return observed(a) && std::ranges::all_of(
                              a.trials, [&](const observation& o) { return !on_gpu || o.context != "none"; });
  };
  std::set<std::string> executed;
  for (const case_result& c : cases)
    if (std::ranges::any_of(c.arms, ran)) executed.insert(c.name);
  return executed;
}

}  // namespace cufault
