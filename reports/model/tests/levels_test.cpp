// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Plateaus of levels, and the band in which their edge may move.
#include "reports/model/observation.hpp"
#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

TEST(observation, equal_adjacent_levels_are_one_plateau) {
  EXPECT_TRUE(plateaus_of({}).empty());
  EXPECT_EQ(plateaus_of({trial({success}), trial({success})}).size(), 1U);
  const auto level_range = plateaus_of({at_level(1, trial({no_memory})), at_level(2, trial({no_memory})),
                                        at_level(4, trial({success})), at_level(8, trial({no_memory}))});
  ASSERT_EQ(level_range.size(), 3U);
  EXPECT_EQ(level_range[0].seen, level_range[2].seen);
  EXPECT_NE(level_range[0].seen, level_range[1].seen);
  EXPECT_EQ(level_range[0].first_level, 1);
  EXPECT_EQ(level_range[0].last_level, 2);
  EXPECT_EQ(level_range[1].first_level, 4);
  EXPECT_EQ(level_range[1].last_level, 4);
  EXPECT_FALSE(plateaus_of({trial({success})})[0].first_level);
}

TEST(observation, plateaus_are_in_the_order_of_levels_however_the_trials_are) {
  const auto sorted = plateaus_of({at_level(1, trial({no_memory})), at_level(2, trial({no_memory})),
                                   refined_at(3, trial({success})), at_level(4, trial({success})),
                                   at_level(8, trial({success}))});
  EXPECT_EQ(sorted.size(), 2U);
  EXPECT_EQ(plateaus_of({at_level(8, trial({success})), at_level(1, trial({no_memory})),
                         at_level(4, trial({success})), at_level(2, trial({no_memory})),
                         refined_at(3, trial({success}))}),
            sorted);
}

TEST(observation, a_plateau_of_refined_levels_alone_is_not_stated) {
  const auto seen = plateaus_of({at_level(1, trial({no_memory})), refined_at(2, trial({no_memory})),
                                 refined_at(3, trial({internal})), at_level(4, trial({success}))});
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_TRUE(seen[0].stated);
  EXPECT_EQ(seen[0].last_level, 2);
  EXPECT_FALSE(seen[1].stated);
  EXPECT_TRUE(seen[2].stated);
  EXPECT_TRUE(plateaus_of({refined_at(1, trial({success})), at_level(2, trial({success}))})[0].stated);
}

using trials = std::vector<observation>;

std::string disagreement_of(const trials& expected, const trials& seen) {
  return disagreement(plateaus_of(expected), plateaus_of(seen));
}

/// Fails up to `last_failing`, and succeeds from there: at the stated levels 0, 64 and 128, and refined at the edge.
trials edge_at(std::int64_t last_failing) {
  return {at_level(0, trial({no_memory})), at_level(64, trial({no_memory})),
          refined_at(last_failing, trial({no_memory})), refined_at(last_failing + 1, trial({success})),
          at_level(128, trial({success}))};
}

TEST(levels, agree_with_themselves) {
  EXPECT_EQ(disagreement_of(edge_at(70), edge_at(70)), "");
  EXPECT_EQ(disagreement_of({}, {}), "");
  const trials again_and_again{at_level(-4, trial({success})), at_level(0, trial({no_memory})),
                               at_level(1, trial({success})), at_level(2, trial({no_memory}))};
  EXPECT_EQ(disagreement_of(again_and_again, again_and_again), "");
}

TEST(levels, without_numbers_are_compared_in_order) {
  const trials two{trial({no_memory}), trial({success})}, turned{trial({success}), trial({no_memory})};
  EXPECT_EQ(disagreement_of(two, two), "");
  EXPECT_EQ(disagreement_of(two, {trial({no_memory}), trial({no_memory}), trial({success})}), "");
  EXPECT_TRUE(disagreement_of(two, turned).starts_with("result 1: cublasCreate: ALLOC_FAILED → SUCCESS"));
  EXPECT_NE(disagreement_of({at_level(1, trial({success}))}, {trial({no_memory})}), "");
  EXPECT_NE(disagreement_of({trial({no_memory})}, {}), "");
  EXPECT_NE(disagreement_of({}, {trial({no_memory})}), "");
}

