// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/shared_texts.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"
#include "reports/model/record.hpp"
#include "reports/model/tests/stack_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using testing::HasSubstr;
using testing::Not;
using ordered = nlohmann::ordered_json;

const std::string long_text = "cublasLtMatmul: the library told of a matter that concerns nobody";

ordered line_with(const std::string& note, const std::string& step = "cublasSgemm: _INTERNAL_ERROR") {
  return ordered::parse(dump_json({{"arm", "a"}, {"trials", {{{"calls", {step}}, {"log", {note}}}}}}));
}

std::string restored(const shared_texts& texts, const std::string& line, std::size_t room = 1 << 20) {
  return texts.restored(line, "x.jsonl", 7, room);
}

std::string restore_refusal(const shared_texts& texts, const std::string& line, std::size_t room = 1 << 20) {
  try {
    restored(texts, line, room);
  } catch (const input_error& e) {
    return e.what();
  }
  return "(nothing was refused)";
}

TEST(texts_of_a_file, are_stated_once_where_that_is_shorter) {
  const std::vector<ordered> lines{line_with(long_text), line_with(long_text), line_with("other"),
                                   line_with("other")};
  const shared_texts texts(lines);
  const std::string key = hash_of(long_text).substr(0, 3);
  EXPECT_EQ(dump_json(texts.line()), fmt::format(R"({{"texts":{{"{}":"{}"}}}})", key, long_text));
  EXPECT_EQ(texts.with_signs(lines[0]), line_with("$" + key));
  EXPECT_EQ(texts.with_signs(lines[2]), lines[2]);
  EXPECT_TRUE(shared_texts(std::vector<ordered>{line_with(long_text)}).empty()) << "stated once anyway";
}

TEST(texts_of_a_file, are_none_of_calls) {
  const std::vector<ordered> lines{line_with("x", long_text), line_with("x", long_text)};
  EXPECT_TRUE(shared_texts(lines).empty());
}

TEST(texts_of_a_file, are_restored_as_they_were) {
  const std::string awkward = "a \"quoted\" text\nof two lines with \\, \"$abc\" and \u00e4, which repeats";
  for (const std::string& text :
       {long_text, awkward, std::string("$abc"), std::string("$abcdefgh"), std::string("$HOME"),
        std::string("\"$abc"), std::string("\\"), std::string("$")}) {
    const std::vector<ordered> lines{line_with(text), line_with(text), line_with("b", text)};
    const shared_texts texts(lines);
    for (const ordered& line : lines)
      EXPECT_EQ(ordered::parse(restored(texts, dump_json(texts.with_signs(line)))), line) << text;
  }
}

TEST(texts_of_a_file, have_signs_that_differ) {
  std::vector<ordered> lines;
  std::map<std::string, int> beginnings;
  for (int i = 0; i < 400; ++i) {  // of 4096 beginnings of three digits, some are equal
    lines.push_back(line_with(fmt::format("{}: {}", long_text, i)));
    lines.push_back(lines.back());
    ++beginnings[hash_of(fmt::format("{}: {}", long_text, i)).substr(0, 3)];
  }
  ASSERT_LT(beginnings.size(), 400U);
  const shared_texts texts(lines);
  EXPECT_EQ(texts.line()["texts"].size(), 400U);
  for (const ordered& line : lines)
    EXPECT_EQ(ordered::parse(restored(texts, dump_json(texts.with_signs(line)))), line);
}

