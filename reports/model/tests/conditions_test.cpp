// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/expectation.hpp"
#include "reports/model/tests/expectation_examples.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cufault {
namespace {

using namespace examples;

bool cublas_holds(std::string_view comparisons, const std::string& version) {
  return when(fmt::format(R"({{"cublas": "{}"}})", comparisons)).hold({{"cublas", version}});
}

TEST(conditions, that_are_empty_always_hold) {
  EXPECT_TRUE(when("{}").hold({}));
  EXPECT_EQ(when("{}").specificity(), 0);
  EXPECT_EQ(when("{}").text(), "any stack");
}

TEST(conditions, compare_versions_number_by_number) {
  EXPECT_TRUE(cublas_holds(">=13.1 <13.2", "13.1.0"));
  EXPECT_TRUE(cublas_holds(">=13.1 <13.2", "13.1.9.70"));
  EXPECT_FALSE(cublas_holds(">=13.1 <13.2", "13.2.0"));
  EXPECT_FALSE(cublas_holds(">=13.1 <13.2", "13.0.2"));
  EXPECT_TRUE(cublas_holds("<13.10", "13.9"));
  EXPECT_TRUE(cublas_holds(">9", "12.0"));
}

TEST(conditions, know_each_comparison_on_both_sides_of_its_edge) {
  EXPECT_TRUE(cublas_holds("=13.1", "13.1"));
  EXPECT_FALSE(cublas_holds("=13.1", "13.1.1"));
  EXPECT_TRUE(cublas_holds(">13.1", "13.1.1"));
  EXPECT_FALSE(cublas_holds(">13.1", "13.1"));
  EXPECT_TRUE(cublas_holds("<=13.1", "13.1"));
  EXPECT_FALSE(cublas_holds("<=13.1", "13.1.1"));
  EXPECT_TRUE(cublas_holds("<13.1", "13.0.9"));
  EXPECT_FALSE(cublas_holds("<13.1", "13.1"));
  EXPECT_TRUE(cublas_holds(">=13.1", "13.1"));
  EXPECT_FALSE(cublas_holds(">=13.1", "13.0.9"));
}

TEST(conditions, count_missing_parts_as_nought) {
  EXPECT_TRUE(cublas_holds("13.1", "13.1.0.0"));
  EXPECT_TRUE(cublas_holds("13.1.0", "13.1"));
  EXPECT_TRUE(cublas_holds(">=13.0", "13"));
}

TEST(conditions, compare_other_text_for_equality) {
  const auto lazy = when(R"({"module_loading": "LAZY"})");
  EXPECT_TRUE(lazy.hold({{"module_loading", "LAZY"}}));
  EXPECT_FALSE(lazy.hold({{"module_loading", "EAGER"}}));
  EXPECT_FALSE(cublas_holds(">=13", "unknown"));
}

TEST(conditions, on_what_is_unknown_do_not_hold) {
  EXPECT_FALSE(when(R"({"compute_capability": "9.0"})").hold({{"cublas", "13.1"}}));
  EXPECT_FALSE(
      when(R"({"cublas": "13.1", "driver": ">=580"})").hold({{"cublas", "13.1"}, {"driver", "570.1"}}));
}

TEST(conditions, are_as_specific_as_their_bounds) {
  EXPECT_EQ(when(R"({"cublas": ">=13"})").specificity(), 1);
  EXPECT_EQ(when(R"({"cublas": ">=13 <14"})").specificity(), 2);
  EXPECT_EQ(when(R"({"compute_capability": "9.0"})").specificity(), 2);
  EXPECT_EQ(when(R"({"cublas": ">=13 <14", "compute_capability": "=9.0"})").specificity(), 4);
}

TEST(conditions, hold_where_one_alternative_holds) {
  EXPECT_TRUE(cublas_holds("12.0.1 || >=13.1 <13.2", "12.0.1"));
  EXPECT_TRUE(cublas_holds("12.0.1 || >=13.1 <13.2", "13.1.9"));
  EXPECT_FALSE(cublas_holds("12.0.1 || >=13.1 <13.2", "12.0.2"));
  EXPECT_FALSE(cublas_holds("12.0.1 || >=13.1 <13.2", "13.2"));
  EXPECT_TRUE(cublas_holds("1 || 2 || 3", "3"));
  const auto loading = when(R"({"module_loading": "LAZY || EAGER", "cublas": "13"})");
  EXPECT_TRUE(loading.hold({{"module_loading", "EAGER"}, {"cublas", "13.0"}}));
  EXPECT_FALSE(loading.hold({{"module_loading", "DEFAULT"}, {"cublas", "13.0"}}));
  EXPECT_FALSE(loading.hold({{"module_loading", "EAGER"}, {"cublas", "12.0"}}));
  EXPECT_FALSE(loading.hold({{"cublas", "13.0"}}));
  EXPECT_TRUE(loading.may_hold({{"cublas", "13.0"}}));
  EXPECT_FALSE(loading.may_hold({{"cublas", "12.0"}}));
}

TEST(conditions, with_alternatives_are_as_specific_as_the_widest) {
  EXPECT_EQ(when(R"({"cublas": "12.0.1 || 13.1"})").specificity(), 2);
  EXPECT_EQ(when(R"({"cublas": "12.0.1 || >=13"})").specificity(), 1);
  EXPECT_EQ(when(R"({"cublas": ">=12 <13 || >=13.1 <13.2"})").specificity(), 2);
  EXPECT_EQ(when(R"({"cublas": "12.0.1 || >=13", "compute_capability": "9.0"})").specificity(), 3);
  EXPECT_EQ(when(R"({"cublas": "12.0.1 || >=13"})").text(), "cublas 12.0.1 || >=13");
}

TEST(conditions, lose_the_alternatives_that_others_have) {
  EXPECT_EQ(without_alternatives(">=12.8 <12.9 || >=13 <14", ">=13 <14"), ">=12.8 <12.9");
  EXPECT_EQ(without_alternatives(">=12.8 <12.9 || >=13 <14", ">=13.1 <13.2"),
            ">=12.8 <12.9 || >=13 <13.1 || >=13.2 <14");
  EXPECT_EQ(without_alternatives(">=13 <14", ">=13 <13.2"), ">=13.2 <14");
  EXPECT_EQ(without_alternatives(">=13 <14", ">=13.10 <14"), ">=13 <13.10");
  EXPECT_EQ(without_alternatives(">=13.1 <13.2", ">=13 <14"), ">=13.1 <13.2") << "the narrower one stays";
  EXPECT_EQ(without_alternatives(">=13 <14", ">=12 <13.5"), ">=13.5 <14");
  EXPECT_EQ(without_alternatives(">=13 <14", ">=13.5 <15"), ">=13 <13.5");
  EXPECT_EQ(without_alternatives(">=13 <14", ">=14 <15"), ">=13 <14");
  EXPECT_EQ(without_alternatives("13.1 || >=14", ">=13 <14 || >=14"), "13.1");
  EXPECT_EQ(without_alternatives(">=13 <14", ">=12 <13 || >=13 <14"), "");
}

TEST(conditions, are_joined_with_the_lowest_version_first) {
  EXPECT_EQ(joined_alternatives(">=13 <14", ">=12.8 <12.9"), ">=12.8 <12.9 || >=13 <14");
  EXPECT_EQ(joined_alternatives(">=9 <10 || >=13.10 <14", ">=13.9 <13.10"),
            ">=9 <10 || >=13.9 <13.10 || >=13.10 <14");
  EXPECT_EQ(joined_alternatives(">=13 <14", ">=13 <14"), ">=13 <14");
  EXPECT_EQ(joined_alternatives(">=12 <13 || >=13 <14", ">=13.10 <13.11"), ">=12 <13 || >=13 <14");
  EXPECT_EQ(joined_alternatives(">=13 <14", ">=13.0 <14.0"), ">=13 <14") << "two spellings of one range";
  EXPECT_EQ(joined_alternatives("13.1", ">=13 <14"), ">=13 <14 || 13.1") << "only of two ranges";
}

TEST(conditions, read_as_text) {
  const auto c = when(R"({"compute_capability": "9.0", "cublas": ">=13 <14"})");
  EXPECT_EQ(c.text(), "compute_capability 9.0, cublas >=13 <14");
}

TEST(conditions, that_are_malformed_are_refused) {
  for (const auto* bad :
       {"", " ", ">=", ">= 13", ">=LAZY", "13.x <", "==13", "=>13", ">=13 <", ">13.", "<.1", "12 ||", "|| 12",
        " || 12", "12 || ", "12 ||  || 13", "12||13", "12 | 13", ">= || 13"})
    EXPECT_EQ(
        refusal([&] { when(fmt::format(R"({{"cublas": "{}"}})", bad)); }),
        R"(x.json:1: cublas: expected comparisons joined by spaces, such as ">=13.1 <13.2" or "9.0", and alternatives by " || ")")
        << bad;
  EXPECT_EQ(refusal([] { when("{\n\"colour\": \"red\"}"); }),
            "x.json:2: colour: unknown condition; known are cublas, cublaslt, driver, runtime, "
            "compute_capability, memory_gib, "
            "module_loading, other_cublas, pytorch, jax, cupy");
  EXPECT_EQ(refusal([] { when("{\"cublas\": 13}"); }), "x.json:1: cublas: expected a string, found a number");
}

}  // namespace
}  // namespace cufault
