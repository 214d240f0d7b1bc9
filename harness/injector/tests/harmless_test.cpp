// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The injector is harmless beside other interposing libraries, on unusual stacks, and in cancelled threads.
#include "harness/injector/tests/injector_fixture.hpp"

#include <numeric>

namespace cufault {
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

const std::string process_probe = tree + "/bin/injector_process_probe",
                  closing_probe = tree + "/bin/injector_closing_probe",
                  shim = driver_folder + "/libinjector_shim.so";

const std::string no_memory = rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY"})");

class harmless : public injector {
 protected:
  std::vector<std::string> said(const std::string& what, const std::string& rules = "",
                                const std::string& more = "") {
    return lines_of(process_probe + " " + what, rules, more);
  }
  std::vector<std::string> said_beside(const std::string& preload, const std::string& what,
                                       const std::string& rules = "") {
    return run("CUFAULT_LOG=" + log().string() + (rules.empty() ? "" : " CUFAULT_RULES='" + rules + "'"),
               preload, process_probe + " " + what);
  }
};

TEST_F(harmless, finds_the_next_definition_for_a_program_and_for_a_shim) {
  const auto bare = run("", "", process_probe + " ways 100");
  EXPECT_THAT(bare,
              ElementsAre("linked: 0", "dlsym: 0", "next: 0", "looked up: 0", "nothing: 0", "told why: 1"));
  EXPECT_EQ(said("ways 100"), bare);
  const auto by_shim = run("", shim, process_probe + " ways 100");
  EXPECT_THAT(by_shim, Contains("linked: shim 0"));
  for (const std::string& preload : {shim + ":" + library, library + ":" + shim}) {
    EXPECT_EQ(said_beside(preload, "ways 100"), by_shim) << preload;
    fs::remove(log());
    EXPECT_THAT(said_beside(preload, "ways 100", no_memory),
                ElementsAre(HasSubstr("linked: "), "dlsym: 2", HasSubstr("next: "), "looked up: 2",
                            "nothing: 0", "told why: 1"));
    EXPECT_THAT(events("injected"), SizeIs(4)) << "once for each call: " << preload;
  }
}

TEST_F(harmless, works_beside_another_library_in_front_of_dlsym_in_either_order) {
  const auto bare = run("", limiter, process_probe + " ways 100");
  EXPECT_THAT(bare, Contains("looked up: limiter 0"));
  const auto bare_large = run("", limiter, process_probe + " ways 2000");
  EXPECT_THAT(bare_large, Contains("looked up: limiter 2"));
  for (const std::string& preload : {limiter + ":" + library, library + ":" + limiter}) {
    EXPECT_EQ(said_beside(preload, "ways 100"), bare) << preload;
    EXPECT_EQ(said_beside(preload, "ways 2000"), bare_large) << preload;
    fs::remove(log());
    EXPECT_THAT(
        said_beside(preload, "ways 100", no_memory),
        ElementsAre(AllOf(StartsWith("linked: "), EndsWith("2")), AllOf(StartsWith("dlsym: "), EndsWith("2")),
                    AllOf(StartsWith("next: "), EndsWith("2")),
                    AllOf(StartsWith("looked up: "), EndsWith("2")), "nothing: 0", "told why: 1"))
        << preload;
    EXPECT_THAT(events("injected"), SizeIs(4)) << "once for each call: " << preload;
  }
}

TEST_F(harmless, sees_a_call_once_that_a_shim_makes_after_another) {
  for (const std::string& preload : {shim + ":" + library, library + ":" + shim}) {
    fs::remove(log());
    EXPECT_THAT(said_beside(preload, "ways 100", rules(R"({"function": "cuMem*", "log": true})")),
                Contains("linked: shim 0"));
    int allocations = 0;
    for (const json& each : events("call")) allocations += each["function"] == "cuMemAlloc_v2" ? 1 : 0;
    EXPECT_EQ(allocations, 4) << preload;
  }
}

TEST_F(harmless, numbers_each_call_of_two_threads_once_where_another_library_passes_it_on) {
  constexpr int calls = 1000;  // of each
  for (const std::string& preload : {library, library + ":" + shim}) {
    fs::remove(log());
    said_beside(preload, "in_two_threads " + std::to_string(calls),
                rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "when": "after"})"));
    std::vector<int> numbers, all(2 * calls);
    for (const json& each : events("injected")) numbers.push_back(each["call"]);
    std::sort(numbers.begin(), numbers.end());
    std::iota(all.begin(), all.end(), 1);
    EXPECT_EQ(numbers, all) << preload;
  }
}

