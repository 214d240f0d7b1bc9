// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/comparison.hpp"

#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

change between(const arm_result& before, const arm_result& after) {
  return compare_arms(&before, &after).what;
}

arm_result fault_arm(std::vector<observation> trials) {
  return arm(arm_kind::fault, std::move(trials));
}

arm_result racing(std::vector<std::pair<int, const char*>> counts) {
  arm_result a = fault_arm({});
  a.races = "chance";
  for (const auto& [times, status] : counts)
    for (int i = 0; i < times; ++i) a.trials.push_back(trial({status}));
  return a;
}

TEST(compared_arms, name_what_became_of_a_fault) {
  EXPECT_EQ(between(fault_arm({trial({no_memory})}), fault_arm({trial({no_memory})})), change::unchanged);
  EXPECT_EQ(between(fault_arm({trial({no_memory})}), fault_arm({trial({internal})})), change::changed);
  EXPECT_EQ(between(fault_arm({trial({no_memory})}), fault_arm({trial({success})})), change::gone);
  EXPECT_EQ(between(fault_arm({trial({no_memory})}), fault_arm({crash({})})), change::worsened);
  EXPECT_EQ(between(fault_arm({crash({})}), fault_arm({crash({})})), change::unchanged);
}

TEST(compared_arms, name_a_broken_remedy) {
  const auto remedy = [](const char* after) { return arm(arm_kind::remedy, {trial({no_memory}, {after})}); };
  EXPECT_EQ(between(remedy(right), remedy(no_memory)), change::remedy_broken);
  EXPECT_EQ(between(remedy(right), remedy(right)), change::unchanged);
  EXPECT_EQ(between(remedy(no_memory), remedy(right)), change::gone);
}

TEST(compared_arms, are_absent_new_or_neither) {
  const auto seen = fault_arm({trial({no_memory})}), unseen = fault_arm({not_provoked("no GPU")});
  EXPECT_EQ(compare_arms(&seen, nullptr).what, change::absent);
  EXPECT_EQ(between(seen, unseen), change::absent);
  EXPECT_EQ(compare_arms(&seen, &unseen).why, "no GPU");
  EXPECT_EQ(compare_arms(nullptr, &seen).what, change::added);
  EXPECT_EQ(between(unseen, seen), change::added);
  EXPECT_EQ(between(unseen, unseen), change::unobserved);
  EXPECT_EQ(compare_arms(nullptr, &unseen).what, change::unobserved);
}

TEST(compared_arms, are_unresolved_where_the_harness_failed) {
  const auto seen = fault_arm({trial({no_memory})});
  EXPECT_EQ(between(seen, fault_arm({harness_failed("no pipe")})), change::unresolved);
  EXPECT_EQ(between(seen, fault_arm({})), change::unresolved);
}

TEST(compared_arms, that_cleared_nothing_before_and_after_are_unchanged) {
  const auto remedy = arm(arm_kind::remedy, {trial({success}, {right})});
  EXPECT_EQ(between(remedy, remedy), change::unchanged);
}

TEST(compared_arms, take_measurements_within_their_band) {
  const auto taken = [](double bytes) {
    auto a = fault_arm({trial({success})});
    a.trials[0].measurements = {{"device memory per handle", bytes, "bytes"}, {"free", bytes, "bytes"}};
    return a;
  };
  EXPECT_EQ(between(taken(268435456), taken(268435456 + 4096)), change::unchanged);
  EXPECT_EQ(between(taken(268435456), taken(67108864)), change::changed);
}

TEST(compared_arms, that_race_are_compared_by_rates) {
  // Rare signatures that only one of them has are no change.
  EXPECT_EQ(between(racing({{5, internal}}), racing({{38, internal}, {2, no_memory}})), change::unchanged);
  EXPECT_EQ(between(racing({{38, internal}, {2, no_memory}}), racing({{5, internal}})), change::unchanged);
  // Nothing in common.
  EXPECT_EQ(between(racing({{5, internal}}), racing({{5, no_memory}})), change::changed);
  EXPECT_EQ(between(racing({{5, internal}}), racing({{5, success}})), change::gone);
  // 2 of 20 and 15 of 20 are two rates; 8 and 12 of 20 may be one.
  EXPECT_EQ(between(racing({{2, internal}, {18, no_memory}}), racing({{15, internal}, {5, no_memory}})),
            change::changed);
  EXPECT_EQ(between(racing({{8, internal}, {12, no_memory}}), racing({{12, internal}, {8, no_memory}})),
            change::unchanged);
  EXPECT_EQ(between(racing({{20, internal}, {20, no_memory}}), racing({{40, no_memory}})), change::changed);
}