TEST(levels, may_have_their_edge_within_a_tenth_of_the_level) {
  EXPECT_EQ(disagreement_of(edge_at(70), edge_at(73)), "");
  EXPECT_EQ(disagreement_of(edge_at(70), edge_at(77)), "") << "the band ends at 77";
  EXPECT_NE(disagreement_of(edge_at(70), edge_at(78)), "");
  EXPECT_EQ(disagreement_of(edge_at(80), edge_at(72)), "");
  EXPECT_NE(disagreement_of(edge_at(80), edge_at(71)), "")
      << "success at 72 lies below the band, which begins at 72.9";
}

TEST(levels, beyond_the_band_say_that_the_edge_moved) {
  const auto said = disagreement_of(edge_at(70), edge_at(126));
  EXPECT_EQ(said, "the edge moved: at 126: cublasCreate: SUCCESS → ALLOC_FAILED");
}

TEST(levels, in_the_gap_between_two_plateaus_may_show_either) {
  const trials wide{at_level(64, trial({no_memory})), at_level(128, trial({success}))};
  const auto with = [&](std::int64_t level, const char* status) {
    return trials{wide[0], refined_at(level, trial({status})), wide[1]};
  };
  EXPECT_EQ(disagreement_of(wide, with(100, no_memory)), "");
  EXPECT_EQ(disagreement_of(wide, with(100, success)), "");
  EXPECT_EQ(disagreement_of(wide, with(100, internal)), "at 100: cublasCreate: SUCCESS → INTERNAL_ERROR");
}

TEST(levels, that_are_refined_count) {
  // As cuBLAS 12.4.5 does it: between failure and success, another failure that is seen on one refined level alone.
  const trials expected{at_level(600, trial({no_memory})), at_level(602, trial({success})),
                        refined_at(603, trial({internal})), at_level(604, trial({success}))};
  const trials without{expected[0], expected[1], expected[3]};
  EXPECT_EQ(disagreement_of(without, expected), "at 603: cublasCreate: SUCCESS → INTERNAL_ERROR");
  EXPECT_EQ(disagreement_of(expected, without), "") << "the level 603 was not visited again";
  EXPECT_EQ(disagreement_of(expected, expected), "");
}

TEST(levels, that_are_stated_must_not_vanish) {
  const trials expected{at_level(600, trial({no_memory})), at_level(602, trial({success})),
                        at_level(603, trial({internal})), at_level(604, trial({success}))};
  const trials vanished{at_level(600, trial({no_memory})), at_level(602, trial({success})),
                        at_level(603, trial({success})), at_level(604, trial({success}))};
  const auto said = disagreement_of(expected, vanished);
  EXPECT_EQ(said, "at 603: cublasCreate: INTERNAL_ERROR → SUCCESS");
  EXPECT_NE(disagreement_of(expected, {expected[0]}), "");
  EXPECT_NE(disagreement_of(expected, {}), "");
}

TEST(observation, plateaus_are_described_side_by_side) {
  const auto both = plateaus_of({trial({no_memory}), trial({success})});
  EXPECT_EQ(describe(both),
            "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable | cublasCreate: CUBLAS_STATUS_SUCCESS; "
            "context usable");
  EXPECT_EQ(describe(plateaus_of({at_level(1, trial({no_memory})), at_level(2, trial({no_memory})),
                                  at_level(4, trial({success}))})),
            "from 1 to 2: cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable | at 4: cublasCreate: "
            "CUBLAS_STATUS_SUCCESS; context usable");
}

}  // namespace
}  // namespace cufault
