// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/log_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using lines = std::vector<std::pair<std::uint64_t, std::string>>;

lines cut(const std::string& text, std::size_t at_once) {
  lines found;
  line_cutter cutter([&](const log_line& l) { found.emplace_back(l.number, std::string(l.text)); });
  for (std::size_t at = 0; at < text.size(); at += at_once)
    cutter.add(std::string_view(text).substr(at, at_once));
  cutter.end();
  return found;
}

TEST(line_cutter, gives_lines_with_their_numbers_however_the_text_comes) {
  const std::string text = "one\ntwo\r\n\n\x1b[31;1mred\x1b[0m text\n50 %\r100 %\nlast";
  const lines all{{1, "one"},      {2, "two"},  {2, ""},      {3, ""},
                  {4, "red text"}, {5, "50 %"}, {5, "100 %"}, {6, "last"}};
  for (const std::size_t at_once : {1U, 2U, 3U, 7U, 1000U}) EXPECT_EQ(cut(text, at_once), all) << at_once;
}

TEST(line_cutter, leaves_out_titles_and_other_escapes) {
  EXPECT_THAT(cut("\x1b]0;title\x07"
                  "a\x1b]8;;http://x\x1b\\b\x1b(Bc\n",
                  3),
              ElementsAre(std::pair{1U, "abBc"s}));
}

TEST(line_cutter, takes_an_escape_that_never_ends_for_none) {
  const auto all = cut("\x1b]0;" + std::string(300, 'x') + " out of memory\nnext\n", 1000);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].second.ends_with("out of memory"));
  EXPECT_EQ(all[1].second, "next");
}

TEST(line_cutter, reads_ascii_in_utf_16) {
  EXPECT_THAT(cut("\xff\xfe"
                  "e\0r\0r\0\n\0"s,
                  2),
              ElementsAre(std::pair{1U,
                                    "\xff\xfe"
                                    "err"s}));
}

TEST(line_cutter, gives_a_long_line_in_parts_that_overlap) {
  std::size_t longest = 0, parts = 0, found = 0;
  line_cutter cutter([&](const log_line& l) {
    longest = std::max(longest, l.text.size());
    ++parts;
    EXPECT_EQ(l.number, 1U);
    if (l.text.find("out of memory") != std::string_view::npos) ++found;
  });
  std::string text(100000, 'x');
  text.replace(8192 - 6, 13, "out of memory");  // across the end of the first part
  cutter.add(text);
  cutter.end();
  EXPECT_LE(longest, 8192U);
  EXPECT_GT(parts, 12U);
  EXPECT_EQ(found, 1U);
  EXPECT_EQ(cutter.cut(), 1U);
  EXPECT_EQ(cutter.lines(), 1U);
  EXPECT_EQ(cutter.bytes(), 100000U);
}

TEST(why_no_log, says_what_to_do_with_a_compressed_file_and_nothing_of_a_log) {
  EXPECT_NE(why_no_log("\x1f\x8b\x08").find("zcat"), std::string::npos);
  EXPECT_NE(why_no_log("\x7f"
                       "ELF\x02")
                .find("core dump"),
            std::string::npos);
  EXPECT_EQ(why_no_log("Traceback (most recent call last):"), "");
  EXPECT_EQ(why_no_log(""), "");
}

}  // namespace
}  // namespace cufault
