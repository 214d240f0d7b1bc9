// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Sources of rules, their changes, and refusals.
#include "harness/injector/tests/injector_fixture.hpp"

namespace cufault {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(injector, takes_rules_from_the_process_itself) {
  EXPECT_THAT(
      lines("set_rules"),
      ElementsAre("0", "set 0", "2", HasSubstr("set -1: rules:1: rules[0].return: unknown code \"NOTHING\""),
                  "2", "set 0", "0", "4 calls, 2 injections"));
  EXPECT_THAT(without_preload("set_rules"), ElementsAre("not preloaded"));
}

TEST_F(injector, reloads_rules_and_outlives_a_half_written_file) {
  const fs::path file = folder / "rules.json";
  std::ofstream(file) << R"({"rules": []})";
  EXPECT_THAT(lines("reload " + file.string(), file.string()),
              ElementsAre("0", "1", HasSubstr("the rules from before go on to hold"), "1", "2"));
}

TEST_F(injector, reloads_rules_in_a_forked_child_too) {
  if (emulated) GTEST_SKIP() << "qemu ends where a forked child starts a thread";
  const fs::path file = folder / "rules.json";
  std::ofstream(file) << R"({"rules": []})";
  EXPECT_THAT(lines("reload_in_child " + file.string(), file.string()), ElementsAre("1"));
}

TEST_F(injector, leaves_a_forked_child_the_rules_that_it_set) {
  if (emulated) GTEST_SKIP() << "qemu ends where a forked child starts a thread";
  const fs::path file = folder / "rules.json";
  std::ofstream(file) << R"({"rules": []})";
  EXPECT_THAT(lines("set_in_child " + file.string(), file.string()), ElementsAre("1", "0 failed"));
}

TEST_F(injector, takes_rules_from_a_constructor_before_its_own) {
  const std::string before = driver_folder + "/libinjector_library.so";
  EXPECT_THAT(
      run("SET_RULES_AT_THE_START='" + rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY"})") +
              "' CUFAULT_LOG=" + log().string(),
          library + ":" + before, probe + " allocate 2"),
      ElementsAre("2 2"));
}

TEST_F(injector, goes_on_counting_for_a_rule_that_a_reload_left_as_it_was) {
  const fs::path file = folder / "rules.json";
  std::ofstream(file) << rules(R"({"function": "cuMemAlloc", "return": "INVALID_VALUE", "hits": 1})");
  EXPECT_THAT(lines("same_rules_again " + file.string(), file.string()), ElementsAre("1", "0, version 7"));
}

TEST_F(injector, goes_on_without_injection_where_rules_are_wrong_unless_strict) {
  const std::string wrong = rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "hit": 1})");
  EXPECT_THAT(lines("allocate 2", wrong),
              ElementsAre(AllOf(HasSubstr("cufault: "), HasSubstr("rules[0].hit: unknown key"),
                                HasSubstr("going on without injection")),
                          "0 0"));
  EXPECT_THAT(lines("allocate 2", wrong, "CUFAULT_STRICT=1"),
              ElementsAre(HasSubstr("rules[0].hit"), "ended with 512"));
  EXPECT_THAT(lines("allocate 2", (folder / "nowhere.json").string()),
              ElementsAre(HasSubstr("nowhere.json"), "0 0"));
  EXPECT_THAT(lines("allocate 1", folder.string()), ElementsAre(HasSubstr("is no ordinary file"), "0"));
  EXPECT_THAT(lines("allocate 1", "", "CUFAULT_FAIL='cu\nMem=OUT_OF_MEMORY'"),
              ElementsAre(HasSubstr("--fail cu?Mem=OUT_OF_MEMORY: unknown function"), "0"));
}

TEST_F(injector, takes_short_texts_too) {
  EXPECT_THAT(lines("allocate 4", "", "CUFAULT_FAIL='cuMemAlloc_v2:3=OUT_OF_MEMORY'"),
              ElementsAre("0 0 2 0"));
  EXPECT_THAT(lines("allocate 4", "", "CUFAULT_FAIL='cuMemAlloc:3+=OUT_OF_MEMORY cuMemFree=INVALID_VALUE'"),
              ElementsAre("0 0 2 2"));
}

}  // namespace
}  // namespace cufault
