// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is printed of a log, word for word: golden/NAME.log becomes golden/NAME.txt (the first answer, then all of it) and golden/NAME.json. CUFAULT_WRITE_GOLDEN=1 writes them.
#include "reports/printers/print_explanation.hpp"

#include "reports/base/tests/input_examples.hpp"
#include "reports/explain/tests/examples.hpp"
#include "reports/model/failures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace cufault {

namespace {

namespace fs = std::filesystem;

explanation explained(const std::string& text) {
  static const std::vector<record> records{example_stack("13.1.0"), example_stack("12.0.1")};
  static const evidence seen = evidence_in(records, known());
  static const auto reports = reports_of_causes(load_failures(CUFAULT_FAILURES_FILE), known());
  event_finder finder(known());
  finder.add(text);
  return explain(finder.finish(), {known(), seen, reports});
}

class golden_log : public testing::TestWithParam<const char*> {};

TEST_P(golden_log, is_explained_word_for_word) {
  const std::string stem = GetParam(), name = stem + ".log";
  const explanation e = explained(read_text(fs::path(CUFAULT_GOLDEN) / name));
  std::ostringstream out;
  print_first_answer(out, e, name);
  out << "\n--more\n\n";
  print_explanation(out, e, name);
  examples::expect_golden(fs::path(CUFAULT_GOLDEN) / (stem + ".txt"), out.str());
  examples::expect_golden(fs::path(CUFAULT_GOLDEN) / (stem + ".json"),
                          explanation_json(e, name).dump(2) + "\n");
}

INSTANTIATE_TEST_SUITE_P(each, golden_log,
                         testing::Values("assertion", "create_fails", "killed", "nothing_known",
                                         "plain_program"),
                         [](const auto& which) { return std::string(which.param); });

TEST(print_explanation, prints_text_of_a_log_as_printable_characters) {
  const explanation e = explained(
      "\x1b]0;x\x07 torch 2.0\n\xff`\xff block: [0], thread: [0] Assertion `\x01\xe2\x82\xac\x7f` failed\n");
  std::ostringstream out;
  print_first_answer(out, e, "a\nname\x1b[0m");
  print_explanation(out, e, "a\nname\x1b[0m");
  for (const char c : out.str() + explanation_json(e, "a\nname").dump())
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c <= 0x7e)) << static_cast<int>(c);
  EXPECT_FALSE(e.causes.empty());
}

std::vector<std::string> lines_at(std::size_t width, const std::vector<answer_row>& rows) {
  std::ostringstream out;
  print_rows(out, rows, {.width = width}, 10);
  std::vector<std::string> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The text of a row as a reader puts it together again.
std::string row_of(const std::vector<std::string>& lines, const std::string& head) {
  std::string text;
  bool inside = false;
  for (const std::string& line : lines) {
    inside = line.starts_with(head) || (inside && line.starts_with("  "));
    if (inside) text += (text.empty() ? "" : " ") + line.substr(text.empty() ? head.size() : 0);
  }
  return std::regex_replace(text, std::regex(":? +"), " ");
}

TEST(print_first_answer, has_at_most_10_lines_and_keeps_check_and_fix_whole_at_any_width) {
  const std::string word(150, 'x');
  for (const std::string& log :
       {std::string("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        std::string("[22:21:32.099][1][CUDA][E] " + word +
                    "\n[22:21:32.099][1][CUDA][E] Returning 719 "
                    "(CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2\nGPU: RTX 4090, A100, T4\n"
                    "[rank1]: cublasSgemm: CUBLAS_STATUS_INTERNAL_ERROR\n[rank0]: cublasSgemm: "
                    "CUBLAS_STATUS_EXECUTION_FAILED"),
        std::string("CUDA out of memory on RTX 4090, llama.cpp"), "CUDNN_STATUS_" + word,
        std::string("hello"), std::string("Out of memory: Killed process 12345 (python)")}) {
    const std::vector<answer_row> rows = answer_rows(explained(log));
    for (const std::size_t width : {40U, 59U, 60U, 80U, 100U, 200U}) {
      const auto lines = lines_at(width, rows);
      EXPECT_LE(lines.size(), 10U) << width << ": " << log;
      for (const std::string& line : lines) EXPECT_LE(line.size(), std::min<std::size_t>(width, 100)) << line;
      for (const answer_row& row : rows) {
        if (row.head != "Check" && row.head != "Fix") continue;
        EXPECT_EQ(row_of(lines, row.head), std::regex_replace(" " + row.text, std::regex(":? +"), " "));
      }
    }
  }
}

TEST(print_rows, shortens_what_gives_most_first_and_says_so) {
  const std::string words =
      "one two three four five six seven eight nine ten eleven twelve thirteen fourteen";
  EXPECT_THAT(lines_at(60, {{"Check", words}, {"Fix", words, 1, 1}, {"Or", words, 2}}),
              testing::Contains(testing::StartsWith("Or")));
  std::ostringstream out;
  print_rows(out, {{"Check", words}, {"Fix", words, 1, 1}, {"Or", words, 2}}, {.width = 60}, 3);
  EXPECT_EQ(out.str(),
            "Check   one two three four five six seven eight nine ten\n"
            "        eleven twelve thirteen fourteen\n"
            "Fix     one two three four five six seven eight nine ten ...\n");
}

TEST(print_first_answer, says_whose_measurements_these_are) {
  std::ostringstream out;
  print_first_answer(out, explained("RTX 4090\ncublasCreate: CUBLAS_STATUS_ALLOC_FAILED"), "log");
  EXPECT_NE(out.str().find("measured on H200, not on RTX 4090"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace cufault
