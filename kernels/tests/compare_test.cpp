// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/compare.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

namespace cufault {
namespace {

TEST(element_right, accepts_the_exact_value_and_one_rounding_away) {
  EXPECT_TRUE(element_right(1.5F, 1.5, 4, 2.0));
  EXPECT_TRUE(element_right(std::nextafter(1.5F, 2.0F), 1.5, 4, 2.0));
}

TEST(element_right, refuses_an_error_above_the_bound_on_either_side) {
  const double bound = error_bound(4, 2.0);
  EXPECT_FALSE(element_right(static_cast<float>(1.5 + 3 * bound), 1.5, 4, 2.0));
  EXPECT_FALSE(element_right(static_cast<float>(1.5 - 3 * bound), 1.5, 4, 2.0));
}

TEST(element_right, refuses_poison_guards_and_infinity) {
  EXPECT_FALSE(element_right(std::bit_cast<float>(poison_bits), 0.0, 4, 1e30));
  EXPECT_FALSE(element_right(std::bit_cast<float>(guard_bits), 0.0, 4, 1e30));
  EXPECT_FALSE(element_right(INFINITY, 1.0, 4, 2.0));
}

TEST(element_right, tells_half_precision_inputs_from_single_precision_ones) {
  // Rounding each of 112 factors to TF32's 10 bits moves a sum by about 2^-11 of its magnitudes: far outside.
  EXPECT_FALSE(element_right(static_cast<float>(10.0 + 30.0 * 0x1p-11), 10.0, 112, 30.0));
}

TEST(random_element, stays_in_range_repeats_by_seed_and_differs_between_seeds_and_places) {
  std::set<float> seen;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const float x = random_element(7, i);
    ASSERT_GE(x, -1.0F);
    ASSERT_LT(x, 1.0F);
    ASSERT_EQ(x, random_element(7, i));
    seen.insert(x);
  }
  EXPECT_GT(seen.size(), 9'900U);
  EXPECT_NE(random_element(7, 0), random_element(8, 0));
}

TEST(random_element, has_a_mean_near_zero) {
  double sum = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) sum += random_element(99, i);
  EXPECT_NEAR(sum / 100'000, 0.0, 0.01);
}

}  // namespace
}  // namespace cufault
