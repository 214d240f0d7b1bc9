// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "cufault/context_guard.hpp"

namespace cufault {

/// GoogleTest: the first test that lost the CUDA context fails and says so, in the XML too. The tests after it are skipped, with that reason,
/// and the program, started anew in place of this process, runs them: report.xml has them as skipped, report.2.xml their results.
/// SetUpTestSuite, and constructors and destructors of the skipped tests' fixtures, still run in this process. With --gtest_fail_fast, in later
/// rounds of --gtest_repeat, and before GoogleTest 1.12 they are only skipped. In one file of the test program:
///
///     static const bool guarded = cufault::guard_gtest(cufault::guard_when::each);
class gtest_guard : public testing::EmptyTestEventListener {
 public:
  gtest_guard(guard_when when, guard_rest rest) : when_(when), rest_(rest) {}

  void OnTestIterationStart(const testing::UnitTest& program, int round) override {
    if (round > 0) go_on();
    if (round > 0 || !fresh_.goes_on()) return;
    ADD_FAILURE() << "cufault guard: context lost in " << fresh_.lost << ", in a process before this one";
    if (static_cast<std::size_t>(program.test_to_run_count()) == fresh_.tests) return;
    // main() does not give GoogleTest its arguments, or tests change their names.
    lost_in_ = fresh_.lost + "; the fresh process has other tests";
    rest_ = guard_rest::not_run;
  }
  void OnTestStart(const testing::TestInfo& test) override {
    if (lost_in_.empty()) return guard_.begin(when_);
    filter_ += name_of(test) + ':';
    ++left_;
    GTEST_SKIP() << "not run: context lost in " << lost_in_
                 << (rest_ == guard_rest::fresh_process ? "; a fresh process runs it" : "");
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!lost_in_.empty() || (when_ == guard_when::failures && !test.result()->Failed())) return;
    const std::string why = guard_.look(), left = guard_.left_behind();
    if (!left.empty() && when_ == guard_when::each)
      testing::Test::RecordProperty("cufault_left_behind", left);
    if (why.empty()) return;
    lost_in_ = name_of(test);
    why_ = why;
    testing::Test::RecordProperty("cufault_context_lost", why);
    ADD_FAILURE_AT(test.file(), test.line()) << "cufault guard: the CUDA context is lost: " << why;
#ifdef GTEST_FLAG_GET
    if (GTEST_FLAG_GET(fail_fast))
#endif
      rest_ = guard_rest::not_run;
  }
  void OnTestProgramEnd(const testing::UnitTest&) override {
    go_on();
    if (fresh_.goes_on()) std::cerr << "cufault guard: context lost in " << fresh_.lost << std::endl;
  }

 private:
  static std::string name_of(const testing::TestInfo& test) {
    return std::string(test.test_suite_name()) + '.' + test.name();
  }
  void go_on() {
    if (left_ == 0 || rest_ == guard_rest::not_run) return;
#ifdef GTEST_FLAG_GET
    std::string flags = "--gtest_repeat=1\n--gtest_filter=" + filter_ + '\n';
    std::string output = GTEST_FLAG_GET(output);
    if (output == "xml" || output == "json") output += ":test_detail." + output;
    if (const auto colon = output.find(':'); colon != output.npos && output.back() != '/')
      flags += "--gtest_output=" + output.substr(0, colon + 1) +
               fresh_process::file_of(fresh_.number + 1, output.substr(colon + 1), fresh_.number) + '\n';
    for (const char* shard : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"})
      unsetenv(shard);  // the tests that are left are of this one
    std::cerr << "cufault guard: a fresh process runs the tests after " << lost_in_ << ": " << left_
              << std::endl;
    const std::string failed =
        fresh_.start(lost_in_ + ": " + why_, left_, flags,
                     GTEST_USE_OWN_FLAGFILE_FLAG_ ? "--gtest_flagfile=" : "--flagfile=");
    std::cerr << "cufault guard: none starts: " << failed << std::endl;
#endif
    rest_ = guard_rest::not_run;
  }

  const guard_when when_;
  guard_rest rest_;
  context_guard guard_;
  const fresh_process fresh_;
  std::string lost_in_, why_, filter_;
  std::size_t left_ = 0;
};

inline bool guard_gtest(guard_when when = guard_when::failures, guard_rest rest = guard_rest::fresh_process) {
  testing::UnitTest::GetInstance()->listeners().Append(new gtest_guard(when, rest));  // which owns it
  return true;
}

}  // namespace cufault
