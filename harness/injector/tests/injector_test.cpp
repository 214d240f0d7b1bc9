// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What rules make of calls, and what is told of them.
#include "harness/injector/tests/injector_fixture.hpp"

#include <algorithm>
#include <set>

namespace cufault {

const char* const build_tree = BUILD_TREE;

namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

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

TEST_F(injector, counts_calls_by_function_and_library) {
  lines("every_way");
  const auto all = counts();
  EXPECT_EQ(all.at("cuMemAlloc_v2 by (linked)"), 1);
  EXPECT_EQ(all.at("cuMemAlloc_v2 by injector_probe"), 5);
  EXPECT_EQ(all.at("cuMemAlloc_v2 by libinjector_library.so"), 2);
}

TEST_F(injector, loses_no_call_of_many_threads) {
  for (const std::string& each :
       {std::string(),
        rules(R"({"function": "cuDriverGetVersion", "skip": 99999999, "return": "INVALID_VALUE"})")}) {
    fs::remove(log());
    lines(each.empty() ? "threads 16 1000000" : "threads 16 20000", each);
    EXPECT_EQ(counts().at("cuDriverGetVersion by injector_probe"), each.empty() ? 16'000'000 : 320'000);
  }
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

TEST_F(injector, reports_each_injection_as_it_happens) {
  lines("allocate 3",
        rules(R"({"function": "cuMemAlloc", "skip": 1, "hits": 1, "return": "OUT_OF_MEMORY"})"));
  const auto all = events("injected");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["function"], "cuMemAlloc_v2");
  EXPECT_EQ(all[0]["ordinal"], 2);
  EXPECT_EQ(all[0]["caller"], "injector_probe");
  EXPECT_EQ(all[0]["thread"], 1);
  EXPECT_EQ(all[0]["rule"], 0);
  EXPECT_EQ(all[0]["did"], "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(all[0]["bytes"], 100);
  EXPECT_GT(all[0]["time"], 1.7e9);
}

TEST_F(injector, begins_its_log_with_what_it_is_and_ends_it_with_what_rules_did) {
  lines("allocate 6", rules(R"({"function": "cuMemAlloc", "skip": 2, "hits": 1, "return": "OUT_OF_MEMORY"},
                               {"function": "cuMemFree", "process": "another", "log": true}, {"budget_bytes": 1000})"));
  const auto began = events("began");
  ASSERT_THAT(began, SizeIs(1));
  EXPECT_THAT(began[0]["version"].get<std::string>(), testing::MatchesRegex("[0-9.]+"));
  if (!emulated) {
    EXPECT_THAT(began[0]["program"].get<std::string>(), EndsWith("/injector_probe"));
  }
  EXPECT_THAT(began[0]["not_seen"],
              ElementsAre("functions of export tables", "other namespaces of dlmopen",
                          "libraries opened with RTLD_DEEPBIND", "statically linked programs"));
  EXPECT_EQ(began[0]["rules"], json::parse(R"([{"function": "cuMemAlloc", "does": "CUDA_ERROR_OUT_OF_MEMORY"},
      {"function": "cuMemFree", "does": "none", "here": false}, {"function": "cuMem*", "does": "CUDA_ERROR_OUT_OF_MEMORY"}])"));
  std::ifstream in(log());
  std::string first;
  std::getline(in, first);
  EXPECT_EQ(json::parse(first)["event"], "began");
  std::vector<std::pair<int, int>> held_and_acted;
  for (const json& each : events("rule")) held_and_acted.emplace_back(each["held"], each["acted"]);
  EXPECT_THAT(held_and_acted, ElementsAre(Pair(6, 1), Pair(0, 0), Pair(5, 0)));
}

TEST_F(injector, tells_totals_of_a_forked_child_by_themselves) {
  lines("fork", rules(R"({"function": "cuDriverGetVersion", "every": 2, "delay_ms": 0})"));
  std::vector<std::pair<int, int>> held_and_acted;
  for (const json& each : events("rule")) held_and_acted.emplace_back(each["held"], each["acted"]);
  EXPECT_THAT(held_and_acted, UnorderedElementsAre(Pair(3, 1), Pair(5, 3)));
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

TEST_F(injector, reports_nothing_where_nothing_was_injected) {
  EXPECT_THAT(lines("allocate 3", rules(R"({"function": "cuMemFree", "return": "INVALID_VALUE"})")),
              ElementsAre("0 0 0"));
  EXPECT_THAT(events("injected"), IsEmpty());
}

TEST_F(injector, logs_calls_in_their_order) {
  lines("allocate 2", rules(R"({"function": "*", "log": true})"));
  std::vector<std::string> names;
  for (const json& each : events("call")) names.push_back(each["function"]);
  EXPECT_THAT(names, ElementsAre("cuGetProcAddress_v2", "cuMemAlloc_v2", "cuMemAlloc_v2"));
  for (const json& each : events("call")) {
    EXPECT_EQ(each["result"], "CUDA_SUCCESS");
    EXPECT_GT(each["microseconds"], 0.0);
    EXPECT_THAT(each["offset"].get<std::string>(), testing::MatchesRegex("0x[0-9a-f]+"));
    EXPECT_FALSE(each.contains("symbol")) << "the probe exports no function";
  }
  fs::remove(log());
  lines("exported", rules(R"({"function": "cuMemAlloc", "log": true})"));
  ASSERT_THAT(events("call"), SizeIs(2));
  EXPECT_EQ(events("call")[0]["symbol"], "library_allocates");
  EXPECT_FALSE(events("call")[1].contains("symbol")) << "a function that its library does not export";
  fs::remove(log());
  lines(
      "allocate 1",
      rules(
          R"({"function": "cuMemAlloc", "log": true}, {"function": "cuMemAlloc", "return": "OUT_OF_MEMORY"})"));
  ASSERT_THAT(events("call"), SizeIs(1));
  EXPECT_EQ(events("call")[0]["result"], "CUDA_ERROR_OUT_OF_MEMORY");
}

TEST_F(injector, tells_of_a_rule_behind_a_call_that_a_budget_refused) {
  EXPECT_THAT(
      lines("allocate 1",
            rules(R"({"function": "cuMemAlloc", "when": "after", "return": "NOT_PERMITTED", "force": true},
                                            {"budget_bytes": 1})")),
      ElementsAre("2"));
  ASSERT_THAT(events("injected"), SizeIs(2));
  std::set<int> told;
  for (const json& each : events("injected")) told.insert(each["rule"].get<int>());
  EXPECT_THAT(told, ElementsAre(0, 1));
  for (const json& each : events("rule")) EXPECT_EQ(each["acted"], 1);
}

TEST_F(injector, counts_a_forked_child_by_itself) {
  lines("fork");
  std::multiset<int> calls;
  for (const json& each : events("calls"))
    if (each["function"] == "cuDriverGetVersion") calls.insert(each["calls"].get<int>());
  EXPECT_THAT(calls, UnorderedElementsAre(3, 5));
}

TEST_F(injector, counts_calls_however_the_process_ends) {
  for (const char* how : {"_exit", "_Exit", "quick_exit", "vfork"}) {
    fs::remove(log());
    lines(std::string("ends ") + how);
    EXPECT_THAT(counts(), Contains(Pair("cuDriverGetVersion by injector_probe", 3))) << how;
  }
  fs::remove(log());
  lines("version", "", "CALL_AT_THE_END=1");
  EXPECT_THAT(counts(), Contains(Pair("cuDriverGetVersion by libinjector_library.so", 1)));
}

TEST_F(injector, leaves_memory_to_whoever_frees_it) {
  for (const std::string& preload : {other_allocator + ":" + library, library + ":" + other_allocator}) {
    EXPECT_THAT(run("", preload, probe + " strings"), ElementsAre("freed"));
    EXPECT_THAT(run("", preload + ":" + host_library, probe + " strings"), ElementsAre("freed"));
    EXPECT_THAT(run("", host_library + ":" + preload, probe + " strings"), ElementsAre("freed"));
    fs::remove(log());
    EXPECT_THAT(
        run("CUFAULT_LOG=" + log().string() + " CUFAULT_RULES='" +
                rules(R"({"function": "mmap", "return": "ENOMEM", "caller": "libinjector_other*"})") + "'",
            preload + ":" + host_library, probe + " strings"),
        ElementsAre("freed"));
    EXPECT_THAT(events("injected"), SizeIs(1));
    // A signal handler ends the process while another allocator holds its lock.
    fs::remove(log());
    EXPECT_THAT(run("CUFAULT_LOG=" + log().string(), preload, probe + " ends within_malloc"), IsEmpty());
    EXPECT_THAT(counts(), Contains(Pair("cuDriverGetVersion by injector_probe", 3)));
  }
}

TEST_F(injector, says_where_a_kernel_could_not_be_started) {
  for (const char* kernel : {"trap", "assert"}) {
    fs::remove(log());
    const std::string rule = rules(std::string(R"({"function": "cuMemAlloc", "kernel": ")") + kernel + "\"}");
    lines("allocate 1", rule);
    ASSERT_THAT(events("injected"), SizeIs(1));
    EXPECT_EQ(events("injected")[0]["did"], kernel);
    lines("allocate 1", rule, "FAKE_NO_KERNELS=1");
    EXPECT_THAT(events("injected"), SizeIs(1));
    ASSERT_THAT(events("not injected"), SizeIs(1));
    EXPECT_EQ(events("not injected")[0]["because"], "CUDA_ERROR_NO_BINARY_FOR_GPU");
  }
}

TEST_F(injector, tells_injections_elsewhere_where_the_log_cannot_be_written) {
  const std::string rule = rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "hits": 2})");
  for (const std::string& nowhere :
       {std::string("/dev/full"), folder.string(), (folder / "no/where").string()})
    EXPECT_THAT(
        lines("allocate 3", rule, "CUFAULT_LOG=" + nowhere),
        ElementsAre(AllOf(StartsWith("cufault: " + nowhere + ": "), HasSubstr("are told here instead")),
                    HasSubstr(R"("event":"injected")"), HasSubstr(R"("event":"injected")"), "2 2 0"))
        << nowhere;
}

TEST_F(injector, tells_injections_where_the_process_wants_them) {
  const std::string rule = "'" + rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY"})") + "' ";
  const fs::path other = folder / "other";
  EXPECT_THAT(lines("script " + rule + "a1 " + other.string() + " a1 a1"), ElementsAre(" 2 2 2"));
  EXPECT_THAT(events("injected"), SizeIs(1));
  fs::rename(other, log());
  EXPECT_THAT(events("injected"), SizeIs(2));
}

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

TEST_F(injector, does_not_wait_for_itself_in_a_fork) {
  EXPECT_THAT(lines_with_host("forks_beside_a_handler", R"({"rules": [], "log_environment": true})",
                              "HANDLE_FORKS=1"),
              ElementsAre("forked"));
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
}

TEST_F(injector, refuses_what_a_budget_would_not_heed) {
  EXPECT_THAT(lines("allocate 1", rules(R"({"budget_bytes": 1, "skip": 2})")),
              ElementsAre(HasSubstr("rules[0].skip: a budget holds for every call"), "0"));
  EXPECT_THAT(lines("allocate 1", rules(R"({"budget_bytes": 1, "min_bytes": 2})")),
              ElementsAre(HasSubstr("rules[0].min_bytes: a budget holds for every call"), "0"));
}

TEST_F(injector, refuses_rules_that_nothing_ever_meets) {
  EXPECT_THAT(
      lines("allocate 1", rules(R"({"function": "cuMemFree", "return": "INVALID_VALUE", "min_bytes": 1})")),
      ElementsAre(HasSubstr("rules[0].min_bytes: cuMemFree allocates nothing"), "0"));
  EXPECT_THAT(lines("allocate 1", rules(R"({"function": "malloc", "return": "ENOMEM", "device": 0})")),
              ElementsAre(HasSubstr("rules[0].device: a host function has no device"), "0"));
  EXPECT_THAT(
      lines("allocate 1", rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "thread": 0})")),
      ElementsAre(HasSubstr("rules[0].thread: at least 1"), "0"));
  EXPECT_THAT(lines("allocate 1", folder.string()), ElementsAre(HasSubstr("is no ordinary file"), "0"));
}

TEST_F(injector, refuses_codes_of_the_host_for_the_driver_and_says_so_in_one_line) {
  EXPECT_THAT(lines("allocate 1", rules(R"({"function": "cuMem*", "return": "ENOMEM", "force": true})")),
              ElementsAre(HasSubstr("rules[0].return: cuMem* is no function of the host"), "0"));
  EXPECT_THAT(lines("allocate 1", rules(R"({"function": "cu\nMem", "return": "OUT_OF_MEMORY"})")),
              ElementsAre(HasSubstr("unknown function \"cu?Mem\""), "0"));
  EXPECT_THAT(lines("allocate 1", "", "CUFAULT_FAIL='cu\nMem=OUT_OF_MEMORY'"),
              ElementsAre(HasSubstr("--fail cu?Mem=OUT_OF_MEMORY: unknown function"), "0"));
}

TEST_F(injector, takes_short_texts_too) {
  EXPECT_THAT(lines("allocate 4", "", "CUFAULT_FAIL='cuMemAlloc_v2:3=OUT_OF_MEMORY'"),
              ElementsAre("0 0 2 0"));
  EXPECT_THAT(lines("allocate 4", "", "CUFAULT_FAIL='cuMemAlloc:3+=OUT_OF_MEMORY cuMemFree=INVALID_VALUE'"),
              ElementsAre("0 0 2 2"));
}

TEST_F(injector, fails_host_allocations) {
  EXPECT_THAT(
      lines_with_host(
          "host_calls",
          rules(R"({"function": "malloc", "return": "ENOMEM", "min_bytes": 1234, "max_bytes": 1234})")),
      ElementsAre("malloc -", "calloc +", "mmap +", "mmap64 +"));
  EXPECT_THAT(lines_with_host("host_calls",
                              rules(R"({"function": "mmap", "return": "ENOMEM", "caller": "application"})")),
              ElementsAre("malloc +", "calloc +", "mmap -", "mmap64 -"));
  fs::remove(log());
  lines_with_host("version", "", "CUFAULT_FAIL='malloc:1=ENOMEM'");  // never one of its own
  ASSERT_THAT(events("injected"), SizeIs(1));
  EXPECT_NE(events("injected")[0]["caller"], "libcufault.so");
}

TEST_F(injector, refuses_rules_of_the_host_where_nothing_stands_in_front_of_it) {
  const std::string of_host = rules(R"({"function": "malloc", "return": "ENOMEM"})");
  EXPECT_THAT(lines("allocate 1", of_host), ElementsAre(HasSubstr("need libcufault_host.so"), "0"));
  EXPECT_THAT(lines("allocate 1", R"({"rules": [], "log_environment": true})"),
              ElementsAre(HasSubstr("need libcufault_host.so"), "0"));
  EXPECT_THAT(lines("script '" + of_host + "' a1"), ElementsAre(" refused 0"));
}

TEST_F(injector, logs_questions_for_the_environment) {
  lines_with_host("host_calls", R"({"rules": [], "log_environment": true})");
  const auto all = events("getenv");
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const json& each) {
    return each["variable"] == "ASKED_BY_THE_PROBE" && each["caller"] == "injector_probe";
  }));
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