TEST(compared_arms, that_race_and_crash_for_the_first_time_are_worse) {
  auto after = racing({{39, internal}});
  after.trials.push_back(crash({}));
  EXPECT_EQ(between(racing({{40, internal}}), after), change::worsened);
  EXPECT_EQ(between(after, after), change::unchanged);
}

TEST(joined_arms, are_sorted_by_name_whatever_the_order_of_records) {
  record a, b;
  a.cases = {{.name = "x.b", .arms = {fault_arm({})}}, {.name = "x.a", .arms = {fault_arm({})}}};
  b.cases = {{.name = "x.c", .arms = {fault_arm({})}}, {.name = "x.a", .arms = {fault_arm({})}}};
  const std::array both{a, b};
  const auto joined = join(both);
  ASSERT_EQ(joined.size(), 3U);
  EXPECT_EQ(joined[0].case_name, "x.a");
  EXPECT_EQ(joined[0].each[1], &both[1].cases[1].arms[0]);
  EXPECT_EQ(joined[1].each[1], nullptr);
  EXPECT_EQ(joined[2].each[0], nullptr);
}

TEST(stack_differences, name_keys_first_and_only_what_differs) {
  record a, b;
  a.stack = {{"keys", {{"cublas", "12.0.1"}, {"driver", "580"}}}, {"gpu", {{"name", "H200"}}}, {"a", 1}};
  b.stack = {
      {"keys", {{"cublas", "13.1.0"}, {"driver", "580"}, {"runtime", "13.0"}}}, {"gpu", nullptr}, {"a", 1}};
  const auto found = stack_differences(a, b);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].name, "cublas");
  EXPECT_EQ(found[0].before, "12.0.1");
  EXPECT_EQ(found[1].name, "runtime");
  EXPECT_EQ(found[1].before, "");
  EXPECT_EQ(found[2].name, "gpu");
  EXPECT_EQ(found[3].after, "");
  EXPECT_TRUE(stack_differences(a, a).empty());
  EXPECT_TRUE(stack_differences({}, {}).empty());
}

TEST(stack_differences, do_not_say_a_key_again_by_another_name) {
  const auto of = [](const std::string& cublas, const std::string& loading) {
    record r;
    r.stack = {{"keys", {{"cublas", cublas}, {"module_loading", loading}}},
               {"cublas", {{"version", cublas}, {"path", "/" + cublas}}},
               {"environment", {{"CUDA_MODULE_LOADING", loading}, {"LD_LIBRARY_PATH", "/" + cublas}}}};
    return r;
  };
  std::vector<std::string> names;
  for (const auto& d : stack_differences(of("12.4.5", "LAZY"), of("13.10.0", "EAGER")))
    names.push_back(d.name);
  EXPECT_EQ(names, (std::vector<std::string>{"cublas", "module_loading", "cublas/path",
                                             "environment/LD_LIBRARY_PATH"}));
}

// What the committed records show: they are not the same, and each is the same as itself.
TEST(committed_records, differ_from_each_other_and_not_from_themselves) {
  const std::filesystem::path recorded{CUFAULT_RECORDED};
  const std::array both{load_record(recorded / "h200-580.159.04-cublas-12.0.1-other-13.10.0"),
                        load_record(recorded / "h200-580.159.04-cublas-13.10.0-other-12.0.1")};
  int differing = 0;
  for (const auto& joined : join(both)) {
    const auto found = compare_arms(joined.each[0], joined.each[1]).what;
    differing += found != change::unchanged && found != change::unobserved ? 1 : 0;
    for (const auto* a : joined.each) {
      if (a == nullptr || !observed(*a)) continue;
      EXPECT_EQ(between(*a, *a), change::unchanged) << joined.case_name << '/' << joined.arm;
    }
  }
  EXPECT_GT(differing, 50);
  EXPECT_EQ(stack_differences(both[0], both[1]).front().name, "cublas");
}

}  // namespace
}  // namespace cufault
