// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Effects of rules on calls that arrive in every way.
#include "harness/injector/tests/injector_fixture.hpp"

#include <algorithm>

namespace cufault {

const char* const build_tree = BUILD_TREE;
const char* const build_command = CLI_PROGRAM;

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

TEST_F(injector, is_in_front_of_every_way_to_a_function) {
  const auto free = without_preload("every_way");
  EXPECT_EQ(lines("every_way"), free);
  EXPECT_THAT(free, ElementsAre("again 0", "default 0", "dlsym 0", "library 0", "linked 0", "next 0", "v1 0",
                                "v2 0"));
  EXPECT_THAT(
      lines("every_way", rules(R"({"function": "cuMemAlloc_v2", "return": "OUT_OF_MEMORY"})")),
      ElementsAre("again 2", "default 2", "dlsym 2", "library 2", "linked 2", "next 2", "v1 2", "v2 2"));
  EXPECT_EQ(events("injected").size(), 8U);
}

TEST_F(injector, leaves_all_arguments_as_they_are_armed_or_not) {
  const auto free = without_preload("arguments");
  EXPECT_THAT(free, ElementsAre("123456800", "125", "7 42", "42"));
  EXPECT_EQ(lines("arguments"), free);
  EXPECT_EQ(lines("arguments", rules(R"({"function": "*", "delay_ms": 0})")), free);
}

TEST_F(injector, passes_on_what_is_no_look_up_of_a_function) {
  const auto free = without_preload("unusual_look_ups");
  EXPECT_EQ(lines("unusual_look_ups"), free);
  EXPECT_EQ(lines("unusual_look_ups", rules(R"({"function": "*", "delay_ms": 0})")), free);
  EXPECT_THAT(free,
              ElementsAre("empty 1", "null out 0", "unknown 500", "symbol null", "other null", "table 0"));
}

TEST_F(injector, fails_the_calls_that_a_rule_names_by_number) {
  const auto failing = [&](const std::string& more) {
    return lines("allocate 6", rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY")" + more + "}"))
        .at(0);
  };
  EXPECT_EQ(failing(""), "2 2 2 2 2 2");
  EXPECT_EQ(failing(R"(, "skip": 2)"), "0 0 2 2 2 2");
  EXPECT_EQ(failing(R"(, "skip": 2, "hits": 1)"), "0 0 2 0 0 0");
  EXPECT_EQ(failing(R"(, "every": 2)"), "0 2 0 2 0 2");
  EXPECT_EQ(failing(R"(, "skip": 1, "every": 2, "hits": 1)"), "0 0 2 0 0 0");
  const auto chance = failing(R"(, "probability": 0.5, "seed": 7)");
  EXPECT_EQ(failing(R"(, "probability": 0.5, "seed": 7)"), chance);
  EXPECT_THAT(chance, AllOf(HasSubstr("0"), HasSubstr("2")));
}

TEST_F(injector, acts_at_random_so_often_at_most) {
  for (const int hits : {1, 3}) {
    const auto said =
        lines("allocate 1000",
              rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "probability": 0.05, "hits": )" +
                    std::to_string(hits) + "}"));
    EXPECT_EQ(std::count(said.at(0).begin(), said.at(0).end(), '2'), hits);
  }
}

TEST_F(injector, draws_for_each_rule_by_itself) {
  const auto half = [](const char* code) {
    return std::string(R"({"function": "cuMemAlloc", "probability": 0.5, "return": ")") + code + "\"}";
  };
  const std::string both = rules(half("OUT_OF_MEMORY") + ", " + half("NOT_INITIALIZED"));
  const auto said = lines("allocate 1000", both);
  const auto said_so_often = [&](char code) {
    return std::count(said.at(0).begin(), said.at(0).end(), code);
  };
  EXPECT_NEAR(said_so_often('2'), 500, 100);
  EXPECT_NEAR(said_so_often('3'), 250, 100) << "where the first did not act, the second does half the time";
  EXPECT_EQ(lines("allocate 1000", both), said);
}

TEST_F(injector, acts_on_calls_that_a_glob_names_without_their_version) {
  for (const std::string glob : {"cuMemAllo?", "cuMem*lloc"})
    EXPECT_THAT(lines("allocate 2", rules(R"({"function": ")" + glob + R"(", "return": "OUT_OF_MEMORY"})")),
                ElementsAre("2 2"));
}