/// NVIDIA's own libraries on the fake driver. They get as far as asking for its functions and starting it.
class injector_of_libraries : public injector {
 protected:
  void SetUp() override {
    if (emulated) GTEST_SKIP() << "the toolkit's libraries are for this processor";
    for (const std::string& each : {cublas, cublaslt})
      if (!fs::exists(each)) GTEST_SKIP() << each << " is not there";
  }
  const std::string cublas = TOOLKIT_LIBRARIES "/libcublas.so." TOOLKIT_MAJOR,
                    cublaslt = TOOLKIT_LIBRARIES "/libcublasLt.so." TOOLKIT_MAJOR;
  const std::string both = "create " + cublas + " cublasCreate_v2 " + cublaslt + " cublasLtCreate";
};

TEST_F(injector_of_libraries, sees_what_each_cublas_resolves_and_calls) {
  const auto free = without_preload(both);
  EXPECT_THAT(free, ElementsAre(StartsWith("cublasCreate_v2 "), StartsWith("cublasLtCreate ")));
  EXPECT_EQ(lines(both), free);
  const auto all = counts();
  for (const std::string& each : {cublas, cublaslt}) {
    const std::string by = " by " + fs::path(each).filename().string();
    EXPECT_GT(all.at("cuGetProcAddress_v2" + by), 100) << "it asks for hundreds of functions";
    EXPECT_EQ(all.at("cuInit" + by), 1);
    EXPECT_GE(all.at("cuDriverGetVersion" + by), 1);
  }
}

