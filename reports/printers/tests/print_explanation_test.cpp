// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is printed of a log, word for word: golden/NAME.log becomes golden/NAME.txt and golden/NAME.json. CUFAULT_WRITE_GOLDEN=1 writes them.
#include "reports/printers/print_explanation.hpp"

#include "reports/base/json_input.hpp"
#include "reports/explain/tests/examples.hpp"
#include "reports/model/failures.hpp"
#include "reports/printers/tests/golden.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>
#include <string>

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
  print_explanation(out, e, name);
  expect_golden(stem + ".txt", out.str());
  expect_golden(stem + ".json", explanation_json(e, name).dump(2) + "\n");
}

INSTANTIATE_TEST_SUITE_P(each, golden_log,
                         testing::Values("assertion", "create_fails", "killed", "nothing_known",
                                         "plain_program"),
                         [](const auto& which) { return std::string(which.param); });

TEST(print_explanation, prints_text_of_a_log_as_printable_characters) {
  const explanation e = explained(
      "\x1b]0;x\x07 torch 2.0\n\xff`\xff block: [0], thread: [0] Assertion `\x01\xe2\x82\xac\x7f` failed\n");
  std::ostringstream out;
  print_explanation(out, e, "a\nname\x1b[0m");
  for (const char c : out.str() + explanation_json(e, "a\nname").dump())
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c <= 0x7e)) << static_cast<int>(c);
  EXPECT_FALSE(e.causes.empty());
}

}  // namespace
}  // namespace cufault