TEST(texts_of_a_file, are_refused_where_they_are_not_stated_or_take_too_much) {
  const shared_texts texts(std::vector<ordered>{line_with(long_text), line_with(long_text)});
  const std::string line = dump_json(texts.with_signs(line_with(long_text)));
  EXPECT_EQ(restore_refusal({}, R"({"arm":"a","trials":["$123"]})"),
            "x.jsonl:7: \"$123\" stands for a text that the file does not state; add it to the line "
            "{\"texts\": {...}}");
  EXPECT_EQ(restore_refusal(texts, line, dump_json(line_with(long_text)).size()), "(nothing was refused)");
  EXPECT_THAT(restore_refusal(texts, line, dump_json(line_with(long_text)).size() - 1),
              HasSubstr("x.jsonl:7: more is shared than fits into memory"));
  for (const char* unfinished : {R"({"arm":"$)", R"({"arm":"$123)", R"("$)", R"("$12")"})
    EXPECT_EQ(restored(texts, unfinished), unfinished) << "the parser refuses it";
  const std::string of = "{\"case\": \"matrix.full\", \"summary\": \"s\"}\n",
                    stated = "{\"texts\": {\"123\": \"a\"}}\n";
  EXPECT_EQ(lines_refusal(stated + of + R"({"arm": "a", "trials": [{"calls": [], "log": ["$123"]}]})"),
            "(nothing was refused)");
  EXPECT_EQ(lines_refusal(of + stated), "x.jsonl:2: texts: must be in front of the cases of the file, once");
  EXPECT_EQ(lines_refusal(stated + stated),
            "x.jsonl:2: texts: must be in front of the cases of the file, once");
  EXPECT_THAT(lines_refusal(R"({"texts": {"xyz": "a"}})"), HasSubstr("is 3 to 8 digits of 0-9 and a-f"));
  EXPECT_EQ(lines_refusal(R"({"texts": {"123": 1}})"),
            "x.jsonl:1: texts.123: expected a string, found a number");
}

class files_with_texts : public stack_files {};

TEST_F(files_with_texts, may_have_summaries_that_look_like_signs) {
  auto one = arm(arm_kind::fault, {}, "first"), other = arm(arm_kind::fault, {}, "second");
  for (arm_result* a : {&one, &other}) a->trials = {trial({internal})};
  one.summary = "$abc; one";
  other.summary = "$abc; other";
  record r = example();
  r.cases = {{.name = "memory.first", .arms = {one, other}}, {.name = "memory.second", .arms = {one, other}}};
  const record again = load_record(file(of_run(r)));
  ASSERT_EQ(again.cases.size(), 2U);
  for (const case_result& c : again.cases) EXPECT_EQ(c.arms.at(0).summary, "$abc; one");
}

TEST_F(files_with_texts, are_read_as_they_were_written) {
  auto one = arm(arm_kind::fault, {}, "first"), other = arm(arm_kind::fault, {}, "second"),
       control = arm(arm_kind::control, {}, "control");
  for (arm_result* a : {&one, &other, &control}) {
    a->trials = {trial({internal})};
    a->trials[0].library_log = {long_text};
    a->trials[0].notes = {{"why", long_text + " at all"}};
    a->races = "who writes first";
  }
  other.trials[0].library_log.emplace_back("$0123");
  record r = example();
  r.cases = {{.name = "memory.first", .arms = {control, one, other}},
             {.name = "memory.second", .arms = {control}}};
  const auto folder = file(of_run(r));
  const auto text = files_of(folder).at("memory.jsonl");
  EXPECT_THAT(text, testing::StartsWith("{\"texts\":{"));
  EXPECT_THAT(text.substr(text.find('\n')), Not(HasSubstr(long_text)));
  EXPECT_THAT(text, HasSubstr("\"as\":\"memory.first\""));
  const record again = load_record(folder);
  for (const case_result& c : again.cases)
    for (const arm_result& a : c.arms) {
      EXPECT_EQ(a.trials.at(0).library_log.at(0), long_text);
      EXPECT_EQ(a.trials.at(0).notes.at(0).text, long_text + " at all");
      EXPECT_EQ(a.races, "who writes first");
    }
  EXPECT_EQ(again.cases.at(0).arms.at(2).trials.at(0).library_log.at(1), "$0123");
  const auto only =
      load_record(folder, [](std::string_view c, std::string_view) { return c == "memory.second"; });
  EXPECT_EQ(only.cases.back().arms.at(0).trials.at(0).library_log.at(0), long_text)
      << "by the control of a case that is not read";
  EXPECT_EQ(files_of(file(again)), files_of(folder)) << "filed again, nothing changes";
}

}  // namespace
}  // namespace cufault
