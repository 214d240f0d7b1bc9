// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/cost.hpp"

#include "reports/model/tests/cost_example.hpp"
#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

namespace cufault {
namespace {

using namespace examples;

std::vector<double> one_to(int n) {
  std::vector<double> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 1.0);
  return all;
}

/// Ranks and coverage as the binomial distribution has them.
TEST(median_estimate, has_the_ranks_of_the_binomial_distribution) {
  struct known {
    int samples;
    double median, low, high, coverage;
  };
  for (const known& k :
       {known{5, 3, 1, 5, 0.9375}, known{6, 3.5, 1, 6, 0.96875}, known{7, 4, 1, 7, 0.984375},
        known{9, 5, 2, 8, 0.9609375}, known{11, 6, 2, 10, 0.98828125}, known{12, 6.5, 3, 10, 0.961425781},
        known{15, 8, 4, 12, 0.964843750}, known{20, 10.5, 6, 15, 0.958610535},
        known{100, 50.5, 40, 61, 0.964799800}, known{2000, 1000.5, 956, 1045, 0.953447180}}) {
    const median_estimate e = median_of(one_to(k.samples));
    EXPECT_DOUBLE_EQ(e.median, k.median) << k.samples;
    EXPECT_DOUBLE_EQ(e.low, k.low) << k.samples;
    EXPECT_DOUBLE_EQ(e.high, k.high) << k.samples;
    EXPECT_NEAR(e.coverage, k.coverage, 1e-8) << k.samples;
  }
}

TEST(median_estimate, of_one_sample_covers_nothing) {
  const median_estimate e = median_of({2});
  EXPECT_EQ(e.median, 2);
  EXPECT_EQ(e.coverage, 0);
}

TEST(median_estimate, does_not_depend_on_the_order) {
  const median_estimate e = median_of({9, 1, 8, 2, 7, 3, 6, 4, 5});
  EXPECT_EQ(e.median, 5);
  EXPECT_EQ(e.low, 2);
  EXPECT_EQ(e.high, 8);
}

judged_cost judged_one(const cost_comparison& c) {
  static cost_record r;
  r = {};
  r.comparisons = {c};
  return judged(r).at(0);
}

TEST(judged_cost, is_measured_where_it_differs_by_more_than_the_control) {
  const judged_cost j = judged_one(compared_cost("a", {{"slower", 1.05}}));
  EXPECT_EQ(j.verdict, cost_verdict::measured);
  EXPECT_NEAR(j.ratio.median, 1.05, 1e-6);
  EXPECT_EQ(j.more_bytes, 64 << 20);
}

TEST(judged_cost, is_inside_the_noise_of_a_control_that_moves_as_much) {
  cost_comparison c = compared_cost("a", {{"slower", 1.05}});
  c.again = times(1.08);
  const judged_cost j = judged_one(c);
  EXPECT_EQ(j.verdict, cost_verdict::inside_noise);
  EXPECT_TRUE(is_unsteady(j.control));
  c.with[0].milliseconds = times(1.2);
  EXPECT_EQ(judged_one(c).verdict, cost_verdict::measured);
}

TEST(judged_cost, has_a_steady_control_where_the_work_is_like_itself) {
  EXPECT_FALSE(is_unsteady(judged_one(compared_cost("a", {{"slower", 1.05}})).control));
  // Beyond chance, and too little to matter.
  cost_comparison c = compared_cost("a", {{"slower", 1.05}});
  c.again = times(1.01);
  EXPECT_FALSE(is_unsteady(judged_one(c).control));
  // Too few rounds to tell.
  c.again = times(1.5);
  for (auto* all : {&c.without.milliseconds, &c.again, &c.with[0].milliseconds}) all->resize(5);
  EXPECT_FALSE(is_unsteady(judged_one(c).control));
}

TEST(judged_cost, of_few_rounds_says_so) {
  cost_comparison c = compared_cost("a", {{"slower", 2}});
  for (auto* all : {&c.without.milliseconds, &c.again, &c.with[0].milliseconds}) all->resize(5);
  EXPECT_EQ(judged_one(c).verdict, cost_verdict::few_rounds);
}

TEST(cost_text, says_what_a_remedy_costs_in_a_few_words) {
  const auto text = [](std::vector<double> measured, std::size_t noise, std::int64_t bytes) {
    remedy_cost_summary s{.remedy = "r", .words = "w"};
    s.works = measured.size() + noise;
    s.inside_noise = noise;
    if (!measured.empty()) {
      s.least = *std::ranges::min_element(measured);
      s.most = *std::ranges::max_element(measured);
      s.least_added = 0.004;
      s.most_added = 662.4;
    }
    s.least_bytes = s.most_bytes = bytes;
    return cost_text(s);
  };
  EXPECT_EQ(text({1.031}, 0, 64 << 20), "costs 3.1 %; 64 MiB");
  EXPECT_EQ(text({1.01, 1.12}, 0, 0), "costs 1.0 % to 12 %");
  EXPECT_EQ(text({1.05}, 3, 0), "costs 0.0 % to 5.0 %");
  EXPECT_EQ(text({0.95, 1.05}, 0, 0), "costs -5.0 % to 5.0 %");
  EXPECT_EQ(text({0.8}, 0, -(std::int64_t{3} << 30)), "saves 20 %; -3.0 GiB");
  EXPECT_EQ(text({91}, 0, 0), "adds 662 ms");
  EXPECT_EQ(text({1.5, 91}, 0, 0), "adds up to 662 ms to a call");
  EXPECT_EQ(text({91}, 1, 0), "adds up to 662 ms to a call");
  EXPECT_EQ(text({}, 2, 1 << 20), "costs nothing outside the noise; 1 MiB");
  EXPECT_EQ(text({}, 0, 0), "");
}

TEST(cost_text, has_times_in_their_unit) {
  EXPECT_EQ(time_text(0.0042), "4.2 us");
  EXPECT_EQ(time_text(0.31), "310 us");
  EXPECT_EQ(time_text(3.14), "3.1 ms");
  EXPECT_EQ(time_text(662.4), "662 ms");
  EXPECT_EQ(time_text(1234), "1.2 s");
}

TEST(cost_text, has_bytes_in_their_unit) {
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(bytes_text(512), "512 bytes");
  EXPECT_EQ(bytes_text(-2048), "-2 KiB");
  EXPECT_EQ(bytes_text(64 << 20), "64 MiB");
  EXPECT_EQ(bytes_text(std::int64_t{5} << 29), "2.5 GiB");
}

TEST(cost_notes, join_a_stack_and_a_remedy) {
  const std::array records{costs()};
  const cost_notes notes = notes_of(records);
  const std::string stack = "cuBLAS 13.1.0, NVIDIA H200, driver 580.1";
  EXPECT_EQ(note_of(notes, stack, "own_workspace"), "costs 3.0 % to 5.0 %; 64 MiB");
  EXPECT_EQ(note_of(notes, stack, "new_handle"), "adds 90 ms; 64 MiB");
  EXPECT_EQ(note_of(notes, stack, "workspace_0_0"), "costs nothing outside the noise; 64 MiB");
  EXPECT_EQ(note_of(notes, stack, "pedantic_math"), "gave wrong numbers where its cost was measured");
  EXPECT_EQ(note_of(notes, stack, "refused"), "");
  EXPECT_EQ(note_of(notes, "cuBLAS 12.0.1, NVIDIA H200, driver 580.1", "own_workspace"), "");
  EXPECT_EQ(note_of(notes, stack, "retry"), "");
}

TEST(cost_notes, are_not_made_of_a_test) {
  std::array records{costs()};
  records[0].size = "tiny";
  EXPECT_TRUE(notes_of(records).empty());
}

TEST(cost_notes, stand_beside_an_arm_whose_remedy_cleared) {
  using namespace examples;
  case_result c{.name = "memory.leak",
                .arms = {arm(arm_kind::remedy, {trial({no_memory}, {right})}, "trim")}};
  arm_result& trim = c.arms[0];
  trim.judged = verdict::unrecorded;
  const cost_notes notes{{"here", {{"trim", "costs 3.0 %"}}}};
  EXPECT_EQ(cost_beside(notes, "here", c, trim), "costs 3.0 %");
  EXPECT_EQ(cost_beside(notes, "elsewhere", c, trim), "");
  trim.judged = verdict::not_provoked;
  EXPECT_EQ(cost_beside(notes, "here", c, trim), "") << "there was nothing to clear";
  trim.judged = verdict::unresolved;
  EXPECT_EQ(cost_beside(notes, "here", c, trim), "") << "without a working control it proves nothing";
  trim.judged = verdict::still_fails;
  trim.trials = {trial({no_memory}, {no_memory})};
  EXPECT_EQ(cost_beside(notes, "here", c, trim), "");
}

TEST(cost_notes, know_the_remedy_of_an_arm) {
  EXPECT_EQ(remedy_of_arm("matrix.full_device/sgemm_64.cold.arrived.64+own_workspace"), "own_workspace");
  EXPECT_EQ(remedy_of_arm("memory.leak/eager_loading"), "eager_loading");
  EXPECT_EQ(remedy_of_arm("cupy.cached_arrays/matmul.8+retry"), "retry");
  EXPECT_EQ(remedy_of_arm("memory.create_under_pressure/half_precision_lazy"), "fp16_for_fp32");
  EXPECT_EQ(remedy_of_arm("memory.workspace_growth/workspace_16"), "workspace_16_8");
  EXPECT_EQ(remedy_of_arm("matrix.full_pool/sgemm_64.cold+workspace_0_0"), "workspace_0_0");
}

}  // namespace
}  // namespace cufault