TEST_F(injector, fails_the_look_up_of_an_export_table) {
  EXPECT_THAT(
      lines("unusual_look_ups", rules(R"({"function": "cuGetExportTable", "return": "INVALID_VALUE"})"))
          .back(),
      "table 1");
  EXPECT_THAT(events("injected"), SizeIs(1));
}

TEST_F(injector, tells_a_caller_otherwise_after_the_call) {
  EXPECT_THAT(
      lines("memory", rules(R"({"function": "cuMemAlloc", "return": "INVALID_VALUE", "when": "after"})")),
      ElementsAre("free 1000000 of 1000000", "1", "free 999400 of 1000000", "1", "0",
                  "free 999500 of 1000000", "1", "free 998500 of 1000000"));
  EXPECT_EQ(events("injected").at(0)["really"], "CUDA_SUCCESS");
}

TEST_F(injector, holds_rules_to_callers_threads_devices_and_sizes) {
  const auto with = [&](const std::string& what, const std::string& condition) {
    return lines(what, rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", )" + condition + "}"));
  };
  EXPECT_THAT(with("from_library", R"("caller": "application")"), ElementsAre("2 0"));
  EXPECT_THAT(with("from_library", R"("caller": "other")"), ElementsAre("0 2"));
  EXPECT_THAT(with("from_library", R"("caller": "libinjector_*")"), ElementsAre("0 2"));
  EXPECT_THAT(with("from_library", R"("caller": "cublas")"), ElementsAre("0 0"));
  EXPECT_THAT(with("handed_over", R"("caller": "application")"), ElementsAre("2 0", "2 0"));
  EXPECT_THAT(with("handed_over", R"("caller": "other")"), ElementsAre("0 2", "0 2"));
  EXPECT_THAT(with("two_threads", R"("thread": 2)"), ElementsAre("0", "2", "0"));
  EXPECT_THAT(with("two_threads", R"("device": 3)"), ElementsAre("2", "2", "2"));
  EXPECT_THAT(with("two_threads", R"("device": 0)"), ElementsAre("0", "0", "0"));
  EXPECT_THAT(with("sizes", R"("min_bytes": 50, "max_bytes": 500)"), ElementsAre("0", "2", "0"));
}

TEST_F(injector, keeps_allocations_within_a_budget_and_says_so) {
  EXPECT_THAT(lines("memory", rules(R"({"budget_bytes": 1000})")),
              ElementsAre("free 1000 of 1000000", "0", "free 400 of 1000000", "2", "0",
                          "free 1000 of 1000000", "0", "free 0 of 1000000"));
}

TEST_F(injector, counts_against_each_budget_what_it_holds_for) {
  // The least of several; what was freed while none held; each caller its own.
  EXPECT_THAT(
      lines("script '" + rules(R"({"budget_bytes": 100}, {"budget_bytes": 100000})") + "' a200 a50 g"),
      ElementsAre(" 2 0 50"));
  const std::string of_1000 = "'" + rules(R"({"budget_bytes": 1000})") + "'", none = "'{\"rules\": []}'";
  EXPECT_THAT(lines("script " + of_1000 + " a600 " + none + " f " + of_1000 + " a600 a600"),
              ElementsAre(" 0 0 0 2"));
  EXPECT_THAT(lines("script " + of_1000 + " a600 " + none + " a600 " + of_1000 + " g a600 f a600"),
              ElementsAre(" 0 0 400 2 0 0"));
  EXPECT_THAT(lines("script '" + rules(R"({"budget_bytes": 1000, "caller": "application"},
                                          {"budget_bytes": 500, "caller": "other"})") +
                    "' a600 l300 a600 l300 f a600 l200 l1"),
              ElementsAre(" 0 0 2 2 0 0 0 2"));
  EXPECT_THAT(
      lines("script " + of_1000 + " a600 '" + rules(R"({"budget_bytes": 1000, "device": 3})") + "' a600"),
      ElementsAre(" 0 2"));
}