TEST_F(injector_of_libraries, acts_on_the_calls_of_one_of_them) {
  for (const std::string name : {"cublas", "cublasLt"}) {
    fs::remove(log());
    lines(both, rules(R"({"function": "cuInit", "return": "NO_DEVICE", "caller": ")" + name + "\"}"));
    const auto all = events("injected");
    ASSERT_EQ(all.size(), 1U) << name;
    EXPECT_EQ(all[0]["caller"], "lib" + name + ".so." TOOLKIT_MAJOR);
    EXPECT_EQ(all[0]["function"], "cuInit");
  }
  fs::remove(log());
  lines(both, rules(R"({"function": "cuInit", "return": "NO_DEVICE", "caller": "application"})"));
  EXPECT_THAT(events("injected"), IsEmpty());
}

TEST_F(injector_of_libraries, stands_between_a_runtime_and_its_driver) {
  const std::string runtime = tree + "/bin/injector_runtime_probe";
  EXPECT_THAT(lines_of(runtime + " version"), ElementsAre("cudaSuccess 13000"));
  EXPECT_GT(counts().at("cuGetProcAddress_v2 by injector_runtime_probe"), 100);
  EXPECT_THAT(lines_of(runtime + " version", rules(R"({"driver_version": 12020, "caller": "application"})")),
              ElementsAre("cudaSuccess 12020"));
}

