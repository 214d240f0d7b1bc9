// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cufault/known_issues.hpp>
#include <string>
#include <vector>

std::vector<cufault::known_match> asked_from_cxx17(int version, std::string_view architecture);

namespace cufault {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const known_issue measured{.id = "made-up",
                           .sort = "measured",
                           .affected = "9.0/12.8.4 9.0/13.1.0 10.0/13.1.0",
                           .not_affected = "9.0/12.4.5 9.0/13.10.0"};
const known_issue documented{.id = "made-up",
                             .sort = "documented",
                             .ranges = "12.8.0<12.8.5 13.0.0<13.1.1",
                             .architectures = "9.0 10.x"};

/// "measured", "documented", "reported" or "not measured"; empty where nothing is said.
std::string level(const known_issue& issue, std::string_view version, std::string_view architecture) {
  known_level level = known_level::measured;
  if (!concerns(issue, version, architecture, level)) return {};
  return level == known_level::measured     ? "measured"
         : level == known_level::documented ? "documented"
         : level == known_level::reported   ? "reported"
                                            : "not measured";
}

TEST(known_issues_header, says_of_a_measured_version_what_was_measured) {
  EXPECT_EQ(level(measured, "13.1.0", "9.0"), "measured");
  EXPECT_EQ(level(measured, "13.1.0.3", "9.0"), "measured") << "a fourth number is no other version";
  EXPECT_EQ(level(measured, "12.4.5", "9.0"), "");
  EXPECT_EQ(level(measured, "13.10.0", "9.0"), "");
}

TEST(known_issues_header, warns_of_no_version_that_nobody_measured) {
  EXPECT_EQ(level(measured, "12.9.1", "9.0"), "not measured") << "between two that have it";
  EXPECT_EQ(level(measured, "13.5.1", "9.0"), "not measured")
      << "between one that has it and one that has not";
  EXPECT_EQ(level(measured, "12.6.0", "9.0"), "not measured");
  EXPECT_EQ(level(measured, "13.11.0", "9.0"), "") << "behind one that has it not";
  EXPECT_EQ(level(measured, "12.0.1", "9.0"), "");
}

TEST(known_issues_header, keeps_architectures_apart) {
  EXPECT_EQ(level(measured, "13.1.0", "10.0"), "measured");
  EXPECT_EQ(level(measured, "13.10.0", "10.0"), "not measured")
      << "9.0 has it not, which says nothing of 10.0";
  EXPECT_EQ(level(measured, "13.1.0", "12.0"), "not measured") << "measured on others alone";
  EXPECT_EQ(level(measured, "13.1.0", ""), "measured") << "on any";
  EXPECT_EQ(level(measured, "12.0.1", "12.0"), "not measured") << "on 10.0 it may have come earlier";
}

TEST(known_issues_header, takes_ranges_without_their_end) {
  EXPECT_EQ(level(documented, "12.8.0", "9.0"), "documented");
  EXPECT_EQ(level(documented, "12.8.4.1", "9.0"), "documented");
  EXPECT_EQ(level(documented, "12.8.5", "9.0"), "");
  EXPECT_EQ(level(documented, "13.1.0", "10.3"), "documented") << "10.x";
  EXPECT_EQ(level(documented, "13.1.0", "12.0"), "");
  EXPECT_EQ(level(documented, "13.1.0", "100.0"), "") << "no 10.x";
  EXPECT_EQ(level(documented, "13.1.0", ""), "documented");
}

TEST(known_issues_header, says_nothing_of_what_is_no_version) {
  for (const char* wrong :
       {"", "13", "13.1", "13.1.", "13..0", "a.b.c", "13.1.0x", "-1.0.0", "99999999999.1.0"})
    EXPECT_EQ(level(measured, wrong, "9.0"), "") << wrong;
  EXPECT_THAT(known_issues("no version"), IsEmpty());
}

TEST(known_issues_header, has_the_table_and_works_in_cxx17) {
  EXPECT_THAT(known_issues_table, SizeIs(testing::Ge(25U)));
  const auto found = asked_from_cxx17(130100, "9.0");
  EXPECT_THAT(found, Not(IsEmpty()));
  bool split_k = false;
  for (const known_match& m : found)
    split_k = split_k || (m.issue->id == "lt-66-uneven-split-k" && m.level == known_level::measured &&
                          m.issue->harm == "wrong_numbers" && m.issue->calls == "cublasLtMatmul" &&
                          m.issue->reach == "forced_algorithm");
  EXPECT_TRUE(split_k);
  EXPECT_EQ(version_text(120804), "12.8.4");
}

}  // namespace
}  // namespace cufault
