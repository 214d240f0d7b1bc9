// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Plateaus of levels. The band in which their edge may move: reports/answers/tests/gates.txt.
#include "reports/model/observation.hpp"
#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>

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