class beside_a_sharer : public harmless {
 protected:
  const std::string in_front = library + ":" + sharer, behind = sharer + ":" + library;
  /// Lines of a process with a library that may hang it; none after a while.
  std::vector<std::string> within_time(const std::string& preload, const std::string& program,
                                       const std::string& rules = "", const std::string& more = "") {
    fs::remove(log());
    return run("CUFAULT_LOG=" + log().string() + " " + more +
                   (rules.empty() ? "" : " CUFAULT_RULES='" + rules + "'") + " timeout 60",
               preload, program);
  }
};

TEST_F(beside_a_sharer, both_see_the_call) {
  const auto bare = run("", sharer, probe + " every_way"),
             bare_large = run("", sharer, process_probe + " ways 2000");
  ASSERT_THAT(bare, AllOf(SizeIs(8), Each(AllOf(StartsWith("sharer "), EndsWith(" 0")))));
  ASSERT_THAT(bare_large, Contains("looked up: sharer 2"));
  for (const std::string& preload : {in_front, behind}) {
    EXPECT_EQ(within_time(preload, probe + " every_way"), bare) << preload;
    EXPECT_EQ(within_time(preload, process_probe + " ways 2000"), bare_large) << preload;
  }
  EXPECT_THAT(within_time(in_front, probe + " every_way", no_memory), AllOf(SizeIs(8), Each(EndsWith(" 2"))));
  EXPECT_THAT(events("injected"), SizeIs(8)) << "once for each call";
  for (const json& each : events("injected")) EXPECT_EQ(each["caller"], "injector_probe");
  EXPECT_THAT(within_time(behind, probe + " every_way",
                          rules(R"({"function": "cuMemAllocManaged", "return": "OUT_OF_MEMORY"})")),
              AllOf(SizeIs(8), Each(AllOf(StartsWith("sharer "), EndsWith(" 2")))));
  EXPECT_THAT(events("injected"), SizeIs(8)) << "what it calls itself";
}

TEST_F(beside_a_sharer, says_who_stands_in_front) {
  within_time(behind, probe + " every_way");
  EXPECT_THAT(events("began").at(0)["in_front"], ElementsAre("libinjector_sharer.so"));
  within_time(in_front, probe + " every_way");
  EXPECT_FALSE(events("began").at(0).contains("in_front"));
}

TEST_F(beside_a_sharer, counts_an_allocation_once_against_a_budget) {
  EXPECT_THAT(
      within_time(in_front, process_probe + " ways 600", rules(R"({"budget_bytes": 1000})")),
      ElementsAre("linked: sharer 0", "dlsym: 2", "next: 2", "looked up: 2", "nothing: 0", "told why: 1"));
  EXPECT_THAT(within_time(behind, process_probe + " ways 600", rules(R"({"budget_bytes": 1000})")),
              testing::IsSupersetOf({"linked: sharer 0", "dlsym: sharer 2", "looked up: sharer 2"}));
}

TEST_F(beside_a_sharer, counts_by_who_looked_up) {
  within_time(in_front, process_probe + " ways 100");
  EXPECT_THAT(counts(), AllOf(Contains(Pair("cuMemAlloc_v2 by (linked)", 1)),
                              Contains(Pair("cuMemAlloc_v2 by injector_process_probe", 3))));
}

TEST_F(beside_a_sharer, knows_a_look_up_by_what_it_was_asked_for) {
  EXPECT_THAT(within_time(in_front, process_probe + " looks_up_twice"), ElementsAre("sharer 42"));
  EXPECT_THAT(counts(), Contains(Pair("cuOfALaterDriver by injector_process_probe", 1)));
}

TEST_F(beside_a_sharer, finds_what_that_has_in_another_file) {
  const fs::path copy = folder / "copy.so";
  fs::copy_file(sharer, copy);
  EXPECT_THAT(within_time(in_front, probe + " every_way", no_memory, "SHARER_LOOKS_IN=" + copy.string()),
              AllOf(SizeIs(8), Each(EndsWith(" 2"))));
}

TEST_F(harmless, has_no_driver_where_there_is_none) {
  const auto bare = run("", "", closing_probe + " absent");
  EXPECT_THAT(bare, ElementsAre("none 0 0 0 0, with an error", "local 0 0 0 0, with an error",
                                "global 1 0 1 0, with an error"));
  EXPECT_EQ(lines_of(closing_probe + " absent"), bare);
}

TEST_F(harmless, calls_from_a_stack_that_ends_at_a_guard_page) {
  EXPECT_THAT(said("fiber"), ElementsAre("0"));
  EXPECT_THAT(said("fiber", rules(R"({"function": "cuMemAlloc", "delay_ms": 0})")), ElementsAre("0"));
  EXPECT_THAT(said("fiber", no_memory), ElementsAre("2"));
  if (emulated)
    GTEST_SKIP() << "what comes after a call reads the stack by process_vm_readv, which qemu lacks";
  EXPECT_THAT(
      said("fiber", rules(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "when": "after"})")),
      ElementsAre("2"));
}

