// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/racing.hpp"

#include "reports/judge/chance.hpp"
#include "reports/model/cell_name.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace cufault {
namespace {

bool is_expected(const observation& o, const expectation& expected) {
  const auto s = signature_of(o);
  return std::any_of(expected.seen.begin(), expected.seen.end(),
                     [&](const plateau& p) { return p.seen == s; });
}

/// In a race the driver may report a failed assertion as cudaErrorLaunchFailure: in 4 of the 140 filed trials of
/// sticky.device_fault/racing_*_assertion (H200, cuBLAS 13.1.0).
constexpr double launch_failure_rate = 4.0 / 140;

/// With cudaErrorAssert in place of cudaErrorLaunchFailure, if that makes trials as expected and no more of them differ than that rate explains.
std::optional<explained_arm> with_assertions(const arm_result& arm, const expectation& expected) {
  if (arm.races.empty() || expected.flaky) return {};
  explained_arm asserted{arm};
  for (observation& o : asserted.arm.trials) {
    if (!comparable(o) || is_expected(o, expected)) continue;
    observation other = o;
    for (call_record& c : other.calls)
      if (c.what.status == "cudaErrorLaunchFailure") c.what.status = "cudaErrorAssert";
    if (!is_expected(other, expected)) continue;
    o = std::move(other);
    ++asserted.trials;
  }
  const auto all = static_cast<int>(arm.trials.size());
  if (asserted.trials == 0 || two_sided_tail(asserted.trials, all, launch_failure_rate) < least_tail)
    return {};
  return asserted;
}

/// The steps up to the first one that failed, and that one. Empty where none did.
std::span<const step> failure_of(const signature& s) {
  const auto failing = std::find_if(s.fault.begin(), s.fault.end(), [](const step& one) { return !one.ok; });
  if (failing == s.fault.end()) return {};
  return {s.fault.begin(), failing + 1};
}

bool same_failure(const signature& a, const signature& b) {
  const auto of_a = failure_of(a), of_b = failure_of(b);
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end());
}

/// Whether two signatures are equal but for how the same call failed.
bool differ_in_failure_alone(const signature& a, const signature& b) {
  const auto of_a = failure_of(a), of_b = failure_of(b);
  if (of_a.empty() || of_a.size() != of_b.size() || of_a.back().name != of_b.back().name) return false;
  signature other = a;
  other.fault[of_b.size() - 1] = of_b.back();
  return other == b;
}

/// Of the recorded trials of these arms, those with the failure of `s`, and all.
std::pair<int, int> count_failure(const signature& s, const expectation& own,
                                  const std::vector<const expectation*>& siblings) {
  int with_it = 0, all = 0;
  const auto count = [&](const expectation& e) {
    for (const observation& o : e.trials) {
      if (!comparable(o)) continue;
      ++all;
      with_it += same_failure(signature_of(o), s) ? 1 : 0;
    }
  };
  count(own);
  for (const expectation* e : siblings) count(*e);
  return {with_it, all};
}

/// Trials of an arm with one failure that only siblings show, and for each an expected trial that is equal but for the failure.
struct sibling_failure {
  std::vector<std::size_t> trials{};        ///< indices of arm_result::trials
  std::vector<const observation*> alike{};  ///< of expectation::trials, one for each
  signature seen{};                         ///< of the first one
};

std::vector<sibling_failure> failures_of_siblings(const arm_result& arm, const expectation& expected,
                                                  const std::vector<const expectation*>& siblings) {
  std::vector<sibling_failure> found;
  for (std::size_t i = 0; i < arm.trials.size(); ++i) {
    const observation& o = arm.trials[i];
    if (!comparable(o) || is_expected(o, expected)) continue;
    const signature seen = signature_of(o);
    if (failure_of(seen).empty() || count_failure(seen, expected, siblings).first == 0) continue;
    const auto alike =
        std::find_if(expected.trials.begin(), expected.trials.end(), [&](const observation& known) {
          return comparable(known) && differ_in_failure_alone(seen, signature_of(known));
        });
    if (alike == expected.trials.end()) continue;
    auto same = std::find_if(found.begin(), found.end(),
                             [&](const sibling_failure& f) { return same_failure(f.seen, seen); });
    if (same == found.end()) same = found.insert(found.end(), {.seen = seen});
    same->trials.push_back(i);
    same->alike.push_back(&*alike);
  }
  return found;
}

std::optional<explained_arm> with_failures_of_siblings(explained_arm so_far, const expectation& expected,
                                                       const std::vector<const expectation*>& siblings) {
  if (!so_far.arm.rate_depends_on_load) return {};
  const int before = so_far.trials;
  for (const sibling_failure& f : failures_of_siblings(so_far.arm, expected, siblings)) {
    const auto [with_it, all] = count_failure(f.seen, expected, siblings);
    const auto now = static_cast<int>(f.trials.size()), trials = static_cast<int>(so_far.arm.trials.size());
    const double rate = static_cast<double>(with_it) / all;
    // What is rare in the records may not be what all trials show.
    if (now > rate * trials && two_sided_tail(now, trials, rate) < least_tail) continue;
    for (std::size_t i = 0; i < f.trials.size(); ++i) {
      // Measurements, level and GPU stay those of the trial.
      so_far.arm.trials[f.trials[i]].calls = f.alike[i]->calls;
      ++so_far.trials;
    }
  }
  return so_far.trials > before ? std::optional(std::move(so_far)) : std::nullopt;
}

}  // namespace

std::vector<const expectation*> expectations_of_siblings(const arm_result& arm, const std::string& case_name,
                                                         const expectation_set& expected,
                                                         const stack_keys& stack) {
  if (arm.races.empty()) return {};
  const auto operation_of = [](const std::string& name) {
    const std::string without = without_remedy(name);
    return without.empty() ? name : without;
  };
  std::set<std::string> names;
  for (const expectation& e : expected.all())
    if (e.case_name == case_name && e.arm != arm.name && operation_of(e.arm) == operation_of(arm.name))
      names.insert(e.arm);
  std::vector<const expectation*> siblings;
  for (const std::string& name : names) {
    const expectation* const e = expected.find(case_name, name, stack);
    if (e != nullptr && !e->from_the_start) siblings.push_back(e);
  }
  return siblings;
}

std::optional<explained_arm> with_explained_trials(const arm_result& arm, const expectation& expected,
                                                   const std::vector<const expectation*>& siblings) {
  auto asserted = with_assertions(arm, expected);
  auto explained = with_failures_of_siblings(asserted ? *asserted : explained_arm{arm}, expected, siblings);
  return explained ? std::move(explained) : std::move(asserted);
}

}  // namespace cufault
