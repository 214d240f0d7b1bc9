// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/case.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using testing::HasSubstr;

arm arm_of(arm_kind kind, std::string name) {
  arm a;
  a.name = std::move(name);
  a.kind = kind;
  a.body = [](trial&) {};
  return a;
}

failure_case well_formed(std::string name = "memory.handle_leak") {
  failure_case c;
  c.name = std::move(name);
  c.failures = {"F-MEM-01"};
  c.arms = {arm_of(arm_kind::control, "control"), arm_of(arm_kind::fault, "fault_2")};
  c.arms[1].claims = {"S0-1"};
  c.arms[1].levels = level_range{"MiB free", {1, 2, 4}, 1};
  return c;
}

// Defect of a good case after a change to it, or to its fault arm.
template <typename Change>
std::string defect_after(Change change) {
  auto c = well_formed();
  change(c);
  return defect_of(c);
}
template <typename Change>
std::string arm_defect_after(Change change) {
  return defect_after([&](failure_case& c) { change(c.arms[1]); });
}

TEST(cases, that_are_well_formed_have_no_defect) {
  EXPECT_EQ(defect_of(well_formed()), "");
}

TEST(cases, need_a_name_of_family_and_case) {
  for (const auto* name : {"", ".", "memory", "memory.", ".leak", "memory.handle.leak", "Memory.leak",
                           "memory.le-ak", "memory.leak ", "memory/x.leak"}) {
    EXPECT_THAT(defect_after([&](failure_case& c) { c.name = name; }), HasSubstr("FAMILY.NAME")) << name;
  }
}

TEST(cases, need_a_control_and_a_fault) {
  EXPECT_EQ(defect_after([](failure_case& c) { c.arms.erase(c.arms.begin()); }), "it has no control arm");
  EXPECT_EQ(defect_after([](failure_case& c) { c.arms.pop_back(); }), "it has no fault arm");
  EXPECT_EQ(defect_after([](failure_case& c) { c.arms.clear(); }), "it has no control arm");
}

TEST(cases, need_arms_that_can_be_told_apart) {
  EXPECT_EQ(defect_after([](failure_case& c) { c.arms[1].name = "control"; }),
            "two arms are named 'control'");
  for (const auto* name : {"", "two words", "fault.", "fault++x", "Fault"}) {
    EXPECT_THAT(arm_defect_after([&](arm& a) { a.name = name; }), HasSubstr("its name is not")) << name;
  }
}

TEST(cases, need_arms_that_can_run) {
  EXPECT_EQ(arm_defect_after([](arm& a) { a.body = nullptr; }), "arm 'fault_2': it has no body");
  EXPECT_THAT(arm_defect_after([](arm& a) { a.timeout = std::chrono::seconds(0); }), HasSubstr("timeout"));
  EXPECT_THAT(arm_defect_after([](arm& a) { a.repeats = 0; }), HasSubstr("repeated 0 times"));
  EXPECT_THAT(arm_defect_after([](arm& a) { a.environment = {{"A=B", "1"}}; }), HasSubstr("'A=B'"));
  EXPECT_THAT(arm_defect_after([](arm& a) { a.preload = {"a.so:b.so"}; }), HasSubstr("'a.so:b.so'"));
}

TEST(cases, need_a_natural_fault_for_every_injected_counterpart) {
  const auto with_counterpart_of = [](const char* natural, arm_kind kind = arm_kind::fault) {
    return defect_after([&](failure_case& c) {
      c.arms.push_back(arm_of(kind, "injected"));
      c.arms.back().counterpart_of = natural;
      c.arms.push_back(arm_of(arm_kind::fault, "injected_too"));
      c.arms.back().counterpart_of = "fault_2";
    });
  };
  EXPECT_EQ(with_counterpart_of("fault_2"), "");
  EXPECT_EQ(with_counterpart_of("nothing"),
            "arm 'injected': there is no fault arm 'nothing' for it to be the counterpart of");
  EXPECT_EQ(with_counterpart_of("control"),
            "arm 'injected': there is no fault arm 'control' for it to be the counterpart of");
  EXPECT_EQ(with_counterpart_of("fault_2", arm_kind::dead_end),
            "arm 'injected': there is no fault arm 'fault_2' for it to be the counterpart of");
  EXPECT_EQ(with_counterpart_of("injected_too"),
            "arm 'injected': 'injected_too', which it is the counterpart of, is a counterpart itself");
}

TEST(cases, need_more_than_one_trial_of_an_arm_that_races) {
  const auto racing = [](int repeats) {
    return arm_defect_after([&](arm& a) {
      a.races = "two threads";
      a.repeats = repeats;
    });
  };
  EXPECT_EQ(racing(1), "arm 'fault_2': it races, and one trial tells no rate");
  EXPECT_EQ(racing(2), "");
}

