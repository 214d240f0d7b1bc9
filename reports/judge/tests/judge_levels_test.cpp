// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Verdicts of arms with levels: refined levels, and the band of an edge.
#include "reports/judge/tests/judged.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace cufault {
namespace {

using namespace examples;

TEST(judge, a_refined_level_counts_like_a_stated_one) {
  const trials stated{at_level(602, trial({success})), at_level(604, trial({success}))};
  const trials found{stated[0], refined_at(603, trial({internal})), stated[1]};
  const auto e = expects(stated);
  const auto a = judged_arm(fault, found, &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_EQ(a.why, "at 603: cublasCreate: SUCCESS → INTERNAL_ERROR");
  EXPECT_EQ(judged(fault, found, found), verdict::reproduced);
  EXPECT_EQ(judged(fault, stated, {stated[0], refined_at(603, crash({})), stated[1]}), verdict::worsened);
}

TEST(judge, a_narrow_refined_plateau_that_was_not_visited_again_is_no_difference) {
  const trials found{at_level(600, trial({no_memory})), refined_at(603, trial({internal})),
                     at_level(604, trial({success}))};
  EXPECT_EQ(judged(fault, found, {found[0], found[2]}), verdict::reproduced);
  auto all_stated = found;
  all_stated[1].refined = false;
  const auto e = expects(all_stated);
  const auto a = judged_arm(fault, {found[0], found[2]}, &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_EQ(a.why, "at 603: cublasCreate: INTERNAL_ERROR → SUCCESS");
}

/// cublasCreate fails on the stated levels 0 and 64 and works on 128, and needs `mib` of them.
trials create_needs(std::int64_t mib) {
  return {at_level(0, trial({internal})), at_level(64, trial({internal})),
          refined_at(mib - 1, trial({internal})), refined_at(mib, trial({success})),
          at_level(128, trial({success}))};
}

TEST(judge, an_edge_may_move_within_its_band) {
  EXPECT_EQ(judged(fault, create_needs(70), create_needs(70)), verdict::reproduced);
  EXPECT_EQ(judged(fault, create_needs(70), create_needs(76)), verdict::reproduced);
  EXPECT_EQ(judged(fault, create_needs(70), create_needs(66)), verdict::reproduced);
}

TEST(judge, an_edge_beyond_its_band_is_changed_and_told) {
  const auto e = expects(create_needs(70));
  const auto a = judged_arm(fault, create_needs(127), &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_EQ(a.why, "the edge moved: at 126: cublasCreate: SUCCESS → INTERNAL_ERROR");
  const auto high = expects(create_needs(127));
  const auto b = judged_arm(fault, create_needs(70), &high);
  EXPECT_EQ(b.judged, verdict::changed);
  EXPECT_EQ(b.why, "the edge moved: at 70: cublasCreate: INTERNAL_ERROR → SUCCESS");
}

TEST(judge, the_edge_of_a_remedy_counts_too) {
  const auto clears_from = [](std::int64_t level) {
    return trials{at_level(8, trial({no_memory}, {no_memory})),
                  refined_at(level - 1, trial({no_memory}, {no_memory})),
                  refined_at(level, trial({no_memory}, {success, right})),
                  at_level(128, trial({no_memory}, {success, right}))};
  };
  EXPECT_EQ(judged(remedy, clears_from(32), clears_from(33)), verdict::still_fails);
  EXPECT_EQ(judged(remedy, clears_from(32), clears_from(64)), verdict::changed);
}

}  // namespace
}  // namespace cufault