/// A runtime starts on NVIDIA's own driver alone, so that this needs a GPU; no library of the toolkit, for it is linked in.
class injector_of_a_runtime : public injector {
 protected:
  void SetUp() override {
    if (emulated) GTEST_SKIP() << "the toolkit's runtime is for this processor";
  }
};

TEST_F(injector_of_a_runtime, stands_in_front_of_what_it_hands_out) {
  const std::string command =
      " env LD_PRELOAD=" + library + " " + tree + "/bin/injector_runtime_probe entry_points 2>&1";
  const auto free = said_by("CUFAULT_LOG=" + log().string() + command);
  ASSERT_FALSE(free.empty());
  if (free[0].starts_with("no runtime")) GTEST_SKIP() << free[0] << "; this needs a GPU";
  EXPECT_THAT(free, Each(EndsWith(": 0")));
  int calls = 0;
  for (const auto& [what, n] : counts()) calls += what.starts_with("cuMemAlloc") ? n : 0;
  EXPECT_GE(calls, static_cast<int>(free.size()));
  const auto failed =
      said_by("CUFAULT_LOG=" + log().string() + " CUFAULT_FAIL=cuMemAlloc=OUT_OF_MEMORY" + command);
  EXPECT_EQ(failed.size(), free.size());
  EXPECT_THAT(failed, Each(EndsWith(": 2")));
}