TEST(cases, repeat_arms_whose_behaviour_is_undefined) {
  failure_case c;
  for (const char* name : {"defined", "undefined", "slow"}) c.add(name, arm_kind::fault, "", [](trial&) {});
  c.repeat_undefined({"undefined"}, "freed memory");
  c.repeat_undefined({"slow"}, "freed memory", 2);
  EXPECT_EQ(c.arms[0].races, "");
  EXPECT_EQ(c.arms[0].repeats, 1);
  EXPECT_FALSE(c.arms[0].undefined);
  EXPECT_TRUE(c.arms[1].undefined);
  EXPECT_EQ(c.arms[1].races, "freed memory");
  EXPECT_EQ(c.arms[1].repeats, 3);
  EXPECT_EQ(c.arms[2].repeats, 2);
}

TEST(cases, need_the_fault_that_a_quick_arm_answers_in_the_quick_tier) {
  const auto with_quick = [](std::vector<std::string> quick) {
    return defect_after([&](failure_case& c) {
      c.arms.push_back(arm_of(arm_kind::fault, "fault_3"));
      c.arms.push_back(arm_of(arm_kind::remedy, "remedy"));
      c.arms[3].against = "fault_2";
      c.in_tier = std::move(quick);
    });
  };
  EXPECT_EQ(with_quick({"control", "fault_3", "remedy"}),
            "arm 'remedy' is in the tier of its case, and 'fault_2', which it answers, is not");
  EXPECT_EQ(with_quick({"control", "fault_2", "remedy"}), "");
  EXPECT_EQ(with_quick({"control", "fault_3"}), "");
  EXPECT_EQ(with_quick({}), "");
}

TEST(cases, need_a_quick_tier_that_proves_something) {
  const auto with_quick = [](std::vector<std::string> quick) {
    return defect_after([&](failure_case& c) { c.in_tier = std::move(quick); });
  };
  EXPECT_EQ(with_quick({"control", "fault_2", "nothing"}), "there is no arm 'nothing' for its tier");
  EXPECT_EQ(with_quick({"fault_2"}), "its tier has no control arm");
  EXPECT_EQ(with_quick({"control"}), "its tier has no fault arm");
}

TEST(cases, need_ids_that_say_something) {
  EXPECT_THAT(arm_defect_after([](arm& a) { a.claims.emplace_back(); }), HasSubstr("claim"));
  EXPECT_THAT(defect_after([](failure_case& c) { c.failures.emplace_back(); }), HasSubstr("field failure"));
}

TEST(cases, need_ladders_that_ascend) {
  EXPECT_THAT(arm_defect_after([](arm& a) { a.levels->values.clear(); }), HasSubstr("no level"));
  EXPECT_THAT(arm_defect_after([](arm& a) { a.levels->values = {2, 1}; }), HasSubstr("ascend"));
  EXPECT_THAT(arm_defect_after([](arm& a) { a.levels->values = {1, 1}; }), HasSubstr("ascend"));
  EXPECT_THAT(arm_defect_after([](arm& a) { a.levels->refine_to = -1; }), HasSubstr("negative"));
}

TEST(cases, are_registered_by_name) {
  static const register_case b{well_formed("order.b")}, a{well_formed("order.a")}, c{well_formed("order.c")};
  std::vector<std::string> names;
  for (const auto& known : all_cases()) names.push_back(known.name);
  EXPECT_THAT(names, testing::ElementsAre("order.a", "order.b", "order.c"));
}

TEST(cases, that_are_made_of_a_vocabulary_are_made_once_and_only_for_families_that_are_asked_for) {
  static std::vector<std::string> made;
  const auto maker = [](std::string name) {
    return [name = std::move(name)](std::string_view /*only*/) {
      made.push_back(name);
      return std::vector{well_formed(name)};
    };
  };
  static const register_cases one("one", maker("one.made")), other("other", maker("other.made"));
  const auto has = [](const std::vector<failure_case>& cases, std::string_view name) {
    return std::ranges::any_of(cases, [&](const failure_case& c) { return c.name == name; });
  };
  EXPECT_FALSE(has(cases_with_families({"order"}), "one.made"));
  EXPECT_THAT(made, testing::IsEmpty());
  EXPECT_TRUE(has(cases_with_families({"one"}), "one.made"));
  EXPECT_FALSE(has(cases_with_families({"one"}), "other.made"));
  EXPECT_THAT(made, testing::ElementsAre("one.made"));
  EXPECT_TRUE(has(all_cases(), "other.made"));
  EXPECT_THAT(made, testing::ElementsAre("one.made", "other.made"));
}

TEST(cases_death, malformed_case_ends_the_program_and_says_why) {
  EXPECT_EXIT(register_case(failure_case{.name = "memory.empty"}), testing::ExitedWithCode(2),
              "case 'memory.empty' is malformed: it has no control arm");
  EXPECT_EXIT(
      {
        const register_case first{well_formed("twice.same")};
        const register_case second{well_formed("twice.same")};
      },
      testing::ExitedWithCode(2), "'twice.same' is malformed: another case has that name");
}

}  // namespace
}  // namespace cufault
