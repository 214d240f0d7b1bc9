// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/record.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/model/tests/stack_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

/// Two stacks side by side. The second has its arms as the larger first one, but for the trials of one.
class stacks_side_by_side : public stack_files {
 protected:
  void SetUp() override {
    stack_files::SetUp();
    first = of_run(example());
    first.cases[0].arms.push_back(first.cases[0].arms[0]);
    first.cases[0].arms.back().name = "more";
    second_stack = of_run(example(), "2026-11-22T07:27:40Z");
    second_stack.stack["keys"]["cublas"] = "13.10.0";
    arm_result& fault = second_stack.cases[0].arms[0];
    fault.claims.clear();
    fault.trials[0].notes = {{.name = "n", .text = "of the second"}};
    fault.trials.push_back(second_stack.cases[1].arms[0].trials[0]);
    fault.runs[0].trials = 3;
    folder = {file(first), file(second_stack)};
  }
  [[nodiscard]] std::string text(std::size_t of) const { return text_in(folder[of] / "memory.jsonl"); }
  /// All that a folder says.
  [[nodiscard]] std::string all_of(std::size_t of) const { return record_text(load_record(folder[of])); }
  /// What the folder of one stack alone would say.
  [[nodiscard]] std::string alone(const record& r) const {
    auto all = record_text(load_record(file_in_stack(directory / "alone", r)));
    fs::remove_all(directory / "alone");
    return all;
  }
  record first, second_stack;
  std::vector<fs::path> folder;
};

