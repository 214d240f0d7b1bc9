// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is printed of a log, word for word: golden/NAME.log becomes golden/NAME.txt and golden/NAME.json. CUFAULT_WRITE_GOLDEN=1 writes them.
#include "reports/printers/print_explanation.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/explain/tests/examples.hpp"
#include "reports/model/failures.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

namespace cufault {
namespace {

namespace fs = std::filesystem;

explanation explained(const std::string& text) {
  static const lexicon words = load_lexicon(CUFAULT_EXPLAIN_FOLDER);
  static const std::vector<record> records{example_stack("13.1.0"), example_stack("12.0.1")};
  static const evidence seen = evidence_in(records, words);
  static const auto reports = reports_of_causes(load_failures(CUFAULT_FAILURES_FILE), words);
  event_finder finder(words);
  finder.add(text);
  return explain(finder.finish(), {words, seen, reports});
}

void expect_golden(const fs::path& file, const std::string& text) {
  if (std::getenv("CUFAULT_WRITE_GOLDEN") != nullptr) write_whole(file, text);
  EXPECT_EQ(read_text(file), text) << file;
}

class golden_log : public testing::TestWithParam<const char*> {};

TEST_P(golden_log, is_explained_word_for_word) {
  const fs::path stem = fs::path(CUFAULT_GOLDEN) / GetParam();
  const std::string name = stem.filename().string() + ".log";
  const explanation e = explained(read_text(stem.string() + ".log"));
  std::ostringstream out;
  print_explanation(out, e, name);
  expect_golden(stem.string() + ".txt", out.str());
  expect_golden(stem.string() + ".json", explanation_json(e, name).dump(2) + "\n");
}

INSTANTIATE_TEST_SUITE_P(each, golden_log,
                         testing::Values("assertion", "create_fails", "nothing_known", "plain_program"),
                         [](const auto& which) { return std::string(which.param); });

TEST(print_explanation, prints_text_of_a_log_as_printable_characters) {
  const explanation e =
      explained("\x1b]0;x\x07 torch 2.0\n\xff`\xff Assertion `\x01\xe2\x82\xac\x7f` failed\n");
  std::ostringstream out;
  print_explanation(out, e, "a\nname\x1b[0m");
  for (const char c : out.str() + explanation_json(e, "a\nname").dump())
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c <= 0x7e)) << static_cast<int>(c);
  EXPECT_FALSE(e.causes.empty());
}

}  // namespace
}  // namespace cufault