TEST_F(injector, tells_another_version_hides_functions_and_delays) {
  EXPECT_THAT(lines("version"), ElementsAre("0 13000"));
  EXPECT_THAT(lines("version", rules(R"({"driver_version": 12020})")), ElementsAre("0 12020"));
  EXPECT_THAT(
      lines("every_way", rules(R"({"function": "cuMemAlloc", "hide": true})")),
      ElementsAre("again -1", "default 0", "dlsym 0", "library 0", "linked 0", "next 0", "v1 -1", "v2 -1"));
  EXPECT_THAT(lines("allocate 1", rules(R"({"function": "cuMemAlloc", "delay_ms": 20})")), ElementsAre("0"));
  EXPECT_EQ(events("injected").back()["did"]["delay_ms"], 20);
}

TEST_F(injector, acts_in_the_processes_that_a_rule_names) {
  const auto with = [&](const std::string& condition) {
    return lines("allocate 1",
                 rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", )" + condition + "}"),
                 "LOCAL_RANK=3");
  };
  if (!emulated) {
    EXPECT_THAT(with(R"("process": "injector_pr?be")"), ElementsAre("2"));
    EXPECT_THAT(with(R"("process": "injector_probe", "environment": {"LOCAL_RANK": "3"})"), ElementsAre("2"));
  }
  EXPECT_THAT(with(R"("process": "nvcc")"), ElementsAre("0"));
  EXPECT_THAT(with(R"("environment": {"LOCAL_RANK": "[1-3]"})"), ElementsAre("2"));
  EXPECT_THAT(with(R"("environment": {"LOCAL_RANK": "4"})"), ElementsAre("0"));
  EXPECT_THAT(with(R"("environment": {"LOCAL_RANK": "3", "NOT_SET": "*"})"), ElementsAre("0"));
}

TEST_F(injector, outlives_libraries_that_resolved_functions) {
  const std::string a = driver_folder + "/libinjector_plugin_a.so",
                    b = driver_folder + "/libinjector_plugin_b.so";
  const std::string program =
      tree + "/bin/injector_closing_probe libraries " + a + " " + b + " " + b + " " + a;
  EXPECT_THAT(lines_of(program), ElementsAre("0 0", "0 0", "0 0", "0 0"));
  EXPECT_THAT(counts(), ElementsAre(Pair("cuMemAlloc_v2 by libinjector_plugin_a.so", 4),
                                    Pair("cuMemAlloc_v2 by libinjector_plugin_b.so", 4)));
  EXPECT_THAT(lines_of(program, rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY",
                                          "caller": "libinjector_plugin_b.so"})")),
              ElementsAre("0 0", "2 0", "2 0", "0 0"))
      << "what they left behind is called by the program";
}

TEST_F(injector, outlives_drivers) {
  const std::string a = driver_folder + "/a/libcuda.so", b = driver_folder + "/b/libcuda.so";
  const std::string program = tree + "/bin/injector_closing_probe drivers " + a + " " + b + " " + b + " " + a;
  const auto free = run("", "", program);
  EXPECT_THAT(free, ElementsAre("0:5 0:4 0:5 0:4", "0:5 0:4 0:5 0:4", "0:5 0:4 0:5 0:4", "0:5 0:4 0:5 0:4"));
  EXPECT_EQ(lines_of(program), free);
  EXPECT_EQ(counts().at("cuDeviceGetCount by injector_closing_probe"), 8);
  EXPECT_EQ(counts().at("cuCtxGetDevice by injector_closing_probe"), 8);
  EXPECT_THAT(lines_of(program, rules(R"({"function": "cuDeviceGetCount", "return": "INVALID_VALUE"})")),
              ElementsAre("1:0 0:4 1:0 0:4", "1:0 0:4 1:0 0:4", "1:0 0:4 1:0 0:4", "1:0 0:4 1:0 0:4"));
}

TEST_F(injector, lets_a_process_without_a_driver_be) {
  if (emulated) GTEST_SKIP() << "the shell is of this processor";
  EXPECT_THAT(
      said_by("LD_PRELOAD=" + library + " CUFAULT_LOG=" + log().string() + " /bin/sh -c 'echo it lives'"),
      ElementsAre("it lives"));
  EXPECT_THAT(events("began"), SizeIs(1));
  EXPECT_THAT(counts(), IsEmpty());
}

}  // namespace
}  // namespace cufault
