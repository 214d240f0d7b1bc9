// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Guards of GoogleTest and Catch2 in programs of their own (gtest_guarded.cpp, catch2_guarded.cpp), with the driver of the injector's tests.
// The second of three tests does what TOLD says.
#include "cufault/context_guard.hpp"

#include "harness/system/tests/said_by.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <fstream>
#include <iterator>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* lost =
    "cufault guard: the CUDA context is lost: CUDA_ERROR_ILLEGAL_ADDRESS (an address that is not mapped; "
    "Returning 700 "
    "(CUDA_ERROR_ILLEGAL_ADDRESS) from cuMemFree_v2)";

std::string in_one(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

/// What the program prints, and the files that it and the process after it write.
struct seen {
  std::string printed, xml, xml_of_next;
};
std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}
seen run(const std::string& program, const std::string& told, const std::string& file_option) {
  const std::string file = testing::TempDir() + "guarded";
  for (const char* end : {".xml", ".2.xml", ".3.xml"}) std::remove((file + end).c_str());
  seen found;
  found.printed = in_one(said_by(std::string("DRIVER=" FAKE_DRIVER " TOLD='") + told + "' " + program + ' ' +
                                 file_option + file + ".xml 2>&1"));
  found.xml = text_of(file + ".xml");
  found.xml_of_next = text_of(file + ".2.xml");
  EXPECT_EQ(text_of(file + ".3.xml"), "");
  return found;
}
seen gtest(const std::string& guard, const std::string& told, const std::string& options = "") {
  return run("GUARD=" + guard + " " GTEST_GUARDED " " + options, told, "--gtest_output=xml:");
}
seen catch2(const std::string& guard, const std::string& told, const std::string& options = "") {
  return run(CATCH2_GUARDED + guard + ' ' + options, told, CATCH2_REPORTS);
}

TEST(gtest_guard, does_nothing_while_the_context_lives) {
  for (const char* when : {"at_failures", "at_each"}) {
    EXPECT_THAT(gtest(when, "").printed, AllOf(HasSubstr("PASSED  ] 3 tests"), Not(HasSubstr("cufault"))));
    EXPECT_THAT(gtest(when, "fail").printed,
                AllOf(HasSubstr("PASSED  ] 2 tests"), Not(HasSubstr("cufault"))));
  }
}

TEST(gtest_guard, names_the_first_test_that_lost_the_context_and_a_fresh_process_runs_the_rest) {
  for (const auto& [when, told] : {std::pair{"at_failures", "lose fail"},
                                   std::pair{"at_each GTEST_TOTAL_SHARDS=1 GTEST_SHARD_INDEX=0", "lose"}}) {
    const seen found = gtest(when, told);
    EXPECT_THAT(found.printed,
                AllOf(HasSubstr(lost), HasSubstr("1 FAILED TEST"), HasSubstr("SKIPPED ] third.is_alive"),
                      HasSubstr("OK ] third.is_alive"), HasSubstr("ended with 256")));
    EXPECT_THAT(found.xml, AllOf(HasSubstr(lost), HasSubstr("tests=\"3\" failures=\"1\""),
                                 HasSubstr("name=\"cufault_context_lost\""),
                                 HasSubstr("not run: context lost in second.does_as_it_is_told")));
    EXPECT_THAT(found.xml_of_next,
                AllOf(HasSubstr("testsuite name=\"third\" tests=\"1\" failures=\"0\""),
                      HasSubstr("context lost in second.does_as_it_is_told: CUDA_ERROR_ILLEGAL_ADDRESS")));
  }
}

TEST(gtest_guard, runs_no_test_twice) {
  const seen found = gtest("at_each", "lose again");
  EXPECT_THAT(found.xml_of_next, AllOf(HasSubstr("name=\"is_alive\""), HasSubstr(lost)));
  EXPECT_THAT(gtest("at_each", "lose", "--gtest_repeat=3").xml_of_next, HasSubstr("tests=\"1\""));
  // A program that does not give GoogleTest its arguments has all tests again.
  const std::string again = gtest("at_each", "lose arguments").printed;
  EXPECT_THAT(again, AllOf(HasSubstr("the fresh process has other tests"), HasSubstr("SKIPPED ] 3 tests")));
}

TEST(gtest_guard, stops_where_it_is_told) {
  for (const auto& [guard, options] :
       {std::pair{"only_told", ""}, std::pair{"at_each", "--gtest_fail_fast"}}) {
    const seen found = gtest(guard, "lose", options);
    EXPECT_THAT(found.printed, AllOf(HasSubstr("PASSED  ] 1 test."), Not(HasSubstr("a fresh process"))));
    EXPECT_EQ(found.xml_of_next, "");
  }
}

