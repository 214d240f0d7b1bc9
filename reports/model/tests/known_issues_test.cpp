// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/known_issues.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cufault/known_issues.hpp>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// One that was measured, of a call that returns a status.
const known_span& measured_failure() {
  return *std::ranges::find_if(known_spans, [](const known_span& s) {
    const known_issue& issue = known_issues_table[s.issue];
    return s.level == known_level::measured && s.architectures == "9.0" && !issue.status.empty() &&
           !issue.calls.empty() && !issue.workarounds.empty();
  });
}

TEST(known_issues, are_told_of_a_failure_whose_call_and_status_they_have) {
  const known_span& span = measured_failure();
  const known_issue& issue = known_issues_table[span.issue];
  const std::string call(issue.calls.substr(0, issue.calls.find(' '))), status(issue.status),
      version = fmt::format("{}", fmt::join(span.from, "."));
  EXPECT_THAT(issues_of_failure(call, status, version, "NVIDIA H200"),
              testing::Contains(fmt::format("{}: {} ({}). {}", issue.id, issue.what, span.because,
                                            first_workaround(issue))));
  EXPECT_THAT(issues_of_failure(call, status, "", ""),
              testing::Contains(AllOf(StartsWith(fmt::format("{}: ", issue.id)),
                                      HasSubstr("(measured with cuBLAS"), HasSubstr(version))));
  EXPECT_THAT(issues_of_failure(call, status, "99.0.0", "9.0"),
              Not(testing::Contains(StartsWith(fmt::format("{}: ", issue.id)))));
  EXPECT_THAT(issues_of_failure(call, status, version, "1.0"), IsEmpty()) << "not measured";
  EXPECT_THAT(issues_of_failure("cublasNone", status, version, "9.0"), IsEmpty());
  EXPECT_THAT(issues_of_failure(call, "CUBLAS_STATUS_NONE", version, "9.0"), IsEmpty());
  EXPECT_THAT(issues_of_failure("", "", version, "9.0"), IsEmpty());
}

TEST(known_issues, of_a_version_come_worst_first) {
  const auto found = issues_of("13.1.0", "9.0");
  EXPECT_GE(found.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(found, {}, [](const known_match& m) {
    return std::pair(std::max(m.level, known_level::reported), rank_of_harm(m.issue->harm));
  }));
  EXPECT_THAT(issues_of("no version", "9.0"), IsEmpty());
}

TEST(known_issues, of_a_library_are_not_told_for_the_same_version_of_another) {
  const auto first = std::ranges::find_if(
      known_spans, [](const known_span& s) { return known_issues_table[s.issue].library == "torch"; });
  const std::string version = fmt::format("{}", fmt::join(first->from, "."));
  EXPECT_THAT(issues_of(version, "", "torch"), Not(IsEmpty()));
  for (const std::string& each : {version, std::string("13.1.0")})
    for (const known_match& m : issues_of(each, "")) EXPECT_TRUE(m.issue->library.starts_with("cublas"));
}

TEST(known_issues, know_gpus_by_name_and_by_compute_capability) {
  EXPECT_EQ(architecture_of("NVIDIA H200"), "9.0");
  EXPECT_EQ(architecture_of("h200"), "9.0");
  EXPECT_EQ(architecture_of("NVIDIA GeForce RTX 5090"), "12.0");
  EXPECT_EQ(architecture_of("8.6"), "8.6");
  for (const char* unknown : {"", "H2000", "XH200", "9", "sm_90", "."})
    EXPECT_EQ(architecture_of(unknown), "") << unknown;
}

}  // namespace
}  // namespace cufault
