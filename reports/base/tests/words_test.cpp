// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/words.hpp"

#include <gtest/gtest.h>

#include <array>

namespace cufault {
namespace {

TEST(words, differ_by_as_many_characters_as_one_has_to_change) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("run", ""), 3U);
  EXPECT_EQ(edit_distance("", "run"), 3U);
  EXPECT_EQ(edit_distance("cuases", "causes"), 2U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(words, the_nearest_name_is_proposed_and_none_that_is_far) {
  const std::array<const char*, 3> names{"causes", "cost", "ALLOC_FAILED"};
  EXPECT_EQ(did_you_mean("cuases", names), "; did you mean causes?");
  EXPECT_EQ(did_you_mean("aloc_failed", names), "; did you mean ALLOC_FAILED?");
  EXPECT_EQ(did_you_mean("xyzzy", names), "");
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean("x", names), "");
}

}  // namespace
}  // namespace cufault