TEST(gtest_guard, says_how_many_tests_it_did_not_look_at) {
  const std::string printed = gtest("at_failures", "lose").printed;
  EXPECT_THAT(printed, HasSubstr("FAILED  ] third.is_alive"));
  EXPECT_THAT(printed, HasSubstr("tests before this one that were not looked at: 2"));
}

TEST(gtest_guard, tells_what_a_test_leaves_behind) {
  EXPECT_THAT(gtest("at_each", "leak").xml,
              HasSubstr("bytes in use on the device by any process: 0, then 4096"));
  EXPECT_THAT(gtest("at_failures", "leak").xml, Not(HasSubstr("bytes in use")));
}

TEST(gtest_guard, waits_for_a_hanging_driver_a_few_seconds) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(gtest("at_each", "hang").printed, HasSubstr("the driver did not answer within 5 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(50));
}

class catch2_guard : public testing::Test {
 protected:
  void SetUp() override {
    if (*CATCH2_GUARDED == '\0') GTEST_SKIP() << "Catch2 is not installed";
  }
};

TEST_F(catch2_guard, does_nothing_while_the_context_lives) {
  for (const char* when : {"at_failures", "at_each"}) {
    for (const auto& [told, failures] :
         {std::pair{"", "failures=\"0\""}, std::pair{"fail", "failures=\"1\""}}) {
      const seen found = catch2(when, told);
      EXPECT_THAT(found.xml, AllOf(HasSubstr(failures), HasSubstr("first"), HasSubstr("third")));
      EXPECT_THAT(found.printed, Not(HasSubstr("cufault")));
    }
  }
}

TEST_F(catch2_guard, ends_with_the_test_that_lost_the_context_and_a_fresh_process_runs_the_rest) {
  for (const auto& [when, told] : {std::pair{"at_failures", "lose fail"}, std::pair{"at_each", "lose"}}) {
    const seen found = catch2(when, told);
    EXPECT_THAT(found.printed, AllOf(HasSubstr("context lost in second: CUDA_ERROR_ILLEGAL_ADDRESS"),
                                     HasSubstr("ended with ")));
    EXPECT_THAT(found.xml, AllOf(HasSubstr("first"), HasSubstr(lost), HasSubstr("</testsuites>"),
                                 Not(HasSubstr("third"))));
    EXPECT_THAT(found.xml_of_next,
                AllOf(HasSubstr("third"), HasSubstr("context lost in second"), HasSubstr("failures=\"1\""),
                      HasSubstr("errors=\"0\""), Not(HasSubstr("hidden"))));
  }
}

TEST_F(catch2_guard, runs_no_test_twice_and_stops_where_it_is_told) {
  EXPECT_THAT(catch2("at_each", "lose again").xml_of_next, AllOf(HasSubstr("third"), HasSubstr(lost)));
  EXPECT_EQ(catch2("only_told", "lose").xml_of_next, "");
  EXPECT_EQ(catch2("at_each", "lose fail", "--abort").xml_of_next, "");
}

TEST_F(catch2_guard, tells_what_a_test_leaves_behind) {
  EXPECT_THAT(catch2("at_each", "leak").printed,
              HasSubstr("left behind by second: bytes in use on the device by any process: 0, then 4096"));
}

/// In this process, where the fake driver is loaded by the second test.
TEST(context_guard, sees_nothing_without_a_driver) {
  if (dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY) != nullptr) GTEST_SKIP() << "a driver is loaded";
  context_guard guard;
  guard.begin(guard_when::each);
  EXPECT_EQ(guard.look(), "");
  EXPECT_EQ(guard.left_behind(), "");
  EXPECT_EQ(dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY), nullptr) << "the guard loads none";
}

TEST(context_guard, does_not_look_in_a_forked_child_and_takes_less_than_a_millisecond) {
  void* driver = dlopen(FAKE_DRIVER, RTLD_NOW);
  ASSERT_NE(driver, nullptr);
  context_guard guard;
  std::vector<std::chrono::steady_clock::duration> took(201);
  for (auto& one : took) {
    const auto began = std::chrono::steady_clock::now();
    guard.begin(guard_when::each);
    EXPECT_EQ(guard.look(), "");
    one = std::chrono::steady_clock::now() - began;
  }
  std::nth_element(took.begin(), took.begin() + 100, took.end());
  EXPECT_LT(took[100], std::chrono::milliseconds(1));
  RecordProperty("median_ns", std::to_string(took[100].count()));
  reinterpret_cast<void (*)(int)>(dlsym(driver, "fake_lose_contexts"))(700);
  const pid_t child = fork();
  if (child == 0) _exit(guard.look().empty() ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(guard.look(),
              HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"));
  reinterpret_cast<void (*)(int)>(dlsym(driver, "fake_lose_contexts"))(0);
}

}  // namespace
}  // namespace cufault