/// What `cufault inject` or `cufault trace` says, exit code included.
class inject_command : public injector {
 protected:
  void SetUp() override {
    if (emulated) GTEST_SKIP() << "the command is for this processor";
  }
  std::vector<std::string> cli(const std::string& words) {
    return said_by("env ASAN_OPTIONS=verify_asan_link_order=0 LD_LIBRARY_PATH=" + driver_folder +
                   " " CLI_PROGRAM " " + words + " 2>&1; echo exit code $?");
  }
};

TEST_F(inject_command, becomes_the_command) {
  EXPECT_THAT(cli("inject --log " + log().string() + " --fail cuMemAlloc_v2:3=OUT_OF_MEMORY -- " + probe +
                  " allocate 4"),
              ElementsAre("0 0 2 0", "exit code 0"));
  EXPECT_EQ(events("injected").size(), 1U);
  EXPECT_THAT(cli("inject --fail cuMemAlloc_v2:2=OUT_OF_MEMORY --fail cuMemAlloc_v2:3+=INVALID_VALUE --log " +
                  log().string() + " -- " + probe + " allocate 4"),
              ElementsAre("0 2 1 1", "exit code 0"));
  EXPECT_THAT(cli("inject -- sh -c 'exit 7'"), ElementsAre("exit code 7"));
  EXPECT_THAT(cli("inject -- no-such-command"),
              ElementsAre("cufault: no-such-command: No such file or directory", "exit code 127"));
}

