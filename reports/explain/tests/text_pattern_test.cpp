// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/text_pattern.hpp"

#include "reports/base/json_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using values = std::map<std::string, std::string>;

values found(std::string_view pattern, std::string_view text) {
  const auto m = text_pattern(pattern).find(text);
  return m ? m->values : values{{"", "not found"}};
}

bool fits(std::string_view pattern, std::string_view text) {
  return text_pattern(pattern).find(text).has_value();
}

TEST(text_pattern, takes_what_varies_by_name) {
  EXPECT_EQ(found("CUDA error: {status} when calling `{call}",
                  "x CUDA error: A_B when calling `cublasCreate(handle)`"),
            (values{{"status", "A_B"}, {"call", "cublasCreate"}}));
  EXPECT_EQ(found("error {code:n} at", "error 700 at"), (values{{"code", "700"}}));
  EXPECT_EQ(found("driver {v:v}", "driver 580.159.04."), (values{{"v", "580.159.04"}}));
  EXPECT_EQ(found("called {said:*} today", "called a b today"), (values{{"said", "a b"}}));
}

TEST(text_pattern, takes_upper_case_for_lower_and_any_run_of_spaces_for_one) {
  EXPECT_TRUE(fits("out of memory", "CUDA OUT  of\tMemory"));
  EXPECT_FALSE(fits("out of memory", "outof memory"));
}

TEST(text_pattern, finds_whole_words_only) {
  EXPECT_TRUE(fits("device-side assert", "a device-side assert, then"));
  EXPECT_FALSE(fits("device-side assert", "device-side assertions"));
  EXPECT_FALSE(fits("INVALID_VALUE", "CUDA_ERROR_INVALID_VALUE"));
  EXPECT_TRUE(fits("RTX 3090*", "RTX 3090Ti"));
  EXPECT_TRUE(fits("*fp8*", "DTYPE_FP8_X"));
}

TEST(text_pattern, finds_a_later_place_where_an_earlier_one_does_not_fit) {
  EXPECT_EQ(found("error {code:n}", "error x, error 7"), (values{{"code", "7"}}));
  EXPECT_EQ(found("call*failed with {code:n}", "call failed twice, failed with 7"), (values{{"code", "7"}}));
  EXPECT_EQ(found("call* of {name}", "call offered of  x"), (values{{"name", "x"}}));
  EXPECT_FALSE(fits("failed*call", "the call failed"));
}

TEST(text_pattern, bridges_a_gap_of_160_characters_and_no_more) {
  EXPECT_TRUE(fits("begin*end of it", "begin" + std::string(160, '.') + "end of it"));
  EXPECT_FALSE(fits("begin*end of it", "begin" + std::string(161, '.') + "end of it"));
}

TEST(text_pattern, is_found_by_its_longest_piece_that_does_not_vary) {
  EXPECT_EQ(text_pattern("CUDA {x} encountered at").literal(), "encountered");
  EXPECT_THROW(text_pattern("{a}: {b}"), input_error);
  EXPECT_THROW(text_pattern("error {a"), input_error);
  EXPECT_THROW(text_pattern("error {a:q}"), input_error);
  EXPECT_THROW(text_pattern(""), input_error);
  EXPECT_THROW(text_pattern("2**31"), input_error);
}

TEST(text_pattern, takes_bytes_that_are_no_characters) {
  EXPECT_TRUE(fits("out of memory", "\xff\xfe out of memory \x80"));
  EXPECT_FALSE(fits("out of memory", "\xff\xfe"));
}

TEST(word_finder, finds_each_word_once_whatever_its_case) {
  word_finder words(std::vector<std::string>{"error", "err", "cuda", "xid"});
  std::vector<std::uint32_t> found;
  words.find("CUDA Error, error", found);
  EXPECT_THAT(found, ElementsAre(2, 1, 0));
  found.clear();
  words.find("nothing", found);
  EXPECT_THAT(found, IsEmpty());
}

TEST(word_finder, finds_words_that_overlap) {
  word_finder words(std::vector<std::string>{"abcd", "bc", "cde"});
  std::vector<std::uint32_t> found;
  words.find("abcde", found);
  EXPECT_THAT(found, ElementsAre(1, 0, 2));
}

}  // namespace
}  // namespace cufault
