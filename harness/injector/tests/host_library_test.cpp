// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Functions of the host: libcufault_host.so beside libcufault.so.
#include "harness/injector/tests/injector_fixture.hpp"

#include <algorithm>

namespace cufault {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

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

TEST_F(injector, does_not_wait_for_itself_in_a_fork) {
  EXPECT_THAT(lines_with_host("forks_beside_a_handler", R"({"rules": [], "log_environment": true})",
                              "HANDLE_FORKS=1"),
              ElementsAre("forked"));
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

}  // namespace
}  // namespace cufault
