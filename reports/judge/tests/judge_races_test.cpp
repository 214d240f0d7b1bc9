// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Verdicts of arms that race: stated rates, and what chance allows.
#include "reports/judge/tests/judged.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace cufault {
namespace {

using namespace examples;

expectation races(double rate_of_success) {
  auto e = expects({trial({success}), trial({no_memory})});
  e.flaky = stated_rate{{rate_of_success, 1 - rate_of_success}, "two threads race for the last block"};
  return e;
}

trials mixture(int successes, int failures) {
  trials all(static_cast<std::size_t>(successes), trial({success}));
  all.insert(all.end(), static_cast<std::size_t>(failures), trial({no_memory}));
  return all;
}

TEST(judge, a_stated_rate_that_holds_is_flaky) {
  const auto e = races(0.5);
  const auto a = judged_arm(fault, mixture(11, 9), &e);
  EXPECT_EQ(a.judged, verdict::flaky);
  EXPECT_TRUE(contains(a.why, "11 of 20 trials where 0.5 was stated")) << a.why;
  EXPECT_TRUE(contains(a.why, "two threads race")) << a.why;
}

TEST(judge, the_order_of_racing_trials_does_not_matter) {
  const auto e = races(0.5);
  auto seen = mixture(10, 10);
  std::reverse(seen.begin(), seen.end());
  std::swap(seen[0], seen[15]);
  EXPECT_EQ(judged_arm(fault, seen, &e).judged, verdict::flaky);
}

TEST(judge, a_rate_that_moved_beyond_chance_is_changed) {
  const auto e = races(0.5);
  const auto a = judged_arm(fault, mixture(19, 1), &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_TRUE(a.why.starts_with("rate moved: 19 of 20 trials")) << a.why;
  EXPECT_EQ(judged_arm(fault, mixture(1, 19), &e).judged, verdict::changed);
}

TEST(judge, the_edge_of_chance_is_one_in_a_thousand) {
  // Of 20 trials at one half, twice P(X <= 3) is 0.0026 and twice P(X <= 2) is 0.0004.
  const auto e = races(0.5);
  EXPECT_EQ(judged_arm(fault, mixture(3, 17), &e).judged, verdict::flaky);
  EXPECT_EQ(judged_arm(fault, mixture(2, 18), &e).judged, verdict::changed);
}

TEST(judge, a_rate_of_nought_or_one_allows_no_exception) {
  const auto always = races(1);
  EXPECT_EQ(judged_arm(fault, mixture(5, 0), &always).judged, verdict::flaky);
  EXPECT_EQ(judged_arm(fault, mixture(4, 1), &always).judged, verdict::changed);
  const auto never = races(0);
  EXPECT_EQ(judged_arm(fault, mixture(0, 5), &never).judged, verdict::flaky);
  EXPECT_EQ(judged_arm(fault, mixture(1, 4), &never).judged, verdict::changed);
}

TEST(judge, a_rate_that_depends_on_load_is_not_compared_but_its_outcomes_are) {
  const auto e = races(0.5);
  const auto judged_under_load = [&](const trials& seen, const expectation& expected) {
    auto a = arm(fault, seen);
    a.rate_depends_on_load = true;
    judge(a, &expected);
    return a.judged;
  };
  EXPECT_EQ(judged_under_load(mixture(20, 0), e), verdict::flaky);
  EXPECT_EQ(judged_under_load(mixture(0, 20), e), verdict::flaky);
  EXPECT_EQ(judged_under_load({trial({internal})}, e), verdict::changed);
  EXPECT_EQ(judged_under_load({crash({success})}, e), verdict::worsened);
}

TEST(judge, a_signature_outside_a_stated_race_is_changed_or_worsened) {
  const auto e = races(0.5);
  auto seen = mixture(10, 9);
  seen.push_back(trial({internal}));
  EXPECT_EQ(judged_arm(fault, seen, &e).judged, verdict::changed);
  seen.back() = crash({success});
  EXPECT_EQ(judged_arm(fault, seen, &e).judged, verdict::worsened);
}

TEST(judge, a_crash_outside_a_race_wins_over_another_status_outside_it) {
  const auto e = races(0.5);
  EXPECT_EQ(judged_arm(fault, {trial({internal}), crash({success})}, &e).judged, verdict::worsened);
}

TEST(judge, a_launch_failure_counts_as_an_assertion_in_a_race_as_rarely_as_it_was_seen) {
  const auto asserts = trial({"cudaErrorAssert"}), fails = trial({"cudaErrorLaunchFailure"});
  const auto expected = expects({asserts});
  const auto racing = [&](int failures, int trials, const expectation& e) {
    auto a = arm(fault, {});
    a.races = "when the error arrives";
    a.trials.assign(static_cast<std::size_t>(trials), asserts);
    std::fill_n(a.trials.begin(), failures, fails);
    judge(a, &e);
    EXPECT_EQ(a.trials[0].calls[0].what.status, failures > 0 ? "cudaErrorLaunchFailure" : "cudaErrorAssert")
        << "what was seen is kept";
    return a.judged;
  };
  EXPECT_EQ(racing(0, 5, expected), verdict::reproduced);
  EXPECT_EQ(racing(1, 5, expected), verdict::reproduced);
  EXPECT_EQ(racing(4, 20, expected), verdict::reproduced);
  EXPECT_EQ(racing(5, 5, expected), verdict::changed);
  EXPECT_EQ(racing(10, 20, expected), verdict::changed);
  // Where rates are stated, they are what is compared.
  auto both = expected;
  both.seen = {{.seen = signature_of(asserts)}, {.seen = signature_of(fails)}};
  both.flaky = stated_rate{.rates = {0.95, 0.05}, .reason = "when the error arrives"};
  EXPECT_EQ(racing(1, 5, both), verdict::flaky);
  EXPECT_EQ(racing(5, 5, both), verdict::changed);

  EXPECT_EQ(judged(fault, {asserts}, {fails}), verdict::changed) << "the arm does not race";
  EXPECT_EQ(judged(fault, {fails}, {asserts}), verdict::changed);
}

class judge_of_arms_that_race : public testing::Test {
 protected:
  static observation failed_first(const char* failure, const char* then) {
    observation o = trial({failure});
    o.calls.push_back(call("cublasSgemm", then));
    return o;
  }
  static observation cleared(const char* failure) { return trial({failure}, {success, right}); }
  /// Judges an arm of memory.leak by expectations of the arms create, create+retry and destroy+retry.
  arm_result judged_beside(const std::string& name, arm_kind kind, const trials& seen,
                           bool rates_count = false, const char* race = "when the error arrives") {
    expectation_set set;
    set.put(expects({failed_first(no_memory, internal)}, "create"));
    set.put(expects({cleared(internal)}, "create+retry"));
    set.put(expects({cleared("CUBLAS_STATUS_NOT_INITIALIZED")}, "destroy+retry"));
    auto a = arm(kind, seen, name);
    a.races = race;
    a.rate_depends_on_load = !rates_count;
    judge(a, "memory.leak", set, {});
    return a;
  }
};

TEST_F(judge_of_arms_that_race, a_failure_that_an_arm_with_the_same_operation_shows_is_expected) {
  const auto remedied = judged_beside("create+retry", remedy, {cleared(internal), cleared(no_memory)});
  EXPECT_EQ(remedied.judged, verdict::cleared);
  EXPECT_EQ(remedied.trials[1].calls[0].what.status, no_memory) << "what was seen is kept";
  EXPECT_EQ(remedied.why, "1 of 2 trials count as expected, since the arm races");
  EXPECT_EQ(judged_beside("create", fault, {failed_first(internal, internal)}).judged, verdict::reproduced);
}

TEST_F(judge_of_arms_that_race, a_failure_that_is_rare_in_the_records_is_not_what_all_trials_may_show) {
  trials recorded(59, cleared(internal));
  recorded.push_back(cleared(no_memory));
  expectation_set set;
  set.put(expects(recorded, "create+reset"));
  set.put(expects({cleared(internal)}, "create+retry"));
  const auto judged_with = [&](std::ptrdiff_t rare) {
    trials seen(5, cleared(internal));
    std::fill_n(seen.begin(), rare, cleared(no_memory));
    auto a = arm(remedy, seen, "create+retry");
    a.races = "when the error arrives";
    a.rate_depends_on_load = true;
    judge(a, "memory.leak", set, {});
    return a.judged;
  };
  EXPECT_EQ(judged_with(1), verdict::cleared);
  EXPECT_EQ(judged_with(5), verdict::changed);
}

TEST_F(judge_of_arms_that_race, a_remedy_that_is_in_place_from_the_start_is_no_sibling) {
  const auto judged_beside_a_remedy = [&](bool from_the_start) {
    expectation_set set;
    auto other = expects({cleared(no_memory)}, "create+setting");
    other.from_the_start = from_the_start;
    set.put(other);
    set.put(expects({cleared(internal)}, "create+retry"));
    auto a = arm(remedy, {cleared(internal), cleared(no_memory)}, "create+retry");
    a.races = "when the error arrives";
    a.rate_depends_on_load = true;
    judge(a, "memory.leak", set, {});
    return a.judged;
  };
  EXPECT_EQ(judged_beside_a_remedy(false), verdict::cleared);
  EXPECT_EQ(judged_beside_a_remedy(true), verdict::changed);
}

TEST_F(judge_of_arms_that_race, what_comes_after_the_failure_is_that_of_the_arm_itself) {
  EXPECT_EQ(judged_beside("create", fault, {failed_first(internal, no_memory)}).judged, verdict::changed);
  EXPECT_EQ(judged_beside("create+retry", remedy, {trial({no_memory}, {no_memory})}).judged,
            verdict::changed);
  auto lost = cleared(no_memory);
  lost.context = "damaged";
  EXPECT_EQ(judged_beside("create+retry", remedy, {lost}).judged, verdict::worsened);
}

TEST_F(judge_of_arms_that_race, calls_before_the_failure_are_those_of_the_arm_itself) {
  observation first = trial({right, internal}), other = trial({right, internal}, {success, right});
  first.calls[0].what.name.api = "cublasSgemm";
  expectation_set set;
  set.put(expects({first}, "create"));
  set.put(expects({trial({right, no_memory}, {success, right})}, "create+retry"));
  other.calls[0].what.name.api = "cublasSgemm";
  auto a = arm(remedy, {other}, "create+retry");
  a.races = "when the error arrives";
  a.rate_depends_on_load = true;
  judge(a, "memory.leak", set, {});
  EXPECT_EQ(a.judged, verdict::changed);
}

TEST_F(judge_of_arms_that_race, rates_that_are_stated_and_not_compared_stay_flaky) {
  expectation_set set;
  set.put(expects({failed_first(no_memory, internal)}, "create"));
  auto both = expects({cleared(internal), cleared("CUBLAS_STATUS_NOT_INITIALIZED")}, "create+retry");
  both.flaky = stated_rate{.rates = {0.5, 0.5}, .reason = "when the error arrives"};
  set.put(both);
  auto a = arm(remedy, {cleared(internal), cleared(no_memory)}, "create+retry");
  a.races = "when the error arrives";
  a.rate_depends_on_load = true;
  judge(a, "memory.leak", set, {});
  EXPECT_EQ(a.judged, verdict::flaky);
}

TEST_F(judge_of_arms_that_race, a_failure_that_only_another_operation_shows_is_not_expected) {
  EXPECT_EQ(judged_beside("create+retry", remedy, {cleared("CUBLAS_STATUS_NOT_INITIALIZED")}).judged,
            verdict::changed);
}

TEST_F(judge_of_arms_that_race, no_other_arm_is_looked_at_where_rates_are_compared_or_nothing_races) {
  EXPECT_EQ(judged_beside("create+retry", remedy, {cleared(no_memory)}, true).judged, verdict::changed);
  EXPECT_EQ(judged_beside("create+retry", remedy, {cleared(no_memory)}, false, "").judged, verdict::changed);
}

}  // namespace
}  // namespace cufault