TEST_F(inject_command, does_not_run_the_command_by_wrong_rules_unless_it_is_lenient) {
  EXPECT_THAT(cli("inject -- echo it ran"), ElementsAre("it ran", "exit code 0"));
  EXPECT_THAT(cli("inject --lenient --fail cuMemAlloc_v2:x=OUT_OF_MEMORY -- " + probe + " allocate 1"),
              ElementsAre(HasSubstr("going on without injection"), "0", "exit code 0"));
  EXPECT_THAT(cli("inject --fail cuMemAlloc_v2:x=OUT_OF_MEMORY -- echo it ran"),
              ElementsAre(HasSubstr("N is a number from 1 on"), "exit code 2"));
  EXPECT_THAT(cli("inject --fail cuMemAlocc=OUT_OF_MEMORY -- echo it ran"),
              ElementsAre(HasSubstr("unknown function \"cuMemAlocc\""), "exit code 2"));
  EXPECT_THAT(
      cli("inject --fail cuMemFree=OUT_OF_MEMORY -- echo it ran"),
      ElementsAre(
          HasSubstr("cuMemFree cannot return CUDA_ERROR_OUT_OF_MEMORY; in a file of rules, \"force\": "
                    "true does it all the same"),
          "exit code 2"));
}

TEST_F(inject_command, requires_that_rules_acted) {
  const std::string twice = "inject --log " + log().string() +
                            " --fail cuMemAlloc:2=OUT_OF_MEMORY --fail cuMemAlloc:4=OUT_OF_MEMORY --require ";
  EXPECT_THAT(cli(twice + "2 -- " + probe + " allocate 4"), ElementsAre("0 2 0 2", "exit code 0"));
  EXPECT_THAT(
      cli(twice + "3 -- " + probe + " allocate 4"),
      ElementsAre("0 2 0 2", "cufault: rules acted 2 times, and 3 were required; the command ended with 0",
                  "exit code 3"));
  EXPECT_THAT(cli(twice + "1 -- sh -c 'true'"),
              ElementsAre("cufault: rules acted 0 times, and 1 were required; the command ended with 0",
                          "exit code 3"));
  EXPECT_THAT(
      cli(twice + "2 -- sh -c '" + probe + " allocate 2 & " + probe + " allocate 3; wait; exit 7'").back(),
      "exit code 7")
      << "in two processes together";
  EXPECT_THAT(cli("inject --fail cuDriverGetVersion:2=INVALID_VALUE --require 1 -- " + tree +
                  "/bin/injector_process_probe ends kill")
                  .back(),
              "exit code 137");
  EXPECT_THAT(cli("inject --fail malloc:1=ENOMEM --require 1 -- " + probe + " version").back(), "exit code 0")
      << "before any driver call";
}

TEST_F(inject_command, tells_that_no_rule_meets_a_malloc_of_the_program_itself) {
  EXPECT_THAT(cli("inject --log " + log().string() + " --fail malloc=ENOMEM --require 1 -- " + tree +
                  "/bin/injector_own_malloc_probe allocate 1"),
              ElementsAre("0", "cufault: rules acted 0 times, and 1 were required; the command ended with 0",
                          "exit code 3"));
  ASSERT_THAT(events("rule"), SizeIs(1));
  EXPECT_EQ(events("rule")[0]["held"], 0);
}

TEST_F(inject_command, comes_behind_what_is_preloaded_already) {
  EXPECT_THAT(cli("inject -- sh -c 'echo $LD_PRELOAD'"), ElementsAre(library, "exit code 0"));
  const std::string other = driver_folder + "/libinjector_library.so";
  setenv("LD_PRELOAD", other.c_str(), 1);
  const auto said = cli("inject -- sh -c 'echo $LD_PRELOAD'");
  unsetenv("LD_PRELOAD");
  EXPECT_THAT(said, ElementsAre(other + ":" + library, "exit code 0"));
}

TEST_F(inject_command, traces_by_library) {
  const auto said = cli("trace -- " + probe + " sizes");
  EXPECT_THAT(said, testing::IsSupersetOf({"0", "  injector_probe", "               3 cuMemAlloc_v2",
                                           "  injector_probe: 3 allocations, 1110 bytes, the largest 1000",
                                           "exit code 0"}));
  EXPECT_EQ(cli("trace -- sh -c 'kill -9 $$'").back(), "exit code 137");
  EXPECT_THAT(cli("trace -- true"), Contains(HasSubstr("none: the command called no function")));
  EXPECT_THAT(cli("trace -- no-such-command"),
              Contains(HasSubstr("unknown: no program of the command loaded")));
}

