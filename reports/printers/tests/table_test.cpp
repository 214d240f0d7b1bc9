// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

namespace cufault {
namespace {

using testing::ElementsAre;

TEST(lines, are_wrapped_by_columns_and_not_bytes) {
  EXPECT_THAT(wrapped("abcdefgh ij", 4), ElementsAre("abcd", "efgh", "ij"));
  EXPECT_THAT(wrapped("", 4), ElementsAre(""));
  EXPECT_THAT(wrapped("  abc def", 6), ElementsAre("  abc", "  def"));
  EXPECT_THAT(wrapped("cases/kit.cpp", 8), ElementsAre("cases/", "kit.cpp")) << "behind a separator";
  EXPECT_THAT(wrapped("→→ →→", 2), ElementsAre("→→", "→→"));
  EXPECT_THAT(wrapped("→→→", 2), ElementsAre("→→", "→"));
  EXPECT_THAT(wrapped("\xff\xfe\xff", 2), ElementsAre("\xff\xfe", "\xff"));  // no UTF-8
}

TEST(tables_in_files, have_lines_as_long_as_they_are) {
  const std::string words(300, 'w');
  std::ostringstream out;
  print_table(out, {"a", "verdict"}, {{words, "WORSENED"}, {"→", "OK"}}, table_style::text);
  EXPECT_EQ(out.str(), "a" + std::string(301, ' ') + "verdict\n" + words + "  WORSENED\n→" +
                           std::string(301, ' ') + "OK\n\n");
}

/// What is written to std::cout where that is a terminal of so many columns, or a file, with these variables.
std::string shown_by(bool is_terminal, unsigned short columns,
                     const std::map<std::string, std::string>& variables,
                     const std::function<void()>& print) {
  const int ours = posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_TRUE(ours >= 0 && grantpt(ours) == 0 && unlockpt(ours) == 0);
  const int terminal = open(ptsname(ours), O_RDWR | O_NOCTTY);
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  EXPECT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  std::fflush(stdout);  // else the child writes it, too
  const pid_t child = fork();
  if (child == 0) {
    for (const char* name : {"COLUMNS", "NO_COLOR", "TERM"}) unsetenv(name);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    dup2(is_terminal ? terminal : ends[1], STDOUT_FILENO);
    print();
    std::cout << std::flush;
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);  // before it is read: little enough to be kept
  close(ends[1]);
  close(terminal);
  std::string text;
  char bytes[4096];
  for (ssize_t n = 0; (n = read(is_terminal ? ours : ends[0], bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(n));
  close(ends[0]);
  close(ours);
  std::erase(text, '\r');
  return text;
}

void print_three_columns() {
  print_table(
      std::cout, {"arm", "verdict", "what was seen"},
      {{"memory.leak/control", "OK", "right"},
       {"memory.leak/trim", "WORSENED", "a crash in the second call of the handle that was there before"},
       {"memory.leak/fault", "NOT_PROVOKED", ""}},
      table_style::text);
}

TEST(tables_in_terminals, have_no_line_wider_than_the_terminal) {
  const std::string narrow =
      "arm                  verdict\n"
      "    what was seen\n"
      "memory.leak/control  OK\n"
      "    right\n"
      "memory.leak/trim     WORSENED\n"
      "    a crash in the second call of the handle that\n"
      "    was there before\n"
      "memory.leak/fault    NOT_PROVOKED\n"
      "\n";
  EXPECT_EQ(shown_by(true, 50, {}, print_three_columns), narrow);
  EXPECT_EQ(shown_by(true, 120, {{"COLUMNS", "50"}}, print_three_columns), narrow);
  const std::string whole = shown_by(true, 200, {}, print_three_columns);
  EXPECT_THAT(whole, testing::HasSubstr("\nmemory.leak/trim     WORSENED      a crash in the"));
  EXPECT_EQ(shown_by(false, 50, {}, print_three_columns), whole);
  EXPECT_EQ(shown_by(false, 50, {{"COLUMNS", "50"}, {"TERM", "xterm"}}, print_three_columns), whole)
      << "a pipe";
}

TEST(tables_in_terminals, put_several_columns_that_do_not_fit_below_their_row) {
  const auto wide = [] {
    print_table(std::cout, {"a", "b", "c", "d"},
                {{std::string(20, 'a'), std::string(20, 'b'), "1 and\n2", "a text that has no room"},
                 {"x", "y", "", "z"}},
                table_style::text);
  };
  EXPECT_EQ(shown_by(true, 40, {}, wide), "a" + std::string(20, ' ') + "b\n" + std::string(19, 'a') + "  " +
                                              std::string(19, 'b') + "\na" + std::string(20, ' ') + "b\n" +
                                              "    c: 1 and; 2\n    d: a text that has no room\nx" +
                                              std::string(20, ' ') + "y\n    d: z\n\n");
}

TEST(lines_in_terminals, are_wrapped_beside_their_label) {
  const auto entries = [] {
    const auto kept = keep_to_width(std::cout);
    print_entry(std::cout, "  see: ", "one two three four five six seven eight");
    print_entry(std::cout, "    a label that has more than half", " of the line and a text that is long");
    print_entry(std::cout, "", "short");
  };
  EXPECT_EQ(shown_by(true, 40, {}, entries),
            "  see: one two three four five six seven\n       eight\n"
            "    a label that has more than half of\n      the line and a text that is long\nshort\n");
  const std::string whole =
      "  see: one two three four five six seven eight\n"
      "    a label that has more than half of the line and a text that is long\nshort\n";
  EXPECT_EQ(shown_by(true, 200, {}, entries), whole);
  EXPECT_EQ(shown_by(false, 40, {}, entries), whole);
}

TEST(lines_in_terminals, go_on_below_their_last_column_and_in_their_colour) {
  const auto kept = [](std::string_view line) { return kept_to_width(line, 20); };
  EXPECT_THAT(kept("[ok]  name  two words, three"), ElementsAre("[ok]  name two", "      words, three"))
      << "a column in the right half is text";
  EXPECT_THAT(kept("one two three four five "), ElementsAre("one two three four", "  five"));
  EXPECT_THAT(kept("exactly as wide as it"), ElementsAre("exactly as wide as", "  it"));
  EXPECT_THAT(kept("exactly  as wide  as"), ElementsAre("exactly  as wide  as"));
  EXPECT_THAT(kept("see /usr/local/cuda-13.0/lib64/libcublas.so"),
              ElementsAre("see", "  /usr/local/cuda-", "  13.0/lib64/", "  libcublas.so"));
  EXPECT_THAT(kept("\x1b[31mred: one two three four\x1b[0m five"),
              ElementsAre("\x1b[31mred: one two three", "     four\x1b[0m five"));
  EXPECT_THAT(kept(std::string(45, 'x')),
              ElementsAre(std::string(20, 'x'), "  " + std::string(18, 'x'), "  " + std::string(7, 'x')));
}

TEST(lines_in_terminals, come_whole_from_parts_and_are_flushed_as_they_are) {
  const auto parts = [] {
    const auto kept = keep_to_width(std::cout);
    std::cout << "one two three four five"
              << " six seven eight nine" << '\n'
              << "no end" << std::flush << "\n";
  };
  EXPECT_EQ(shown_by(true, 40, {}, parts), "one two three four five six seven eight\n  nine\nno end\n");
}

TEST(tables_in_terminals, have_colour_where_nothing_forbids_it) {
  const std::string colour = shown_by(true, 200, {{"TERM", "xterm"}}, print_three_columns);
  EXPECT_THAT(colour, testing::HasSubstr("\x1b[1marm\x1b[0m "));
  EXPECT_THAT(colour, testing::HasSubstr("\x1b[32mOK\x1b[0m "));
  EXPECT_THAT(colour, testing::HasSubstr("\x1b[31mWORSENED\x1b[0m "));
  EXPECT_THAT(colour, testing::HasSubstr("\x1b[33mNOT_PROVOKED\x1b[0m\n"));
  const std::string plain = shown_by(true, 200, {}, print_three_columns);
  EXPECT_EQ(plain.find('\x1b'), plain.npos) << "without TERM";
  EXPECT_EQ(shown_by(true, 200, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}, print_three_columns), plain);
  EXPECT_EQ(shown_by(true, 200, {{"TERM", "dumb"}}, print_three_columns), plain);
  EXPECT_EQ(shown_by(false, 200, {{"TERM", "xterm"}}, print_three_columns), plain);
  EXPECT_EQ(shown_by(true, 200, {{"TERM", "xterm"}, {"NO_COLOR", ""}}, print_three_columns), colour);
}

TEST(named_tables, are_printed_and_are_json) {
  const table_value two_lines("2\n3", std::int64_t{2}), three = table_value::count(3), none("-", nullptr);
  const std::vector<named_table> all{
      {"overview",
       "S",
       "",
       {{"what?", "operation"}, {"runs, and how deep", "runs"}, {"", "depth"}, {"for people", ""}},
       {{"a", {"1, thin", std::int64_t{1}}, "thin", "p"}, {"b", two_lines, none, three}}},
      {"swallowed", "S", "What is swallowed", {{"call", "call"}}, {}},
      {"sums",
       "",
       "All",
       {{"n", "sum"}},
       {{three}, {{"1 of 2", std::map<std::string, std::int64_t>{{"of", 2}}}}}}};
  std::ostringstream out;
  print_tables(out, all, 3, table_style::markdown);
  EXPECT_EQ(out.str(),
            "### S\n\n| what? | runs, and how deep | for people |\n| --- | --- | --- |\n| a | 1, thin | p |\n"
            "| b | 2<br>3 | 3 |\n\n"
            "#### What is swallowed\n\nNone.\n\n### All\n\n| n |\n| --- |\n| 3 |\n| 1 of 2 |\n\n");
  EXPECT_EQ(to_json(all).dump(),
            R"({"schema":2,"stacks":[{"stack":"S","overview":[{"operation":"a","runs":1,"depth":"thin"},)"
            R"({"operation":"b","runs":2,"depth":null}],"swallowed":[]}],)"
            R"("sums":[{"sum":3},{"sum":{"of":2}}]})");
}

}  // namespace
}  // namespace cufault
