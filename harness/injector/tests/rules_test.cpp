// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/rules.hpp"

#include "harness/injector/counts_reader.hpp"
#include "harness/system/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace cufault::injector {
namespace {

using testing::HasSubstr;

rule_set parsed(const std::string& each) {
  return rules_from(json_cursor{parse_json("rules", R"({"rules": [)" + each + "]}")});
}

std::string refused(const std::string& each) {
  try {
    parsed(each);
  } catch (const input_error& error) {
    return error.what();
  }
  return "taken";
}

TEST(rules, match_a_name_with_and_without_its_suffixes) {
  for (const char* pattern :
       {"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpy?toDAsync",
        "cuMem*Async", "cuMemcpyHtoDAsync_v?", "cuMemcpy*ptsz", "cuMemcpy[H]toDAsync"})
    EXPECT_TRUE(matches_function(pattern, "cuMemcpyHtoDAsync_v2_ptsz")) << pattern;
  for (const char* pattern : {"cuMemcpyHtoD", "cuMemcpyHtoDAsync_ptsz", "cuMemcpyHtoDAsync_v3",
                              "cuMemcpyHtoDAsyn?_v2_ptsz?", "cuMemcpy[D]toDAsync", "CuMem*"})
    EXPECT_FALSE(matches_function(pattern, "cuMemcpyHtoDAsync_v2_ptsz")) << pattern;
  EXPECT_TRUE(matches_function("cuMemAllo?", "cuMemAlloc_v2"));
  EXPECT_TRUE(matches_function("cuMem*lloc", "cuMemAlloc_v2"));
  EXPECT_FALSE(matches_function("cuMem*lloc", "cuMemAllocAsync"));
  EXPECT_TRUE(matches_function("*", "cuInit"));
}

TEST(rules, that_can_never_act_are_refused) {
  EXPECT_THAT(refused(R"({"function": "cuStream*", "log": true, "min_bytes": 1})"),
              HasSubstr("allocates nothing"));
  EXPECT_THAT(refused(R"({"function": "cuMemAlloc", "log": true, "probability": 0})"), HasSubstr("above 0"));
  const std::string all = R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY"})";
  EXPECT_THAT(refused(all + R"(, {"function": "cuMemAlloc", "delay_ms": 1})"),
              HasSubstr("rules[1] can never act: rules[0] fails every call of cuMemAlloc"));
  EXPECT_EQ(refused(R"({"function": "cuMemAlloc", "delay_ms": 1}, )" + all), "taken");
  EXPECT_EQ(refused(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "hits": 1}, )" + all), "taken");
  EXPECT_EQ(
      refused(
          R"({"function": "cuMem*", "return": "OUT_OF_MEMORY"}, {"function": "cuMem*", "return": "INVALID_VALUE"})"),
      "taken");
}

TEST(rules, know_codes_that_headers_or_a_driver_gave) {
  EXPECT_EQ(refused(R"({"function": "cuLaunchKernel", "return": "OUT_OF_MEMORY"})"), "taken");
  EXPECT_EQ(refused(R"({"function": "cuKernelGetFunction", "return": "OUT_OF_MEMORY"})"), "taken");
  EXPECT_THAT(refused(R"({"function": "cuMemFree", "return": "OUT_OF_MEMORY"})"),
              HasSubstr("cuMemFree cannot return"));
}

TEST(rules, act_at_random_as_often_as_they_are_to) {
  rule r =
      parsed(
          R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "probability": 0.01, "hits": 1, "seed": 3})")
          .rules.at(0);
  // That it did so often already is the injector's to know: each draw counts.
  int drawn = 0;
  for (std::uint64_t n = 1; n <= 100'000; ++n) drawn += acts_on(r, n);
  EXPECT_GT(drawn, 800);
  EXPECT_LT(drawn, 1200);
  r.probability = 1;
  EXPECT_TRUE(acts_on(r, 1));
  EXPECT_FALSE(acts_on(r, 2));
}

TEST(counts, that_cannot_be_read_are_told_apart_from_none) {
  const temporary_folder folder("cufault-counts-");
  EXPECT_EQ(counted_in(folder.path()).unread, 0);
  std::ofstream(folder.path() / "1.1") << "cufault";
  std::ofstream(folder.path() / "2.1") << std::string(200, 'x');
  std::ofstream(folder.path() / "3.1") << "cufault1" << std::string(100, '\x01');
  std::ofstream(folder.path() / "4.1")
      << "cufault1" << std::string(8, '\0') << std::string(4, '\x01') << std::string(84, '\0');
  const counted all = counted_in(folder.path());
  EXPECT_EQ(all.unread, 4);
  EXPECT_EQ(all.programs, 0);
}

}  // namespace
}  // namespace cufault::injector
