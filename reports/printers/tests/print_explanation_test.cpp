// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is printed of a log, word for word: golden/NAME.log becomes golden/NAME.txt (the first answer, then all of it) and golden/NAME.json. CUFAULT_WRITE_GOLDEN=1 writes them.
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
  print_first_answer(out, e, name);
  out << "\n--more\n\n";
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
  print_first_answer(out, e, "a\nname\x1b[0m");
  print_explanation(out, e, "a\nname\x1b[0m");
  for (const char c : out.str() + explanation_json(e, "a\nname").dump())
    EXPECT_TRUE(c == '\n' || (c >= 0x20 && c <= 0x7e)) << static_cast<int>(c);
  EXPECT_FALSE(e.causes.empty());
}

TEST(print_first_answer, has_at_most_8_lines_of_at_most_100_columns) {
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
    std::ostringstream out;
    print_first_answer(out, explained(log),
                       "a/long/name/of/a/log/that/goes/on/for/some/time/before/it/ends/job.log");
    std::istringstream in(out.str());
    std::size_t lines = 0;
    for (std::string line; std::getline(in, line); ++lines) EXPECT_LE(line.size(), 100U) << line;
    EXPECT_LE(lines, 8U) << out.str();
    EXPECT_GE(lines, 2U);
  }
}

TEST(print_first_answer, says_whose_measurements_these_are) {
  std::ostringstream out;
  print_first_answer(out, explained("RTX 4090\ncublasCreate: CUBLAS_STATUS_ALLOC_FAILED"), "log");
  EXPECT_NE(out.str().find("measured on H200, not on RTX 4090"), std::string::npos) << out.str();
}

TEST(print_ways, has_each_cause_with_check_and_cure_within_the_width) {
  const explanation e = explained("CUBLAS_STATUS_ALLOC_FAILED");
  ASSERT_FALSE(e.causes.empty());
  std::ostringstream out;
  print_ways(out, e, table_style::text, 60);
  EXPECT_EQ(out.str().find("1. "), 0U);
  EXPECT_NE(out.str().find("\n   check  "), std::string::npos);
  EXPECT_NE(out.str().find("\n   fix    "), std::string::npos);
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), 60U) << line;
  std::ostringstream page;
  print_ways(page, e, table_style::markdown, 60);
  EXPECT_EQ(page.str().find("| what had happened before | how to check | what clears it | what does not |\n"),
            0U);
}

TEST(print_ways, drops_columns_that_would_be_empty) {
  known_cause unknown{.id = "a.b", .text = "something"};
  explanation e;
  e.causes.emplace_back().what = &unknown;
  std::ostringstream page;
  print_ways(page, e, table_style::markdown, 60);
  EXPECT_EQ(page.str().find("| what had happened before |\n"), 0U) << page.str();
}

TEST(print_ways, says_whose_trials_and_remedies_they_are) {
  known_cause what{.id = "a.b", .text = "something"};
  const message_page of_pytorch{.name = "a", .status = "X", .framework = "PyTorch"};
  const std::string stack = "cuBLAS 13.1.0, NVIDIA H200, driver 580";
  explanation e;
  ranked_cause& c = e.causes.emplace_back();
  c.what = &what;
  c.stacks = {stack};
  c.natural_trials = c.returned_trials = 3;
  c.framework_trials = 1;
  c.next = next_check{.text = "look", .seconds = 300, .says = "so", .others = {}};
  c.clears = {{"do that", "pytorch.a/b+new_process", 1, 0}, {"do this", "cupy.a/b+c", 1, 0}};
  c.does_not_clear = {{"do nothing", "memory.a/b", 2, 1}};
  const cost_notes costs{{stack, {{"new_process", "adds 1 ms"}}}, {"another", {{"c", "adds 2 ms"}}}};
  const auto printed = [&] {
    std::ostringstream page;
    print_ways(page, e, table_style::markdown, 60, costs);
    return page.str().substr(page.str().find("something"));
  };
  EXPECT_EQ(
      printed(),
      "something (3 recorded trials on 1 stack) | look (so: so; takes 5 min) | measured: do that, in PyTorch "
      "(1 "
      "stack; adds 1 ms on cuBLAS 13.1.0, NVIDIA H200); measured: do this, in CuPy (1 stack) | do nothing "
      "(cleared it on 2 stacks, not on 1) |\n\n");
  e.page = &of_pytorch;
  c.returned_trials = 0;
  EXPECT_EQ(
      printed(),
      "something (3 recorded trials on 1 stack, 1 in PyTorch, all in the driver's words alone) | look (so: "
      "so; "
      "takes 5 min) | measured: do that (1 stack; adds 1 ms on cuBLAS 13.1.0, NVIDIA H200) | do nothing "
      "(cleared it on 2 stacks, not on 1) |\n\n");
}

}  // namespace
}  // namespace cufault
