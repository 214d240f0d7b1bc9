// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Reports of calls and injections: counts, the log, and its destination.
#include "harness/injector/tests/injector_fixture.hpp"

#include <set>

namespace cufault {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

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
  for (const auto& [nowhere, why] : {std::pair{std::string("/dev/full"), "No space left on device"},
                                     {folder.string(), "Is a directory"},
                                     {(folder / "no/where").string(), "No such file or directory"}})
    EXPECT_THAT(lines("allocate 3", rule, "CUFAULT_LOG=" + nowhere),
                ElementsAre(AllOf(StartsWith("cufault: " + nowhere + ": " + why + "; "),
                                  HasSubstr("are told here instead")),
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

}  // namespace
}  // namespace cufault
