// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Verdicts by measurements, within their bands.
#include "reports/judge/tests/judged.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace cufault {
namespace {

using namespace examples;

constexpr double mib = 1 << 20;
/// Within 2 % and a piece of 2 MiB; the other exactly.
constexpr auto banded = "device memory taken by a further handle";
constexpr auto exact = "algorithms found";

observation measured(double value, std::string name = exact) {
  auto o = trial({no_memory});
  o.measurements = {{std::move(name), value, ""}};
  return o;
}

verdict judged_measurement(double expected, double seen, const std::string& name = exact) {
  return judged(fault, {measured(expected, name)}, {measured(seen, name)});
}

TEST(judge, compares_measurements_by_patterns_of_names) {
  ASSERT_FALSE(compared_measurements().empty());
  for (const auto& c : compared_measurements()) {
    EXPECT_NE(std::string(c.names), "");
    EXPECT_GE(c.band, 0) << c.names;
    EXPECT_GE(c.slack, 0) << c.names;
  }
  EXPECT_EQ(judged_measurement(4, 5, "algorithms found"), verdict::changed);
  EXPECT_EQ(judged_measurement(4, 5, "algorithms found for 64"), verdict::changed);
  EXPECT_EQ(judged_measurement(4, 5, "some algorithms found"), verdict::reproduced);
  EXPECT_EQ(judged_measurement(4, 5, "milliseconds"), verdict::reproduced);
}

TEST(judge, a_measurement_in_its_band_is_as_expected) {
  EXPECT_EQ(judged_measurement(4, 4), verdict::reproduced);
  EXPECT_EQ(judged_measurement(0, 0), verdict::reproduced);
  EXPECT_EQ(judged_measurement(4, 3), verdict::changed);
  EXPECT_EQ(judged_measurement(4, 5), verdict::changed);
  EXPECT_EQ(judged_measurement(1000 * mib, 1021 * mib, banded), verdict::reproduced);
  EXPECT_EQ(judged_measurement(1000 * mib, 979 * mib, banded), verdict::reproduced);
  EXPECT_EQ(judged_measurement(1000 * mib, 1023 * mib, banded), verdict::changed);
  EXPECT_EQ(judged_measurement(1000 * mib, 977 * mib, banded), verdict::changed);
}

TEST(judge, memory_and_errors_of_a_framework_have_bands_as_ratios) {
  const std::string memory = "peak memory over the result, bf16",
                    error = "error over one rounding, k of 8960";
  EXPECT_EQ(judged_measurement(2, 2.5, memory), verdict::reproduced);
  EXPECT_EQ(judged_measurement(2, 1.5, memory), verdict::reproduced);
  EXPECT_EQ(judged_measurement(2, 2.6, memory), verdict::changed);
  EXPECT_EQ(judged_measurement(2, 1.4, memory), verdict::changed);
  EXPECT_EQ(judged_measurement(0.2, 0.3, error), verdict::reproduced);
  EXPECT_EQ(judged_measurement(0.2, 0.31, error), verdict::changed);
  EXPECT_EQ(judged_measurement(0.2, 0.09, error), verdict::changed);
}

TEST(judge, a_measurement_may_see_a_piece_of_memory_more_or_less) {
  EXPECT_EQ(judged_measurement(8 * mib, 10 * mib, banded), verdict::reproduced);
  EXPECT_EQ(judged_measurement(8 * mib, 6 * mib, banded), verdict::reproduced);
  EXPECT_EQ(judged_measurement(8 * mib, 12 * mib, banded), verdict::changed);
  EXPECT_EQ(judged_measurement(0, 2 * mib, "device memory not given back by cublasDestroy"),
            verdict::reproduced);
  EXPECT_EQ(judged_measurement(0, 4 * mib, "device memory not given back by cublasDestroy"),
            verdict::changed);
}

TEST(judge, a_measurement_of_several_trials_may_be_anywhere_between_them) {
  const trials expected{measured(10), measured(20)};
  EXPECT_EQ(judged(fault, expected, {measured(15), measured(20)}), verdict::reproduced);
  EXPECT_EQ(judged(fault, expected, {measured(15), measured(21)}), verdict::flaky);
  EXPECT_EQ(judged(fault, expected, {measured(9), measured(15)}), verdict::flaky);
  EXPECT_EQ(judged(fault, expected, {measured(9), measured(21)}), verdict::changed);
}

TEST(judge, a_measurement_out_of_its_band_is_told) {
  const auto e = expects({measured(4)});
  EXPECT_EQ(judged_arm(fault, {measured(5), measured(6)}, &e).why, "algorithms found: 4 → 5 to 6");
  const auto range = expects({measured(4), measured(8)});
  EXPECT_EQ(judged_arm(fault, {measured(2)}, &range).why, "algorithms found: 4 to 8 → 2");
  const auto band = expects({measured(100 * mib, banded)});
  EXPECT_EQ(judged_arm(fault, {measured(200 * mib, banded)}, &band).why,
            "device memory taken by a further handle: 104857600 → 209715200 (band 100663296 to 109051904)");
}

TEST(judge, a_measurement_that_only_one_of_both_has_is_changed) {
  const auto with = expects({measured(4)}), without = expects({trial({no_memory})});
  const auto gone = judged_arm(fault, {trial({no_memory})}, &with);
  EXPECT_EQ(gone.judged, verdict::changed);
  EXPECT_EQ(gone.why, "algorithms found: 4 → not measured");
  const auto appeared = judged_arm(fault, {measured(4)}, &without);
  EXPECT_EQ(appeared.judged, verdict::changed);
  EXPECT_EQ(appeared.why, "algorithms found: not measured → 4");
  EXPECT_EQ(judged(fault, {trial({no_memory})}, {measured(4, "milliseconds")}), verdict::reproduced);
}

TEST(judge, a_control_is_held_to_its_measurements_too) {
  auto before = trial({success, right}), after = before;
  before.measurements = {{exact, 4, ""}};
  after.measurements = {{exact, 5, ""}};
  EXPECT_EQ(judged(control, {before}, {before}), verdict::ok);
  EXPECT_EQ(judged(control, {before}, {after}), verdict::changed);
}

TEST(judge, a_difference_in_steps_is_told_before_one_in_measurements) {
  auto both = measured(6);
  both.calls[0].what = step_of("cublasCreate", internal);
  const auto e = expects({measured(4)});
  const auto a = judged_arm(fault, {both}, &e);
  EXPECT_EQ(a.judged, verdict::changed);
  EXPECT_EQ(a.why, "cublasCreate: ALLOC_FAILED → INTERNAL_ERROR");
}

}  // namespace
}  // namespace cufault