TEST_F(harmless, leaves_no_frame_in_backtraces_where_nothing_comes_after_the_call) {
  const auto bare = run("", "", process_probe + " frames");
  ASSERT_THAT(bare, AllOf(SizeIs(2), Each(StartsWith("0 injector_process_probe+0x"))));
  EXPECT_EQ(said("frames"), bare);
  EXPECT_EQ(said("frames", rules(R"({"function": "cuDeviceGetName", "delay_ms": 0})")), bare);
}

TEST_F(harmless, keeps_the_callers_in_backtraces_where_a_rule_acts_after_the_call) {
  const auto bare = run("", "", process_probe + " frames");
  const auto behind =
      said("frames", rules(R"({"function": "cuDeviceGetName", "return": "INVALID_VALUE", "when": "after"})"));
  ASSERT_EQ(bare.size(), behind.size());
  for (std::size_t i = 0; i < bare.size(); ++i) {
    EXPECT_THAT(behind[i], StartsWith("1 libcufault.so+0x"));
    EXPECT_THAT(behind[i], EndsWith(bare[i].substr(1))) << "behind frames of the injector all others follow";
  }
}

TEST_F(harmless, lets_threads_be_cancelled) {
  EXPECT_THAT(said("cancelled_in_delay", rules(R"({"function": "cuMemAlloc", "delay_ms": 50})")),
              ElementsAre("cancelled"));
  EXPECT_THAT(said("cancelled_in_driver"), ElementsAre("cancelled"));
  EXPECT_THAT(said("cancelled_in_driver", rules(R"({"function": "cuCtxSynchronize", "delay_ms": 0})")),
              ElementsAre("cancelled"));
  EXPECT_THAT(said("cancelled_in_driver",
                   rules(R"({"function": "cuCtxSynchronize", "return": "LAUNCH_FAILED", "when": "after"})")),
              ElementsAre("cancelled"));
}

TEST_F(harmless, ends_no_cancelled_thread_where_it_writes_its_log) {
  const std::string allocates = "cancelled_before_call";
  EXPECT_THAT(said(allocates), ElementsAre("returned 0"));
  EXPECT_THAT(said(allocates, rules(R"({"function": "cuMemAlloc", "log": true})")),
              ElementsAre("returned 0"));
  EXPECT_THAT(events("call"), SizeIs(1)) << "its line is whole";
  EXPECT_THAT(said(allocates, no_memory), ElementsAre("returned 2"));
  EXPECT_THAT(events("injected"), SizeIs(1));
  // If the log cannot be written, standard error gets the message.
  EXPECT_THAT(said(allocates, no_memory, "CUFAULT_LOG=" + folder.string()), Contains("returned 2"));
}

TEST_F(harmless, meets_new_of_cpp_as_the_malloc_that_it_is) {
  const auto result_of_new = [&](const std::string& caller) {
    fs::remove(log());
    return run(
        "CUFAULT_LOG=" + log().string() + " CUFAULT_RULES='" +
            rules(R"({"function": "malloc", "min_bytes": 54321, "max_bytes": 54321, "return": "ENOMEM")" +
                  caller + "}") +
            "'",
        library + ":" + host_library, process_probe + " new");
  };
  for (const std::string caller : {"", R"(, "caller": "libstdc++.so*")"}) {
    EXPECT_THAT(result_of_new(caller), ElementsAre("12")) << caller;
    EXPECT_EQ(events("rule").at(0)["acted"], 1) << caller;
  }
  EXPECT_THAT(result_of_new(R"(, "caller": "application")"), ElementsAre("0"));
  EXPECT_EQ(events("rule").at(0)["held"], 0) << "and that is told";
}

TEST_F(harmless, defines_no_function_of_the_host_where_no_rule_asks) {
  const std::string files =
      process_probe +
      " files_of malloc calloc realloc memalign aligned_alloc posix_memalign free strdup "
      "mmap getenv secure_getenv";
  const auto bare = run("", "", files);
  ASSERT_THAT(bare, AllOf(SizeIs(11), Each(HasSubstr("/libc.so."))));
  EXPECT_EQ(lines_of(files), bare);
  EXPECT_EQ(lines_of(files, no_memory), bare);
  EXPECT_THAT(run("", library + ":" + host_library, files),
              AllOf(Contains("malloc " + host_library), Contains("getenv " + host_library)))
      << "which this test would see";
}