TEST_F(stacks_side_by_side, tell_what_differs_and_are_read_whole) {
  EXPECT_THAT(text(0), Not(HasSubstr(R"("base)")));
  EXPECT_THAT(text(1), HasSubstr(R"("base":"h200-580.159.04-cublas-13.1.0"})"));
  EXPECT_THAT(text(0), HasSubstr(first.cases[0].arms[0].summary));
  EXPECT_THAT(text(1), Not(HasSubstr(first.cases[0].arms[0].summary)));
  EXPECT_EQ(all_of(0), alone(first));
  EXPECT_EQ(all_of(1), alone(second_stack));
  const arm_result &fault = second_stack.cases[0].arms[0], again = load_record(folder[1]).cases[0].arms.at(1);
  EXPECT_EQ(again.summary, fault.summary);
  EXPECT_TRUE(again.claims.empty());
  EXPECT_EQ(again.runs, fault.runs);
  ASSERT_EQ(again.trials.size(), 3U);
  EXPECT_EQ(again.trials[0].notes, fault.trials[0].notes);
  EXPECT_EQ(digest_of(again), digest_of(fault));
}

TEST_F(stacks_side_by_side, tell_of_a_long_list_what_differs_in_it) {
  arm_result& table = first.cases[0].arms[0];
  const call_record row = table.trials.at(0).calls.at(0);
  for (int n = 0; n < 30; ++n) {
    table.trials[0].calls.push_back(row);
    table.trials[0].calls.back().what.name.variant = "row_" + std::to_string(n);
  }
  second_stack.cases[0].arms[0] = table;
  second_stack.cases[0].arms[0].trials[0].calls[17].what.name.variant = "another";
  file(first);
  file(second_stack);
  EXPECT_THAT(text(1), HasSubstr(R"("calls":{"edits":[[17,1,[)"));
  EXPECT_THAT(text(1), Not(HasSubstr("row_18")));
  EXPECT_EQ(all_of(1), alone(second_stack));
}

TEST_F(stacks_side_by_side, are_not_stored_as_differences_from_one_with_more_arms_of_other_families) {
  fs::remove_all(directory / "recorded");
  const arm_result of_another_family = first.cases.at(0).arms.at(0);
  first.cases.erase(first.cases.begin());
  for (int n = 0; n < 20; ++n)
    first.cases.push_back({.name = fmt::format("numbers.c{}", n), .arms = {of_another_family}});
  EXPECT_EQ(file(first), folder[0]);
  EXPECT_EQ(file(second_stack), folder[1]);
  EXPECT_THAT(text(1), Not(HasSubstr(R"("base")")));
}

TEST_F(stacks_side_by_side, are_read_from_within_and_in_part) {
  const auto only = [](std::string_view /*case_name*/, std::string_view arm) { return arm == "fault"; };
  EXPECT_EQ(load_record(folder[1], only).cases.at(0).arms.size(), 1U);
  const auto before = fs::current_path();
  fs::current_path(folder[1]);
  const auto within = record_text(load_record("."));
  fs::current_path(before);
  EXPECT_EQ(within, all_of(1));
}

TEST_F(stacks_side_by_side, stay_what_they_are_when_the_other_one_changes) {
  const auto second = all_of(1);
  record later = of_run(example(), "2026-11-23T07:27:40Z");
  later.cases[0].arms[0].trials[0].notes = {{.name = "n", .text = "of a later run"}};
  EXPECT_EQ(file(later), folder[0]);
  EXPECT_THAT(text(0), HasSubstr("of a later run"));
  EXPECT_EQ(all_of(1), second);
  EXPECT_THAT(text(1), HasSubstr(R"("base_hash")"));
  EXPECT_EQ(file(second_stack), folder[1]);
  EXPECT_EQ(all_of(1), second);
}

TEST_F(stacks_side_by_side, with_a_shared_line_that_has_a_hash_are_refused) {
  std::ofstream(folder[1] / "numbers.jsonl")
      << R"({"case":"numbers.x","base":"h200-580.159.04-cublas-13.1.0"})"
      << "\n"
      << R"({"arms":{"a":1},"base_hash":"0a1b","trials":[{}]})"
      << "\n";
  EXPECT_THAT(refusal([&] { return load_record(folder[1]); }),
              HasSubstr("numbers.jsonl:2: base_hash: the line has \"arms\", too; leave one of them"));
}

TEST_F(stacks_side_by_side, of_a_version_with_longer_hashes_are_refused) {
  auto longer = text(1);
  const auto hash = longer.find("base_hash\":\"") + std::string("base_hash\":\"").size();
  longer.insert(hash + 4, "2c3d");
  std::ofstream(folder[1] / "memory.jsonl") << longer;
  EXPECT_THAT(refusal([&] { return load_record(folder[1]); }),
              HasSubstr("base_hash: has 8 digits, expected 4: another version of cufault wrote it"));
}

/// Arms that differ from those of the base in the same way, beside their times.
TEST_F(stacks_side_by_side, state_equal_differences_once) {
  fs::remove_all(directory / "recorded");
  arm_result like = arm(arm_kind::fault, {trial({success, success, success, success})}, "fault");
  like.summary = "what each of them does is said in as many words, so that a difference is shorter";
  const auto add = [&](const char* name, double milliseconds_of_second) {
    for (record* r : {&first, &second_stack}) {
      r->cases.at(0).arms.push_back(like);
      r->cases.at(0).arms.back().name = name;
    }
    second_stack.cases.at(0).arms.back().trials.at(0).milliseconds = milliseconds_of_second;
  };
  add("as_slow", like.trials.at(0).milliseconds);
  add("slower", 70);
  add("slowest", 700);
  for (const char* name : {"of_a_later_run", "of_it_too"}) {
    add(name, 70);
    second_stack.cases.at(0).arms.back().runs = {
        {.commit = "later", .dirty = false, .started = "2026-11-24T07:27:40Z", .seed = 9, .trials = 1}};
  }
  EXPECT_EQ(file(first), folder[0]);
  EXPECT_EQ(file(second_stack), folder[1]);
  EXPECT_THAT(text(1), HasSubstr(R"({"base_arms":{"as_slow":null,"of_a_later_run":[)"));
  EXPECT_THAT(text(1), testing::ContainsRegex(R"("slower":70,"slowest":700},"base_hashes":"[0-9a-f]{20}",)"));
  EXPECT_EQ(all_of(1), alone(second_stack));
  const auto one = [](std::string_view, std::string_view arm) { return arm == "slowest"; };
  EXPECT_EQ(load_record(folder[1], one).cases.at(0).arms.at(0).trials.at(0).milliseconds, 700);
  const std::string base = text(0);
  auto changed = text(1);
  const auto hashes = changed.find("base_hashes") + std::string("base_hashes\":\"").size();
  changed[hashes + 4] = changed[hashes + 4] == '0' ? '1' : '0';  // of the second arm
  const std::string kept = text(1);
  std::ofstream(folder[1] / "memory.jsonl") << changed;
  EXPECT_THAT(
      refusal([&] { return load_record(folder[1]); }),
      HasSubstr("base_hash: memory.leak/of_a_later_run of h200-580.159.04-cublas-13.1.0 is not what"));
  std::ofstream(folder[1] / "memory.jsonl") << kept;
  changed = base;
  changed.replace(changed.find("\"slowest\""), 9, "\"unknown\"");
  std::ofstream(folder[0] / "memory.jsonl") << changed;
  EXPECT_THAT(
      refusal([&] { return load_record(folder[1]); }),
      HasSubstr("base_hash: differs from memory.leak/slowest of h200-580.159.04-cublas-13.1.0, which is "
                "missing"));
}

TEST_F(stacks_side_by_side, that_share_a_difference_badly_are_refused) {
  const auto refusal_of = [&](const std::string& line) {
    std::ofstream(folder[1] / "numbers.jsonl")
        << R"({"case":"numbers.x","base":"h200-580.159.04-cublas-13.1.0"})"
        << "\n"
        << line << "\n";
    return refusal([&] { return load_record(folder[1]); });
  };
  const std::string arms = R"("base_arms":{"a":1},"base_hashes":"0a1b")", trials = R"("trials":[{}])";
  const auto with = [&](const std::string& other) {
    return refusal_of("{" + arms + "," + other + "," + trials + "}");
  };
  EXPECT_THAT(with(R"("arm":"a")"), HasSubstr("numbers.jsonl:2: arm: the line has \"base_arms\", too"));
  EXPECT_THAT(with(R"("arms":{"a":1})"), HasSubstr("numbers.jsonl:2: arms: the line has \"base_arms\", too"));
  EXPECT_THAT(with(R"("base_hash":"0a1b")"),
              HasSubstr("numbers.jsonl:2: base_hash: the line has \"base_arms\", too"));
  EXPECT_THAT(refusal_of("{" + arms + R"(,"trials":[]})"),
              HasSubstr("numbers.jsonl:2: trials: arms that share a line have one trial each"));
  EXPECT_THAT(refusal_of("{" + arms + R"(,"trials":[{"ms":1}]})"),
              HasSubstr("numbers.jsonl:2: trials[0].ms: several arms share this trial"));
  const auto of_arms = [&](const std::string& stated) {
    return refusal_of(R"({"base_arms":)" + stated + R"(,"base_hashes":"0a1b",)" + trials + "}");
  };
  EXPECT_THAT(of_arms("{}"), HasSubstr("numbers.jsonl:2: base_arms: must not be empty"));
  EXPECT_THAT(of_arms(R"({"a":[1]})"),
              HasSubstr("numbers.jsonl:2: base_arms.a: expected milliseconds, or milliseconds and a run"));
  EXPECT_THAT(of_arms(R"({"a":-1})"),
              HasSubstr("numbers.jsonl:2: base_arms.a: a time must be 0 or more, found -1"));
  EXPECT_THAT(of_arms(R"({"a":[1,"x"]})"),
              HasSubstr("numbers.jsonl:2: base_arms.a[1]: expected null, or the number"));
  EXPECT_THAT(of_arms(R"({"a":[1,0]})"),
              HasSubstr("numbers.jsonl:2: base_arms.a[1]: the line of the case has 0 more runs"));
  EXPECT_THAT(of_arms(R"({"a":1,"b":2})"),
              HasSubstr("numbers.jsonl:2: base_hashes: expected 4 digits of 0-9 and a-f for each of 2 arms"));
  EXPECT_THAT(refusal_of(R"({"base_arms":{"a":1},"base_hashes":"zzzz",)" + trials + "}"),
              HasSubstr("numbers.jsonl:2: base_hashes: expected 4 digits of 0-9 and a-f for each of 1 arms"));
  EXPECT_THAT(refusal_of(R"({"base_arms":{"a":1},"base_hashes":1,)" + trials + "}"),
              HasSubstr("numbers.jsonl:2: base_hashes: "));
  EXPECT_THAT(refusal_of(R"({"base_arms":{"a":[1,null]},"base_hashes":"0a1b","runs":[],)" + trials + "}"),
              HasSubstr("numbers.jsonl:2: base_arms.a: the line has runs, too"));
  EXPECT_THAT(refusal_of(R"({"base_arms":{"a":1},)" + trials + "}"),
              HasSubstr("numbers.jsonl:2: top level: \"base_hashes\" is missing"));
  EXPECT_THAT(refusal_of("{" + arms + R"(,"trials":[{"like":0}]})"),
              HasSubstr("numbers.jsonl:2: trials[0].like: several arms share this trial"));
  EXPECT_THAT(refusal_of("{" + arms + "," + trials + "}"),
              HasSubstr("numbers.jsonl:2: base_hash: differs from numbers.x/a of "));
}

TEST_F(stacks_side_by_side, are_found_by_the_names_that_readers_take) {
  for (const char* alias : {"a copy", ".hidden", "link"}) {
    fs::remove_all(folder[1]);
    const auto other = directory / "recorded" / alias;
    if (alias == std::string("link"))
      fs::create_directory_symlink(folder[0], other);
    else
      fs::copy(folder[0], other);
    EXPECT_EQ(file(second_stack), folder[1]);
    EXPECT_THAT(text(1), HasSubstr(R"("base":"h200-580.159.04-cublas-13.1.0"})")) << alias;
    EXPECT_EQ(all_of(1), alone(second_stack)) << alias;
    EXPECT_EQ(file(first), folder[0]) << alias;
    fs::remove_all(other);
  }
}

TEST_F(stacks_side_by_side, do_without_one_that_cannot_be_read) {
  fs::remove_all(folder[1]);
  std::ofstream(folder[0] / "zz.jsonl") << "no record\n";
  EXPECT_EQ(file(second_stack), folder[1]);
  EXPECT_THAT(text(1), Not(HasSubstr("base")));
  EXPECT_EQ(all_of(1), alone(second_stack));
}

TEST_F(stacks_side_by_side, are_not_stored_as_differences_from_a_smaller_one) {
  const auto recorded = directory / "recorded";
  fs::remove_all(recorded);
  EXPECT_EQ(file(second_stack), folder[1]);
  for (int n = 0; n < 20; ++n) {
    first.cases[0].arms.push_back(first.cases[0].arms[0]);
    first.cases[0].arms.back().name = fmt::format("more_{}", n);
  }
  EXPECT_EQ(file(first), folder[0]);
  EXPECT_THAT(text(0), Not(HasSubstr("base")));
}

TEST_F(stacks_side_by_side, that_do_not_belong_together_are_refused) {
  const auto folder_refusal = [&] { return refusal([&] { return load_record(folder[1]); }); };
  const auto elsewhere = directory / "elsewhere";
  fs::rename(folder[0], elsewhere);
  EXPECT_THAT(folder_refusal(), HasSubstr("memory.jsonl:3: base_hash: differs from memory.leak/fault of "
                                          "h200-580.159.04-cublas-13.1.0, which is missing"));
  fs::rename(elsewhere, folder[0]);
  auto changed = text(0);
  changed.replace(changed.find("squeeze"), 7, "squash!");
  std::ofstream(folder[0] / "memory.jsonl") << changed;
  EXPECT_THAT(
      folder_refusal(),
      HasSubstr("memory.jsonl:3: base_hash: memory.leak/fault of h200-580.159.04-cublas-13.1.0 is not what "
                "it was when this line was written; take both folders from one commit"));
}

/// Of the base, the control of one case is stated as that of another.
TEST_F(stacks_side_by_side, differ_from_controls_that_are_stated_once) {
  const auto recorded = directory / "recorded";
  fs::remove_all(recorded);
  arm_result control = arm(arm_kind::control, {trial({success, success, success, success})}, "control");
  control.summary = "all calls, and no fault";
  for (record* r : {&first, &second_stack})
    for (const char* name : {"memory.a", "memory.b"}) r->cases.push_back({.name = name, .arms = {control}});
  second_stack.cases.back().arms[0].trials[0].milliseconds = 7;
  second_stack.cases.back().arms[0].trials[0].notes = {{.name = "n", .text = "of the second"}};
  EXPECT_EQ(file(first), folder[0]);
  EXPECT_EQ(file(second_stack), folder[1]);
  EXPECT_THAT(text(0), HasSubstr(R"({"arm":"control","as":"memory.a"})"));
  EXPECT_THAT(text(1), HasSubstr(R"({"arm":"control","base_hash":)"));
  EXPECT_EQ(all_of(0), alone(first));
  EXPECT_EQ(all_of(1), alone(second_stack));
  EXPECT_EQ(load_record(folder[1], [](std::string_view of, std::string_view) { return of == "memory.b"; })
                .cases.at(0)
                .arms.at(0)
                .trials.at(0)
                .notes,
            second_stack.cases.back().arms[0].trials[0].notes);
  // A difference is no line that a later case can name.
  std::ofstream(folder[1] / "memory.jsonl", std::ios::app)
      << "{\"case\":\"memory.z\"}\n{\"arm\":\"control\",\"as\":\"memory.b\"}\n";
  EXPECT_THAT(
      refusal([&] { return load_record(folder[1]); }),
      HasSubstr(": as: the control of memory.b is not stored whole, it has \"base_hash\"; name a case "
                "whose control is"));
}

}  // namespace
}  // namespace cufault
