// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/counterparts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cufault {
namespace {

using testing::HasSubstr;

failure_case squeezed() {
  failure_case c;
  c.name = "memory.example";
  const auto nothing = [](trial&) {};
  c.add("control", arm_kind::control, "an empty device", nothing);
  arm& held = c.add("held", arm_kind::fault, "a full one", nothing, {"S0-1"});
  held.levels = level_range{"MiB free", {0, 2, 8}, 1};
  held.environment["CUDA_MODULE_LOADING"] = "EAGER";
  held.timeout = std::chrono::seconds(7);
  return c;
}

TEST(add_counterpart, keeps_what_the_natural_arm_is_and_adds_the_rules) {
  auto c = squeezed();
  constexpr const char* rules = R"({"rules": [{"function": "cuInit", "return": "NO_DEVICE"}]})";
  const arm* const added = &add_counterpart(c, "held", rules);
  const arm& counterpart = c.arms.back();
  EXPECT_EQ(added, &counterpart);
  EXPECT_EQ(defect_of(c), "");
  EXPECT_EQ(counterpart.name, "held_injected");
  EXPECT_EQ(counterpart.counterpart_of, "held");
  EXPECT_EQ(counterpart.kind, arm_kind::fault);
  EXPECT_EQ(counterpart.claims, c.arms[1].claims) << "it is judged like the other one";
  EXPECT_EQ(counterpart.timeout, std::chrono::seconds(7));
  EXPECT_EQ(counterpart.environment.at("CUDA_MODULE_LOADING"), "EAGER");
  EXPECT_EQ(counterpart.environment.at("CUFAULT_RULES"), rules);
  EXPECT_TRUE(c.arms[1].counterpart_of.empty());
}

TEST(add_counterpart, takes_the_same_rungs_and_measures_no_edge) {
  auto c = squeezed();
  add_counterpart(c, "held");
  const arm& counterpart = c.arms.back();
  EXPECT_EQ(counterpart.levels->values, (std::vector<std::int64_t>{0, 2, 8}));
  EXPECT_EQ(counterpart.levels->refine_to, 0);
  EXPECT_EQ(counterpart.environment.at("CUFAULT_RULES"), "") << "nobody else's rules either";
}

TEST(add_counterpart, of_an_arm_that_is_not_there_makes_the_case_malformed) {
  auto c = squeezed();
  add_counterpart(c, "helt");
  EXPECT_THAT(defect_of(c), HasSubstr("no fault arm 'helt'"));
}

TEST(counterparts, need_the_injector) {
  EXPECT_FALSE(in_counterpart());
  EXPECT_THROW(set_rules(""), not_provoked) << "it is not preloaded here";
}

}  // namespace
}  // namespace cufault
