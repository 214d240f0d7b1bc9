// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What an answer rests on: what programs print, never words of people. Numbers of a log, its length, and how it comes.
#include "reports/base/json_input.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/explain/tests/knowing.hpp"
#include "reports/explain/text_pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;

explanation answer_to(log_findings found, std::vector<machine_finding> machine = {}) {
  static const knowing all = [] {
    knowing records({example_stack("13.1.0")});
    std::ranges::fill(records.reports, 1U);  // so that they choose none
    return records;
  }();
  return all.of(std::move(found), std::move(machine));
}
explanation answer_to(std::string_view text) {
  return answer_to(found_in(text));
}

std::vector<std::string> order_of(const explanation& e) {
  std::vector<std::string> all;
  for (const ranked_cause& c : e.causes) all.push_back(c.what->id + ", " + to_string(c.sure));
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The public reports and the logs of programs.
std::vector<std::string> texts_of_the_benchmark() {
  std::vector<std::string> all;
  for (const json_cursor& r : json_cursor{read_json(CUFAULT_PUBLIC_REPORTS)}.at("reports").items()) {
    std::string text = r.has("message") ? r.at("message").string() + "\n" : "";
    text += r.at("call").string() + ": " + r.at("status").string() + "\n";
    const json_cursor environment = r.at("environment");
    for (const std::string& key : environment.keys())
      text += key + ": " + environment.at(key).string() + "\n";
    all.push_back(std::move(text));
  }
  for (const auto& entry : fs::directory_iterator(fs::path(CUFAULT_HEALTHY_LOGS).parent_path() / "programs"))
    all.push_back(read_text(entry.path()));
  return all;
}

/// Words in passing: names of projects and modules, and what people write.
std::vector<std::string> words_of_people() {
  std::vector<std::string> all{"transformers xla stream_executor vocab_size embedding tokenizer labels",
                               "the workspace, stride and alignment of a custom kernel in Triton",
                               "a rebuild in docker, after fork, with several threads and CUDA graphs",
                               "2 GB free memory, batch size 4, host memory, huggingface, C++",
                               "works with an older version, a regression, fixed in a newer one"};
  for (const event_pattern& e : known().events)
    if (e.role == event_role::context && e.fact.find('=') != std::string::npos)
      for (const std::string& pattern : e.match)
        if (pattern.find('{') == std::string::npos) all.push_back(pattern.substr(0, pattern.find('*')));
  return all;
}

TEST(words_of_people, change_no_order_of_causes_where_they_are_added) {
  std::string words;
  for (const std::string& line : words_of_people())
    if (!answer_to("on a GPU\n" + line).failure) words += line + " ";
  std::size_t with_causes = 0;
  for (const std::string& text : texts_of_the_benchmark()) {
    const explanation before = answer_to(text);
    if (!before.failure) continue;
    EXPECT_EQ(order_of(answer_to(words + "\n" + text)), order_of(before)) << text;
    with_causes += before.causes.empty() ? 0 : 1;
  }
  EXPECT_GT(with_causes, 300U);
}

TEST(words_of_people, change_no_order_of_causes_where_their_lines_are_left_out) {
  std::size_t left_out = 0;
  for (const std::string& text : texts_of_the_benchmark()) {
    std::string without;
    for (const std::string& line : lines_of(text)) {
      const log_findings alone = found_in(line);
      const bool only_names = alone.events.empty() && alone.facts.size() == alone.facts.count("framework") &&
                              alone.facts.contains("framework");
      left_out += only_names ? 1 : 0;
      without += (only_names ? "on a GPU" : line) + "\n";
    }
    EXPECT_EQ(order_of(answer_to(without)), order_of(answer_to(text))) << text;
  }
  EXPECT_GT(left_out, 300U);
}

TEST(numbers_of_a_log, answer_the_check_for_a_cause_and_against_it) {
  const std::string failure =
      "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n";
  const explanation full = answer_to(
      "import transformers\nGPU 0 has a total capacity of 23.65 GiB of which 10.25 MiB is free.\n" + failure);
  ASSERT_FALSE(full.causes.empty());
  const ranked_cause& memory = full.causes.front();
  EXPECT_EQ(memory.what->id, "memory_exhausted.device");
  EXPECT_EQ(how_sure(memory), "supported by line 2");
  EXPECT_EQ(rests_on(memory, full), "supported by line 2: 10.25 MiB of 23.65 GiB is free");
  ASSERT_TRUE(memory.next && memory.next->answered);
  EXPECT_TRUE(memory.next->holds);
  EXPECT_EQ(memory.next->answered->line, 2U);
  EXPECT_LT(memory.next->answered->ratio.value(), 0.02);

  const explanation enough =
      answer_to("Memory usage: 2624061440 bytes free, 12524191744 bytes total\n" + failure);
  const auto place = std::ranges::find_if(
      enough.causes, [](const ranked_cause& c) { return c.what->cause_class() == "memory_exhausted"; });
  EXPECT_NE(place, enough.causes.begin());
  if (place != enough.causes.end()) {
    EXPECT_EQ(place->sure, confidence::possible);
    ASSERT_EQ(place->against.size(), 1U);
    EXPECT_EQ(place->against[0].words, "2.44 GiB of 11.66 GiB is free");
    EXPECT_TRUE(!place->next || !place->next->answered || !place->next->holds);
  }
}

TEST(numbers_of_a_log, far_from_the_failure_say_nothing) {
  const std::string early = "using device CUDA0 (NVIDIA GeForce RTX 3090) - 120 MiB free\n" +
                            std::string(100, '\n'),
                    failure = "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED\n";
  EXPECT_EQ(order_of(answer_to(early + failure)), order_of(answer_to(failure)));
}

TEST(how_sure_a_cause_is, stands_in_one_wording) {
  const explanation named = answer_to("\n\nRuntimeError: CUDA error: device-side assert triggered");
  EXPECT_EQ(how_sure(named.causes.at(0)), "named by line 3");
  EXPECT_EQ(rests_on(named.causes.at(0), named), "named by line 3: device-side assert");
  const explanation by_trials = answer_to("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_EQ(how_sure(by_trials.causes.at(0)), "supported by 1 recorded trial");
  EXPECT_EQ(rests_on(by_trials.causes.at(0), by_trials), "supported by 1 recorded trial");
  const explanation by_machine = answer_to(found_in("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED"),
                                           {{"environment.hidden_devices", "all are hidden"}});
  EXPECT_EQ(how_sure(by_machine.causes.at(0)), "supported by this machine");
  EXPECT_EQ(rests_on(by_machine.causes.at(0), by_machine), "supported by this machine: all are hidden");
  const explanation possible = answer_to("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED");
  EXPECT_EQ(how_sure(possible.causes.at(0)), "possible, by documents and reports");
  EXPECT_EQ(rests_on(possible.causes.at(0), possible), "possible, by documents and reports");
  ranked_cause most;
  most.sure = confidence::supported;
  most.natural_trials = 1234567;
  EXPECT_LE(how_sure(most).size(), 45U);
}

TEST(a_traceback, is_no_end_of_a_program_that_goes_on) {
  const std::string traceback = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n",
                    known_error = traceback + "RuntimeError: CUDA error: device-side assert triggered\n",
                    unknown_error = traceback + "RuntimeError: CUDA refused it\n";
  std::string serves;
  for (int i = 0; i < 40; ++i) serves += "INFO: 127.0.0.1 POST /v1/completions 500\n";
  EXPECT_EQ(answer_to(known_error).process.state, "ended");
  EXPECT_EQ(answer_to(serves + known_error).process.state, "ended");
  EXPECT_EQ(answer_to(known_error + serves).process.state, "lost");
  EXPECT_TRUE(answer_to(unknown_error).not_understood);
  EXPECT_FALSE(answer_to(unknown_error + serves).not_understood);
}

TEST(long_logs, take_no_number_far_above_for_a_circumstance) {
  const std::string failure = "on a GPU\nCUDA error: an illegal memory access was encountered";
  std::string steps;
  for (int step = 65500; step < 65600; ++step) steps += "step " + std::to_string(step) + " on a GPU\n";
  EXPECT_EQ(order_of(answer_to(steps + failure)), order_of(answer_to(failure)));
}

TEST(long_logs, keep_bounded_memory_with_messages_of_the_driver_and_many_ranks) {
  event_finder finder(known());
  for (int i = 0; i < 30000; ++i)
    finder.add("[rank" + std::to_string(i) + "]: CUDA error: an illegal\n[10:00:00.001][" +
               std::to_string(i) + "][CUDA][E] Reason " + std::to_string(i) +
               "\n[10:00:00.001][1][CUDA][E] Returning " + std::to_string(i) + " (CUDA_ERROR_X" +
               std::to_string(i) + ") from cuX" + std::to_string(i) + "\n");
  const log_findings found = finder.finish();
  EXPECT_LE(found.events.size(), 410U);
  EXPECT_LE(found.ranks.size(), 64U);
  EXPECT_GT(found.dropped, 1000U);
}

TEST(event_finder, keeps_the_first_of_equal_events_and_counts_them) {
  const auto found = found_in("\n\nout of memory\nfine\nout of memory\n");
  ASSERT_EQ(found.events.size(), 1U);
  EXPECT_EQ(found.events[0].line, 3U);
  EXPECT_EQ(found.events[0].times, 2U);
  EXPECT_EQ(found.lines, 5U);
}

TEST(event_finder, does_not_depend_on_how_the_log_comes) {
  const std::string text =
      "torch 2.1.2+cu121\nCUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\nXid "
      "79\n";
  const log_findings whole = found_in(text);
  for (const std::size_t at_once : {1U, 5U, 64U}) {
    event_finder finder(known());
    for (std::size_t at = 0; at < text.size(); at += at_once)
      finder.add(std::string_view(text).substr(at, at_once));
    const log_findings parts = finder.finish();
    ASSERT_EQ(parts.events.size(), whole.events.size());
    for (std::size_t i = 0; i < whole.events.size(); ++i) {
      EXPECT_EQ(parts.events[i].id, whole.events[i].id);
      EXPECT_EQ(parts.events[i].line, whole.events[i].line);
    }
    EXPECT_EQ(parts.facts, whole.facts);
  }
}

TEST(event_finder, keeps_a_bounded_number_of_events) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "cublasCreate: CUBLAS_STATUS_X" + std::to_string(i) + "\n";
  text += "GPU ";
  for (int i = 0; i < 100; ++i) text += "CUDA 1" + std::to_string(i) + ".1\n";
  const auto found = found_in(text);
  EXPECT_LE(found.events.size(), 410U);
  EXPECT_GT(found.dropped, 2000U);
  EXPECT_LE(found.facts.at("cuda").size(), 8U);
}

TEST(event_finder, ends_with_a_line_that_is_harmless_a_thousand_times) {
  std::string often;
  for (int i = 0; i < 1000; ++i) often += "NCCL INFO error: ";
  EXPECT_FALSE(answer_to(often).failure);
}

}  // namespace
}  // namespace cufault
