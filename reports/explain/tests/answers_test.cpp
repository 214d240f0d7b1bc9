// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is said of the logs in logs and benchmark/healthy, each of which has the right answer in its head, by the words of said_in(): a new log needs
// no code. What stands behind two spaces is for readers.
#include "reports/explain/explanation.hpp"
#include "reports/explain/tests/knowing.hpp"
#include "reports/explain/tests/logs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace cufault {
namespace {

struct answer {
  log_findings found;
  explanation said;
};

/// What is said, by the words of expectations. Texts are expected by a part of them.
std::multimap<std::string, std::string> said_in(const answer& a) {
  std::multimap<std::string, std::string> all{{"process", a.said.process.state}};
  std::string failures, frameworks;
  for (const log_event& e : a.found.events) {
    all.emplace("event", e.id);
    if (e.id.starts_with("memory.") && e.words.ends_with(" is free"))
      all.emplace("memory", e.id.substr(7) + ": " + e.words);
    if (e.role != event_role::failure) continue;
    const std::string failure = e.call + (e.call.empty() ? "" : " ") + e.status;
    failures += (failures.empty() ? "" : "; ") + failure;
    all.emplace("found among others", failure);
  }
  if (!failures.empty()) all.emplace("found", failures);
  if (const auto at = a.found.facts.find("framework"); at != a.found.facts.end())
    for (const std::string& name : at->second) frameworks += (frameworks.empty() ? "" : "; ") + name;
  if (!frameworks.empty()) all.emplace("framework", frameworks);
  const explanation& e = a.said;
  if (e.failure) all.emplace("failure", e.failure->status);
  if (e.driver) all.emplace("driver", e.driver->words);
  if (e.aside) all.emplace("aside text", e.aside->words);
  if (e.aside_cause != nullptr) all.emplace("aside cause", e.aside_cause->id);
  if (e.not_understood) all.emplace("not understood, line", std::to_string(e.not_understood->line));
  if (e.page != nullptr) all.emplace("page", e.page->name);
  if (e.ranks.all > 0)
    all.emplace("rank", std::to_string(e.ranks.first) + (e.ranks.by_time ? " by time" : " by order"));
  for (const ranked_cause& c : e.causes) {
    const bool is_first = &c == &e.causes.front();
    if (is_first) {
      all.insert({{"first", c.what->id}, {"text", c.text}, {"text", c.what->text}});
      if (!c.words.empty()) all.emplace("line", std::to_string(c.words[0].line));
      if (!c.cures.empty()) all.emplace("first cure text", c.cures[0]);
      for (const std::string& cure : c.cures) all.emplace("cure text", cure);
    }
    if (!c.next) continue;
    all.emplace("check text", c.next->text);
    if (is_first) all.insert({{"first check text", c.next->text}, {"outcome", c.next->says}});
  }
  if (e.failure || e.not_understood || !e.causes.empty()) return all;
  if (e.process.state != "lost") all.emplace("healthy", "");
  if (e.process.state == "unknown" && e.process.why.empty()) all.emplace("nothing", "");
  return all;
}

/// "WORDS VALUE"; "WORDS": whatever it is; "WORDS -": there is none; "not ...": the opposite.
bool holds(std::string told, const answer& a) {
  static const std::vector<std::string> words{"aside cause",
                                              "aside text",
                                              "check text",
                                              "cure text",
                                              "driver",
                                              "event",
                                              "failure",
                                              "first check text",
                                              "first cure text",
                                              "first",
                                              "found among others",
                                              "found",
                                              "framework",
                                              "healthy",
                                              "line",
                                              "memory",
                                              "not understood, line",
                                              "nothing",
                                              "outcome",
                                              "page",
                                              "process",
                                              "rank",
                                              "text"};
  const auto all = said_in(a);
  const auto is_it = [&](const std::string& word) { return (told + " ").starts_with(word + " "); };
  const bool is_not = told.starts_with("not ") && std::ranges::none_of(words, is_it);
  if (is_not) told.erase(0, 4);
  const auto word = std::ranges::find_if(words, is_it);
  if (word == words.end()) {
    ADD_FAILURE() << "no expectation: " << told;
    return false;
  }
  const auto [begin, end] = all.equal_range(*word);
  const std::string value = told.size() > word->size() ? told.substr(word->size() + 1) : "";
  const bool there = value.empty() || value == "-"
                         ? (begin != end) != (value == "-")
                         : std::any_of(begin, end, [&](const auto& said) {
                             return word->ends_with("text") ? said.second.find(value) != std::string::npos
                                                            : said.second == value;
                           });
  return there != is_not;
}

answer answer_in(const std::string& text) {
  static const knowing all({example_stack("13.1.0"), example_stack("12.0.1")});
  log_findings found = found_in(text);
  explanation said = all.of(found);
  return {std::move(found), std::move(said)};
}

TEST(answers, are_what_the_head_of_each_log_says) {
  for (const char* const folder : {CUFAULT_TOLD_LOGS, CUFAULT_HEALTHY_LOGS})
    for (const told_log& log : logs_in(folder)) {
      EXPECT_FALSE(log.told.empty()) << log.where << " says nothing of it";
      const answer a = answer_in(log.text);
      for (const std::string& told : log.told)
        EXPECT_TRUE(holds(told.substr(0, told.find("  ")), a)) << log.where << ": " << told << "\n"
                                                               << log.text;
    }
}

TEST(answers, of_another_failure_are_wrong) {
  const answer oom = answer_in("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED");
  std::istringstream wrong(
      "healthy;nothing;first -;first misaligned.operand;not first memory_exhausted.device;line 1;failure "
      "-;failure cudaErrorAssert;process lost;aside text;aside cause;not understood, line;not understood, "
      "line 1;found -;found CUBLAS_STATUS_ALLOC_FAILED;found among others CUBLAS_STATUS_ALLOC_FAILED;event "
      "memory.full;event -;memory full: 1 MiB is free;framework PyTorch;first cure text XLA_;cure text "
      "XLA_;first check text no check;check text no check;outcome nothing;text no cause;page -;driver x;rank "
      "0 by time");
  for (std::string told; std::getline(wrong, told, ';');) EXPECT_FALSE(holds(told, oom)) << told;
}

TEST(answers, find_a_failure_below_each_healthy_log) {
  std::size_t healthy = 0;
  for (const told_log& log : logs_in(CUFAULT_HEALTHY_LOGS)) {
    EXPECT_TRUE(log.told.at(0).starts_with("healthy  ")) << log.where;
    EXPECT_FALSE(
        answer_in(log.text + "\nCUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n")
            .said.causes.empty())
        << log.where;
    ++healthy;
  }
  EXPECT_GE(healthy, 200U);
}

}  // namespace
}  // namespace cufault