TEST_F(inject_command, traces_a_command_however_it_ends) {
  const std::string ends = tree + "/bin/injector_process_probe ends ";
  for (const std::string how : {"exit", "segv", "abort", "kill", "_exit", "exec true"})
    EXPECT_THAT(cli("trace -- " + ends + how), Contains("               5 cuDriverGetVersion")) << how;
  EXPECT_THAT(cli("trace -- " + ends + "kill"), Contains("  until signal 9 (Killed) ended the command"));
  EXPECT_THAT(cli("trace -- " + ends + "fork"), Contains("               6 cuDriverGetVersion"))
      << "and its child's";
  EXPECT_THAT(cli("trace -- " + ends + "exec " + ends + "kill"),
              Contains("              10 cuDriverGetVersion"));
}

TEST_F(inject_command, writes_every_call_of_all_processes_as_a_chrome_trace) {
  const fs::path file = folder / "trace.json";
  const std::string ends = tree + "/bin/injector_process_probe ends ";
  EXPECT_EQ(cli("trace --chrome " + file.string() + " -- sh -c '" + probe + " threads 2 3 & " + ends +
                "kill; wait; exit 7'")
                .back(),
            "exit code 7");
  std::ifstream in(file);
  const json trace = json::parse(in);
  std::map<std::string, std::set<long>> threads;
  std::map<long, std::string> programs;
  std::map<std::string, int> calls;
  std::map<long, double> over;  // by thread: when the call before ended
  std::multimap<double, json> in_order;
  for (const json& each : trace["traceEvents"])
    if (each["ph"] == "X")
      in_order.emplace(each["ts"], each);
    else
      programs[each["pid"]] = each["args"]["name"];
  for (const auto& [began, each] : in_order) {
    const std::string program = programs.at(each["pid"]);
    EXPECT_GE(began, over[each["tid"]] - 0.002) << "calls of one thread do not overlap";
    over[each["tid"]] = began + each["dur"].get<double>();
    if (each["name"] != "cuDriverGetVersion") continue;
    ++calls[program];
    threads[program].insert(each["tid"].get<long>());
    EXPECT_THAT(each["args"]["caller"].get<std::string>(), testing::Not(IsEmpty()));
    EXPECT_EQ(each["args"]["result"], "CUDA_SUCCESS");
    EXPECT_THAT(each["args"]["offset"].get<std::string>(), StartsWith("0x"));
  }
  EXPECT_THAT(calls, UnorderedElementsAre(Pair("injector_probe", 6), Pair("injector_process_probe", 5)))
      << "the second was killed";
  EXPECT_THAT(threads["injector_probe"], SizeIs(2));
  EXPECT_THAT(threads["injector_process_probe"], SizeIs(2));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1) << "its log is gone";
  EXPECT_THAT(cli("trace --chrome " + folder.string() + " -- echo it ran"),
              ElementsAre(HasSubstr("Is a directory"), "exit code 2"));
}

TEST_F(inject_command, reads_a_configuration_of_faultinj) {
  const fs::path file = folder / "faultinj.json";
  const std::string inject = "inject --faultinj " + file.string() + " ";
  std::ofstream(file) << R"({"cudaDriverFaults": {"cuMemAlloc_v2":
    {"percent": 100, "injectionType": 2, "substituteReturnCode": 719, "interceptionCount": 2}}})";
  EXPECT_THAT(cli(inject + "--require 2 -- " + probe + " allocate 3"), Contains("719 719 0"));
  EXPECT_THAT(cli(inject + "--rules " + file.string() + " -- echo it ran"),
              ElementsAre(HasSubstr("rules come from one file"), "exit code 2"));
  std::ofstream(file) << R"({"cudaRuntimeFaults": {"cudaNothing": {"percent": 100, "injectionType": 0}}})";
  EXPECT_THAT(cli(inject + "-- echo it ran"),
              ElementsAre(HasSubstr("no function of the CUDA runtime"), "exit code 2"));
  std::ofstream(file) << rules("");
  EXPECT_THAT(cli(inject + "-- echo it ran"),
              ElementsAre(HasSubstr("no configuration of faultinj"), "exit code 2"));
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