TEST_F(harmless, works_in_programs_with_the_address_sanitizer) {
  if (emulated) GTEST_SKIP() << "the sanitizer's memory is not tried under an emulator";
  const std::string settings = "ASAN_OPTIONS=detect_leaks=0 ";
  int tried = 0;
  for (const std::string form : {"static", "shared"}) {
    const std::string program = tree + "/bin/injector_asan_" + form + "_probe";
    if (!fs::exists(program)) continue;
    ++tried;
    std::string runtime;  // says itself that it must come first
    if (form == "shared") {
      const auto file = run(settings, "", program + " files_of malloc");
      ASSERT_THAT(file, ElementsAre(HasSubstr("asan"))) << form;
      runtime = file[0].substr(file[0].find('/')) + ":";
    }
    const auto bare = run(settings, runtime, program + " ways 100");
    ASSERT_THAT(bare,
                ElementsAre("linked: 0", "dlsym: 0", "next: 0", "looked up: 0", "nothing: 0", "told why: 1"))
        << form;
    for (const std::string& preload : {library, library + ":" + host_library}) {
      fs::remove(log());
      EXPECT_EQ(run(settings, runtime + preload, program + " ways 100"), bare) << form << ", " << preload;
      EXPECT_THAT(
          run(settings + "CUFAULT_LOG=" + log().string() + " CUFAULT_RULES='" + no_memory + "'",
              runtime + preload, program + " ways 100"),
          ElementsAre("linked: 2", "dlsym: 2", "next: 2", "looked up: 2", "nothing: 0", "told why: 1"))
          << form << ", " << preload;
      EXPECT_THAT(events("injected"), SizeIs(4)) << form << ", " << preload;
    }
  }
  if (tried == 0) GTEST_SKIP() << "the compiler has no address sanitizer";
}

TEST_F(harmless, budgets_agree_with_what_the_driver_holds) {
  const std::string budget = rules(R"({"budget_bytes": 1000})");
  EXPECT_THAT(said("budgets mapped", budget), ElementsAre(" 0 0 0 0 0 0 free 200 2 0 free 1000"));
  EXPECT_THAT(said("budgets retained", budget), ElementsAre(" 0 0 0 0 0 free 600 0 free 1000"));
  EXPECT_THAT(said("budgets reset", budget), ElementsAre(" 0 0 free 1000 0"));
  EXPECT_THAT(said("budgets released", budget), ElementsAre(" 0 0 free 1000 0"));
  for (const std::string state : {"active", "untold"}) {
    const std::string set = "FAKE_PRIMARY_STATE=" + state;
    EXPECT_THAT(said("budgets reset", budget, set), ElementsAre(" 0 0 0 free 1000 0")) << state;
    EXPECT_THAT(said("budgets released", budget, set), ElementsAre(" 0 0 0 free 400 2"))
        << "others still have it: " << state;
  }
  EXPECT_THAT(said("budgets destroyed", budget), ElementsAre(" 0 0 0 0 0 0 0 free 900"));
  EXPECT_THAT(said("budgets pool", budget), ElementsAre(" 0 0 0 free 400 0 free 1000"));
}

TEST_F(harmless, leaves_functions_of_the_host_to_who_defined_them) {
  const std::string own = driver_folder + "/libinjector_own_host.so";
  const auto bare = run("", own, process_probe + " host");
  EXPECT_THAT(bare, ElementsAre("own getenv", "own mmap", "own _exit"));
  for (const std::string& preload : {library + ":" + own, library + ":" + host_library + ":" + own})
    EXPECT_EQ(run("CUFAULT_LOG=" + log().string(), preload, process_probe + " host"), bare) << preload;
}

TEST_F(harmless, does_not_see_what_its_log_says_that_it_does_not_see) {
  const std::string plugin = driver_folder + "/libinjector_plugin_a.so";
  EXPECT_THAT(said("opened plainly " + plugin, no_memory), ElementsAre("2"));
  for (const std::string how : {"namespace", "deepbind"}) {
    fs::remove(log());
    EXPECT_THAT(said("opened " + how + " " + plugin, no_memory), ElementsAre("0")) << how;
    EXPECT_THAT(events("injected"), IsEmpty()) << how;
    EXPECT_THAT(counts(), IsEmpty()) << how;
  }
}

TEST_F(harmless, copies_no_counts_in_a_forked_child) {
  EXPECT_THAT(said("fork_beside_threads 256"), ElementsAre("few pages 13000"));
}

TEST_F(harmless, leaves_nothing_of_rules_that_were_replaced) {
  EXPECT_THAT(said("rules_often", "", "CUFAULT_LOG=/dev/null"), ElementsAre("nothing"));
}

}  // namespace
}  // namespace cufault
