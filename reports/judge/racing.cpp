// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/racing.hpp"

#include "reports/judge/chance.hpp"

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
std::optional<arm_result> with_assertions(const arm_result& arm, const expectation& expected) {
  if (arm.races.empty() || expected.flaky) return {};
  arm_result asserted = arm;
  int replaced = 0;
  for (observation& o : asserted.trials) {
    if (!comparable(o) || is_expected(o, expected)) continue;
    observation other = o;
    for (call_record& c : other.calls)
      if (c.what.status == "cudaErrorLaunchFailure") c.what.status = "cudaErrorAssert";
    if (!is_expected(other, expected)) continue;
    o = std::move(other);
    ++replaced;
  }
  const auto trials = static_cast<int>(arm.trials.size());
  if (replaced == 0 || two_sided_tail(replaced, trials, launch_failure_rate) < least_tail) return {};
  return asserted;
}

/// The steps up to the first one that failed, and that one. Empty where none did.
std::span<const step> failure_of(const signature& s) {
  const auto failing = std::find_if(s.fault.begin(), s.fault.end(), [](const step& one) { return !one.ok; });
  if (failing == s.fault.end()) return {};
  return {s.fault.begin(), failing + 1};
}

/// Whether two signatures are equal but for how the same call failed.
bool differ_in_failure_alone(const signature& a, const signature& b) {
  const auto of_a = failure_of(a), of_b = failure_of(b);
  if (of_a.empty() || of_a.size() != of_b.size() || of_a.back().name != of_b.back().name) return false;
  signature other = a;
  std::copy(of_b.begin(), of_b.end(), other.fault.begin());
  return other == b;
}

bool shows_failure(const expectation& e, const signature& s) {
  const auto failure = failure_of(s);
  return std::any_of(e.seen.begin(), e.seen.end(), [&](const plateau& p) {
    const auto known = failure_of(p.seen);
    return std::equal(known.begin(), known.end(), failure.begin(), failure.end());
  });
}

std::optional<arm_result> with_failures_beside(const arm_result& arm, const expectation& expected,
                                               const std::vector<const expectation*>& beside) {
  if (!arm.rate_depends_on_load) return {};
  std::optional<arm_result> explained;
  for (std::size_t i = 0; i < arm.trials.size(); ++i) {
    const observation& o = arm.trials[i];
    if (!comparable(o) || is_expected(o, expected)) continue;
    const signature seen = signature_of(o);
    if (failure_of(seen).empty() || std::none_of(beside.begin(), beside.end(), [&](const expectation* e) {
          return shows_failure(*e, seen);
        }))
      continue;
    const auto alike =
        std::find_if(expected.trials.begin(), expected.trials.end(), [&](const observation& known) {
          return comparable(known) && differ_in_failure_alone(seen, signature_of(known));
        });
    if (alike == expected.trials.end()) continue;
    if (!explained) explained = arm;
    explained->trials[i] = *alike;
  }
  return explained;
}

}  // namespace

std::vector<const expectation*> racing_beside(const arm_result& arm, const std::string& case_name,
                                              const expectation_set& expected, const stack_keys& stack) {
  if (arm.races.empty()) return {};
  const auto operation_of = [](const std::string& name) { return name.substr(0, name.find('+')); };
  std::set<std::string> names;
  for (const expectation& e : expected.all())
    if (e.case_name == case_name && e.arm != arm.name && operation_of(e.arm) == operation_of(arm.name))
      names.insert(e.arm);
  std::vector<const expectation*> beside;
  for (const std::string& name : names)
    if (const expectation* const e = expected.find(case_name, name, stack)) beside.push_back(e);
  return beside;
}

std::optional<arm_result> with_explained_trials(const arm_result& arm, const expectation& expected,
                                                const std::vector<const expectation*>& beside) {
  auto asserted = with_assertions(arm, expected);
  auto explained = with_failures_beside(asserted ? *asserted : arm, expected, beside);
  return explained ? std::move(explained) : std::move(asserted);
}

}  // namespace cufault
