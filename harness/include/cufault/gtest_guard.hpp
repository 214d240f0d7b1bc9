// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "cufault/context_guard.hpp"

namespace cufault {

/// GoogleTest: the first test that lost the CUDA context fails and says so, in the XML too. The tests after it are skipped, with that reason;
/// what GoogleTest does for a whole suite (SetUpTestSuite) still runs.
/// In one file of the test program:
///
///     static const bool guarded = cufault::guard_gtest(cufault::guard_when::each);
class gtest_guard : public testing::EmptyTestEventListener {
 public:
  explicit gtest_guard(guard_when when) : when_(when) {}

  void OnTestStart(const testing::TestInfo&) override {
    if (!lost_in_.empty()) GTEST_SKIP() << "not run: context lost in " << lost_in_;
    guard_.begin(when_);
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!lost_in_.empty() || (when_ == guard_when::failures && !test.result()->Failed())) return;
    const std::string why = guard_.look(), left = guard_.left_behind();
    if (!left.empty() && when_ == guard_when::each)
      testing::Test::RecordProperty("cufault_left_behind", left);
    if (why.empty()) return;
    lost_in_ = std::string(test.test_suite_name()) + '.' + test.name();
    testing::Test::RecordProperty("cufault_context_lost", why);
    ADD_FAILURE_AT(test.file(), test.line()) << "cufault guard: the CUDA context is lost: " << why;
  }

 private:
  const guard_when when_;
  context_guard guard_;
  std::string lost_in_;
};

inline bool guard_gtest(guard_when when = guard_when::failures) {
  testing::UnitTest::GetInstance()->listeners().Append(new gtest_guard(when));  // which owns it
  return true;
}

}  // namespace cufault
