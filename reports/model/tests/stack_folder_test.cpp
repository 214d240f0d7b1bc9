// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/stack_folder.hpp"

#include "reports/base/files.hpp"
#include "reports/model/record.hpp"
#include "reports/model/tests/record_example.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/file.h>

#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class stack_files : public in_directory {
 protected:
  fs::path file(const record& r) const { return file_in_stack(directory / "recorded", r); }
  [[nodiscard]] static std::map<std::string, std::string> files_of(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder))
      files[entry.path().filename()] = text_in(entry.path());
    return files;
  }
};

TEST_F(stack_files, hold_the_stack_once_and_a_line_an_arm) {
  const auto folder = file(of_run(example()));
  EXPECT_EQ(folder, directory / "recorded" / "h200-580.159.04-cublas-13.1.0");
  const auto files = files_of(folder);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(nlohmann::json::parse(files.at("stack.json")),
            (nlohmann::json{{"schema", record_schema}, {"stack", example().stack}}));
  const auto lines = lines_of(files.at("memory.jsonl"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(
      lines[0],
      R"({"case":"memory.leak","run":{"commit":"abc","dirty":true,"started":"2026-11-21T07:27:40Z","seed":18446744073709551615}})"
      "\n");
  EXPECT_TRUE(lines[1].starts_with(R"({"arm":"control",)")) << "sorted";
  EXPECT_TRUE(lines[2].starts_with(R"({"arm":"fault",)"));
  EXPECT_FALSE(contains(lines[1] + lines[2], "run"));
  EXPECT_EQ(lines_of(files.at("sticky.jsonl")).size(), 2U);
}

TEST_F(stack_files, name_runs_of_several_arms_by_their_index) {
  record r = example();
  auto& arms = r.cases.at(0).arms;
  arms.clear();
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    arms.push_back(arm(arm_kind::fault, {trial({success, success})}, name));
  for (std::size_t i = 0; i < arms.size(); ++i)  // equal ones would share a line
    arms[i].trials[0].calls[1].what.name.variant = arms[i].name;
  const auto by = [&](const char* started, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i)
      arms[i].runs = {{.commit = "abc", .started = started, .trials = 1}};
  };
  by("2026-11-23T00:00:00Z", 0, 2);
  by("2026-11-22T00:00:00Z", 3, 4);
  by("2026-11-24T00:00:00Z", 5, 5);
  const auto folder = file(r);
  const auto lines = lines_of(files_of(folder).at("memory.jsonl"));
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_TRUE(contains(lines[0], R"("more_runs":[{"commit":"abc","started":"2026-11-22T00:00:00Z")"))
      << lines[0];
  EXPECT_FALSE(contains(lines[3], "run")) << lines[3];
  EXPECT_TRUE(contains(lines[4], R"("run":0)") && contains(lines[5], R"("run":0)")) << lines[4];
  EXPECT_TRUE(contains(lines[6], R"("run":{"commit":"abc")")) << lines[6];
  const record again = load_record(folder);
  for (std::size_t i = 0; i < arms.size(); ++i)
    EXPECT_EQ(again.cases.at(0).arms.at(i).runs, arms[i].runs) << i;
}

TEST_F(stack_files, describe_cells_of_the_matrix_by_their_names) {
  record r = example();
  const auto with = [](const char* name, const char* summary) {
    auto a = arm(arm_kind::fault, {trial({success})}, name);
    a.summary = summary;
    return a;
  };
  r.cases = {{.name = "matrix.full",
              .arms = {with("create.cold+release", "it is full; cublasCreate, cold; free the memory"),
                       with("other", "it is full; more")}}};
  const auto folder = file(of_run(r));
  const auto lines = lines_of(files_of(folder).at("matrix.jsonl"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[1].starts_with(R"({"arm":"create.cold+release","trials":)")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with(R"({"arm":"other","detail":"more","trials":)")) << lines[2];
  const record again = load_record(folder);
  EXPECT_EQ(again.cases.at(0).arms.at(0).summary, "it is full; create, cold; release");
  EXPECT_EQ(again.cases[0].arms.at(1).summary, "it is full; more");
  r.cases[0].arms = {with("create.cold", "it is full; cublasCreate, cold")};
  r.cases[0].name = "matrix.alone";
  file(of_run(r));
  const auto alone =
      load_record(folder, [](std::string_view of, std::string_view) { return of == "matrix.alone"; });
  EXPECT_EQ(alone.cases.at(0).arms.at(0).summary, "it is full; cublasCreate, cold") << "nothing is shared";
  file(again);
  const auto later = lines_of(files_of(folder).at("matrix.jsonl"));
  EXPECT_EQ(std::vector(later.end() - 3, later.end()), lines);
}

TEST_F(stack_files, state_once_what_most_arms_of_a_case_share) {
  record r = example();
  r.stack["gpu"]["memory_bytes"] = 1000U;
  const auto with = [](const char* name, const char* summary) {
    auto a = arm(arm_kind::fault, {trial({success})}, name);
    a.summary = summary;
    return a;
  };
  auto& arms = r.cases[0].arms;
  arms = {with("a", "the device is full; cublasCreate"), with("b", "the device is full; cublasSgemm; twice"),
          with("c", "another; cublasCreate"), with("d", "the device is full"), with("e", "")};
  arms[0].trials[0].memory = {{"before", 10, 1000}, {"after", 9, 500}};
  const auto folder = file(of_run(r));
  record later = example();
  later.stack = r.stack;
  later.cases = {{.name = "memory.leak", .arms = {arms[1]}}};
  file(of_run(later, "2026-11-22T00:00:00Z"));
  record third = later;
  third.cases[0].arms = {arms[2]};
  third.cases[0].arms[0].runs = {{.commit = "x", .started = "2026-11-23T00:00:00Z", .trials = 0},
                                 {.commit = "y", .started = "2026-11-24T00:00:00Z", .trials = 1}};
  file(third);
  const auto lines = lines_of(files_of(folder).at("memory.jsonl"));
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_TRUE(
      lines[0].starts_with(R"({"case":"memory.leak","summary":"the device is full","run":{"commit":"abc",)"));
  EXPECT_TRUE(lines[1].starts_with(R"({"arm":"a","detail":"cublasCreate","trials":)")) << lines[1];
  EXPECT_TRUE(contains(lines[1], R"("memory":[["before",10],["after",9,500]])")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with(R"({"arm":"b","detail":"cublasSgemm; twice","run":{"commit":"abc",)"))
      << lines[2];
  EXPECT_TRUE(lines[3].starts_with(R"({"arm":"c","summary":"another; cublasCreate","runs":[{"commit":"x",)"))
      << lines[3];
  EXPECT_TRUE(lines[4].starts_with(R"({"arm":"d","summary":"the device is full","trials":)")) << lines[4];
  EXPECT_TRUE(lines[5].starts_with(R"({"arm":"e","trials":)")) << lines[5];
  const record again = load_record(folder);
  for (std::size_t i = 0; i < arms.size(); ++i)
    EXPECT_EQ(again.cases.at(0).arms.at(i).summary, arms[i].summary) << i;
  EXPECT_EQ(again.cases[0].arms[0].trials[0].memory, arms[0].trials[0].memory);
  EXPECT_EQ(again.cases[0].arms[0].runs, of_run(r).cases[0].arms[0].runs);
  EXPECT_EQ(again.cases[0].arms[1].runs.at(0).started, "2026-11-22T00:00:00Z");
  EXPECT_EQ(again.cases[0].arms[2].runs, third.cases[0].arms[0].runs);
  const auto only = [](std::string_view /*case_name*/, std::string_view arm) { return arm == "b"; };
  const auto one = load_record(folder, only);
  ASSERT_EQ(one.cases.at(0).arms.size(), 1U);
  EXPECT_EQ(one.cases[0].arms[0].summary, arms[1].summary);
}

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
      << R"({"arms":{"a":1},"base_hash":"0a1b2c3d","trials":[{}]})"
      << "\n";
  EXPECT_THAT(refusal([&] { return load_record(folder[1]); }),
              HasSubstr("numbers.jsonl:2: base_hash: the line has \"arms\", too; leave one of them"));
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

TEST_F(stack_files, that_are_malformed_are_refused_by_line_and_field) {
  const auto lines_refusal = [](const std::string& text) {
    return refusal([&] {
      record r;
      add_lines(r, "x.jsonl", text);
      return r;
    });
  };
  const std::string of = "{\"case\": \"memory.leak\", \"summary\": \"s\"}\n";
  EXPECT_EQ(lines_refusal(of + R"({"arm": "a", "detail": "d", "trials": []})"), "(nothing was refused)");
  EXPECT_EQ(lines_refusal(R"({"arm": "a", "trials": []})"),
            "x.jsonl:1: top level: an arm stands in front of the line of its case: {\"case\": ...}");
  EXPECT_EQ(lines_refusal(R"({"case": "memory.leak", "arm": "a", "trials": []})"),
            "x.jsonl:1: arm: stands in a line of its own, behind that of its case");
  EXPECT_EQ(lines_refusal("{\"case\": \"../etc\"}\n"),
            "x.jsonl:1: case: a name is of letters, digits, '.', '_' and '-'");
  EXPECT_EQ(lines_refusal("{\"case\": \"memory.leak\", \"speed\": 1}\n"), "x.jsonl:1: speed: unknown key");
  EXPECT_EQ(lines_refusal("{\"case\": \"memory.leak\", \"run\": {\"commit\": \"c\", \"started\": \"s\"}}\n"),
            "x.jsonl:1: run: \"seed\" is missing");
  EXPECT_EQ(lines_refusal(R"({"case": "memory.leak", "run": {"commit": "c", "started": "now", "seed": 1}})"),
            "x.jsonl:1: run.started: expected a UTC time such as 2026-11-21T07:27:40Z");
  EXPECT_EQ(lines_refusal(of + R"({"arm": "a", "base_hash": "0a1b2c3d", "trials": []})"),
            "x.jsonl:2: base_hash: the line of the case has no \"base\", so the difference that this line "
            "states cannot be read");
  EXPECT_EQ(lines_refusal(R"({"case": "memory.leak", "base": "../h200"})"),
            "x.jsonl:1: base: the name of a folder is of letters, digits, '.', '_' and '-'");
  EXPECT_THAT(lines_refusal("{\"case\": \"memory.leak\", \"base\": \"h200\"}\n"
                            R"({"arm": "a", "base_hash": "0a1b2c3d", "trials": []})"),
              HasSubstr("x.jsonl:2: base_hash: differs from memory.leak/a of h200, which is missing"));
  EXPECT_EQ(lines_refusal(of + of),
            "x.jsonl:2: case: memory.leak stands twice; leave one line, with all arms behind it");
  EXPECT_EQ(lines_refusal(of + R"({"arm": "a", "trials": []})" + "\n{\"case\": \"memory.other\"}\n" + of),
            "x.jsonl:4: case: memory.leak stands twice; leave one line, with all arms behind it");
  EXPECT_EQ(lines_refusal(of + R"({"arm": "a", "colour": 1, "trials": []})"),
            "x.jsonl:2: colour: unknown key");
  EXPECT_EQ(lines_refusal("{\"case\": \"memory.leak\"}\n"
                          R"({"arm": "a", "detail": "d", "trials": []})"),
            "x.jsonl:2: detail: the line of the case has no summary that it could follow");
  EXPECT_EQ(lines_refusal(of + R"({"arm": "a", "run": 0, "trials": []})"),
            "x.jsonl:2: run: the line of the case has 0 more runs, counted from 0");
  EXPECT_EQ(lines_refusal(of + R"({"arm": "a", "detail": "d", "summary": "s", "trials": []})"),
            "x.jsonl:2: detail: the arm has a summary, too; leave one of them");
  EXPECT_EQ(
      lines_refusal(
          of +
          R"({"arm": "a", "run": {"commit": "c", "started": "2026-11-21T07:27:40Z", "seed": 1}, "runs": [], "trials": []})"),
      "x.jsonl:2: run: the arm has runs, too; leave one of them");
  EXPECT_EQ(lines_refusal(of + R"({"arm": "a", "trials": [{"like": 0}]})"),
            "x.jsonl:2: trials[0].like: 0 trials stand in front of this one, counted from 0");
}

TEST_F(stack_files, have_one_line_for_arms_that_are_equal_but_for_their_time) {
  const auto timed = [](std::string name, double ms, const std::vector<const char*>& statuses) {
    auto a = arm(arm_kind::fault, {}, std::move(name));
    for (const char* status : statuses) {
      a.trials.push_back(trial({status}));
      a.trials.back().milliseconds = ms;
    }
    return a;
  };
  record r = example();
  r.cases = {{.name = "memory.leak",
              .arms = {timed("d", 0, {internal}), timed("a", 1.5, {internal}), timed("c", 2, {no_memory}),
                       timed("b", 3, {internal, internal}), timed("e", 4, {internal})}}};
  const auto folder = file(of_run(r));
  const auto lines = lines_of(files_of(folder).at("memory.jsonl"));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(lines[1].starts_with(R"({"arms":{"a":1.5,"d":0,"e":4},"trials":[{"calls":[)")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with(R"({"arm":"b",)")) << "two trials: " << lines[2];
  EXPECT_TRUE(lines[3].starts_with(R"({"arm":"c",)")) << "another status: " << lines[3];
  const auto all = load_record(folder).cases.at(0).arms;
  ASSERT_EQ(all.size(), 5U);
  std::string names;
  for (const arm_result& a : all) names += a.name;
  EXPECT_EQ(names, "abcde");
  EXPECT_EQ(all[3].trials.at(0).milliseconds, 0);
  EXPECT_EQ(all[4].trials.at(0).milliseconds, 4);
  EXPECT_EQ(all[4].trials[0].calls.at(0).what, all[0].trials.at(0).calls.at(0).what);
  EXPECT_EQ(all[4].runs, all[0].runs);
  const auto only = [](std::string_view /*case_name*/, std::string_view name) { return name == "d"; };
  EXPECT_EQ(load_record(folder, only).cases.at(0).arms.size(), 1U);
}

TEST_F(stack_files, that_share_a_line_badly_are_refused_with_what_to_do) {
  const auto lines_refusal = [](const std::string& lines) {
    record r;
    return refusal([&] {
      add_lines(r, "x.jsonl", "{\"case\": \"memory.leak\"}\n" + lines);
      return r;
    });
  };
  const std::string trials = R"("trials": [{"calls": []}]})";
  EXPECT_EQ(lines_refusal(R"({"arms": {"a": 1, "b": 0}, )" + trials), "(nothing was refused)");
  EXPECT_EQ(lines_refusal(R"({"arm": "a", "arms": {"b": 1}, )" + trials),
            "x.jsonl:2: arm: the line has \"arms\", too; leave one of them");
  EXPECT_EQ(lines_refusal(R"({"base_hash": "0a1b2c3d", "arms": {"b": 1}, )" + trials),
            "x.jsonl:2: base_hash: the line has \"arms\", too; leave one of them");
  EXPECT_EQ(lines_refusal(R"({"arms": {}, )" + trials), "x.jsonl:2: arms: must not be empty");
  EXPECT_EQ(lines_refusal(R"({"arms": {"a b": 1}, )" + trials),
            "x.jsonl:2: arms[\"a b\"]: a name is of letters, digits, '.', '_', '-' and '+'");
  EXPECT_EQ(lines_refusal(R"({"arms": {"a": -1}, )" + trials),
            "x.jsonl:2: arms.a: a time must be 0 or more, found -1");
  EXPECT_EQ(lines_refusal(R"({"arms": {"a": 1}, "trials": []})"),
            "x.jsonl:2: trials: arms that share a line have one trial each");
  EXPECT_EQ(lines_refusal(R"({"arms": {"a": 1}, "trials": [1]})"),
            "x.jsonl:2: trials[0]: expected an object, found a number");
  EXPECT_EQ(lines_refusal(R"({"arms": ["a"], )" + trials),
            "x.jsonl:2: arms: expected an object, found an array");
  EXPECT_EQ(lines_refusal(R"({"arms": {"a": 1}, "trials": [{"calls": [], "ms": 1}]})"),
            "x.jsonl:2: trials[0].ms: several arms share this trial; state it in a line of each");
  EXPECT_EQ(lines_refusal(R"({"arms": {"a": 1}, )" + trials + "\n" + R"({"arms": {"a": 1}, )" + trials),
            "x.jsonl:3: arms.a: memory.leak/a stands twice; leave one of them");
}

TEST_F(stack_files, that_share_more_than_fits_into_memory_are_refused) {
  record r;
  std::string text = R"({"case": "memory.leak", "summary": ")" + std::string(1 << 20, 's') + "\"}\n";
  for (int i = 0; i < 300; ++i)
    text += fmt::format(R"({{"arm": "a{}", "detail": "d", "trials": []}})", i) + "\n";
  EXPECT_EQ(refusal([&] {
              add_lines(r, "x.jsonl", text);
              return r;
            }),
            "x.jsonl:258: detail: more is shared than fits into memory; state it in each arm");
}

TEST_F(stack_files, whose_arms_would_repeat_more_than_fits_into_memory_are_refused) {
  const auto many = [](int count, const std::string& each) {
    std::string list;
    for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + each;
    return list;
  };
  std::string arms;
  for (int i = 0; i < 2000; ++i) arms += fmt::format(R"({}"a{}": 1)", i == 0 ? "" : ", ", i);
  for (const std::string& more :
       {R"("summary": ")" + std::string(1 << 20, 's') + R"(", "trials": [{"calls": []}])",
        R"("claims": [)" + many(20000, R"("S0-1")") + R"(], "trials": [{"calls": []}])",
        R"("trials": [{"calls": [)" + many(5000, R"("cublasCreate")") + "]}]",
        R"("trials": [{"calls": [], "memory": [)" + many(20000, R"(["a", 1])") + "]}]",
        R"("trials": [{"calls": [], "measurements": [)" + many(20000, R"(["a", 1])") + "]}]"}) {
    record r;
    const auto only_one = [](std::string_view /*case_name*/, std::string_view arm) { return arm == "a1"; };
    const std::string text =
        "{\"case\": \"memory.leak\"}\n" + fmt::format(R"({{"arms": {{{}}}, {}}})", arms, more);
    EXPECT_THAT(refusal([&] {
                  add_lines(r, "x.jsonl", text);
                  return r;
                }),
                HasSubstr(": more is shared than fits into memory; state it in each arm"))
        << more.substr(0, 40);
    record one;
    add_lines(one, "x.jsonl", text, only_one);
    EXPECT_EQ(one.cases.at(0).arms.size(), 1U) << "what is not wanted is not copied";
  }
}

TEST_F(stack_files, are_read_as_a_record) {
  const auto r = load_record(file(of_run(example())));
  EXPECT_EQ(r.stack, example().stack);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.started, "2026-11-21T07:27:40Z");
  ASSERT_EQ(r.cases.size(), 2U);
  EXPECT_EQ(r.cases[0].arms.at(1).trials.size(), 2U);
  EXPECT_EQ(digest_of(r.cases[0].arms[1]), digest_of(example().cases[0].arms[0]));
  const auto only = [](std::string_view case_name, std::string_view /*arm*/) {
    return case_name == "sticky.trap";
  };
  EXPECT_EQ(load_record(directory / "recorded" / "h200-580.159.04-cublas-13.1.0", only).cases.size(), 1U);
}

TEST_F(stack_files, are_no_records_by_themselves) {
  const auto folder = file(of_run(example()));
  const auto path_refusal = [](const fs::path& named) { return refusal([&] { return load_record(named); }); };
  EXPECT_EQ(path_refusal(folder / "memory.jsonl"),
            (folder / "memory.jsonl").string() + ": is part of the record of a stack; name its folder, " +
                folder.string());
  EXPECT_EQ(path_refusal(folder / "stack.json"), (folder / "stack.json").string() +
                                                     ": is part of the record of a stack; name its folder, " +
                                                     folder.string());
  EXPECT_EQ(path_refusal(directory / "recorded"),
            (directory / "recorded").string() +
                ": is not the folder of a stack, because it has no stack.json; name a record in it, as " +
                folder.string());
  fs::create_directory(directory / "empty");
  EXPECT_EQ(path_refusal(directory / "empty"),
            (directory / "empty").string() +
                ": is not the folder of a stack, because it has no stack.json; name the "
                "record of a run (.jsonl), or the folder of a stack");
  fs::remove(folder / "stack.json");
  for (const fs::path& named : {folder, folder / "memory.jsonl"})
    EXPECT_EQ(path_refusal(named),
              (folder / "memory.jsonl").string() +
                  ": is part of the record of a stack; name the folder that it and stack.json are of");
  const auto cost = write("cost.jsonl", "{\"cost_schema\":1}\n");
  EXPECT_EQ(path_refusal(cost),
            cost.string() + ": holds costs of remedies, and is no record; use `cufault cost`");
}

TEST_F(stack_files, keep_the_newest_of_an_arm_and_leave_the_others_as_they_were) {
  const auto folder = file(of_run(example()));
  const auto before = files_of(folder);
  record later = example();
  later.commit = "def";
  later.cases = {{.name = "memory.leak", .arms = {arm(arm_kind::fault, {trial({internal})}, "fault")}},
                 {.name = "memory.a", .arms = {arm(arm_kind::fault, {trial({internal})}, "new")}}};
  EXPECT_EQ(file(of_run(later, "2026-11-22T00:00:00Z")), folder);
  const auto after = files_of(folder);
  EXPECT_EQ(after.at("sticky.jsonl"), before.at("sticky.jsonl"));
  EXPECT_EQ(after.at("stack.json"), before.at("stack.json"));
  const auto lines = lines_of(after.at("memory.jsonl"));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_TRUE(lines[0].starts_with(R"({"case":"memory.a","run":{"commit":"def",)"));
  EXPECT_TRUE(lines[1].starts_with(R"({"arm":"new",)"));
  EXPECT_EQ(lines[2], lines_of(before.at("memory.jsonl"))[0]);
  EXPECT_EQ(lines[3], lines_of(before.at("memory.jsonl"))[1]) << "the control was not run again";
  EXPECT_TRUE(lines[4].starts_with(R"({"arm":"fault",)"));
  EXPECT_TRUE(contains(lines[4], "_INTERNAL_ERROR"));
  EXPECT_TRUE(contains(lines[4], R"("commit":"def")"));
  EXPECT_FALSE(contains(lines[4], "_ALLOC_FAILED"));
}

TEST_F(stack_files, filed_twice_are_the_same) {
  const auto folder = file(of_run(example()));
  const auto once = files_of(folder);
  EXPECT_EQ(file(load_record(folder)), folder);
  EXPECT_EQ(files_of(folder), once);
}

TEST_F(stack_files, hold_of_long_output_the_beginning_and_the_end) {
  auto r = example();
  auto& o = r.cases[0].arms[0].trials[0];
  std::string text = "begin ";
  while (text.size() < 10000) text += "\xe2\x82\xac";  // a character of three bytes
  o.stderr_text = text + " end";
  o.stdout_text = std::string(2048, 'x');
  o.library_log = {"one", "two", "one", "one"};
  const auto folder = file(of_run(r));
  const auto once = files_of(folder);
  const auto kept = load_record(folder).cases.at(0).arms.at(1).trials.at(0);
  EXPECT_LE(kept.stderr_text.size(), 2048U);
  EXPECT_GT(kept.stderr_text.size(), 1900U);
  EXPECT_TRUE(kept.stderr_text.starts_with("begin \xe2\x82\xac"));
  EXPECT_TRUE(kept.stderr_text.ends_with("\xe2\x82\xac end"));
  EXPECT_FALSE(contains(kept.stderr_text, "\xef\xbf\xbd")) << "cut between characters";
  EXPECT_TRUE(contains(kept.stderr_text, " bytes ...]\n"));
  EXPECT_EQ(kept.stdout_text, o.stdout_text);
  EXPECT_EQ(kept.library_log, (std::vector<std::string>{"one", "two"}));
  file(load_record(folder));
  EXPECT_EQ(files_of(folder), once) << "what was shortened once is not shortened again";
}

TEST_F(stack_files, are_not_written_while_another_process_writes_them) {
  const auto folder = file(of_run(example()));
  const auto before = files_of(folder);
  const descriptor other{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  auto later = example();
  later.cases[0].arms[0].trials = {trial({internal})};
  EXPECT_EQ(failure([&] { file(of_run(later)); }),
            folder.string() +
                ": another cufault writes this stack; try again when it has ended: Resource "
                "temporarily unavailable");
  EXPECT_EQ(files_of(folder), before);
  ASSERT_EQ(::flock(other.get(), LOCK_UN), 0);
  file(of_run(later));
  EXPECT_NE(files_of(folder), before);
}

TEST_F(stack_files, that_cannot_be_written_are_refused_by_name_with_nothing_half_written) {
  write("recorded", "a file");
  EXPECT_EQ(failure([&] { file(of_run(example())); }),
            (directory / "recorded" / "h200-580.159.04-cublas-13.1.0").string() +
                ": cannot create: Not a directory");
  EXPECT_EQ(text_in(directory / "recorded"), "a file");
  fs::remove(directory / "recorded");
}

TEST_F(stack_files, in_a_folder_that_is_read_only_stay_as_they_were) {
  const auto folder = file(of_run(example()));
  const auto before = files_of(folder);
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  if (::access(folder.c_str(), W_OK) == 0) GTEST_SKIP() << "root may write to it all the same";
  auto later = example();
  later.cases[0].arms[0].trials = {trial({internal})};
  EXPECT_TRUE(contains(failure([&] { file(of_run(later)); }), "memory.jsonl.tmp-"));
  fs::permissions(folder, fs::perms::owner_all);
  EXPECT_EQ(files_of(folder), before);
}

TEST_F(stack_files, of_which_one_cannot_be_replaced_are_each_whole) {
  const auto folder = file(of_run(example()));
  const auto before = files_of(folder);
  record later = example();
  later.cases = {{.name = "another.case", .arms = {arm(arm_kind::fault, {trial({internal})}, "fault")}},
                 {.name = "memory.leak", .arms = {arm(arm_kind::fault, {trial({internal})}, "fault")}}};
  // What is written beside the file has a name that is taken.
  fs::create_directory(folder / fmt::format("memory.jsonl.tmp-{}", ::getpid()));
  EXPECT_TRUE(contains(failure([&] { file(of_run(later)); }), "cannot create: Is a directory"));
  fs::remove(folder / fmt::format("memory.jsonl.tmp-{}", ::getpid()));
  auto after = files_of(folder);
  EXPECT_EQ(lines_of(after.at("another.jsonl")).size(), 2U);
  after.erase("another.jsonl");
  EXPECT_EQ(after, before);
}

TEST_F(stack_files, that_cannot_be_read_are_not_replaced) {
  const auto folder = file(of_run(example()));
  const auto memory = folder / "memory.jsonl";
  const auto lines = lines_of(text_in(memory));
  const auto &of = lines[0], &line = lines[1];
  const auto filing_refusal = [&](const fs::path& damaged, const std::string& text) {
    const auto before = text_in(damaged);
    write(fs::relative(damaged, directory).string(), text);
    const auto files = files_of(folder);
    auto why = refusal([&] { return file(of_run(example())); });
    EXPECT_EQ(files_of(folder), files);
    write(fs::relative(damaged, directory).string(), before);
    return why;
  };
  EXPECT_EQ(filing_refusal(memory, of + line + line),
            memory.string() + ":3: arm: memory.leak/control stands twice; leave one of them");
  EXPECT_TRUE(filing_refusal(memory, of + line.substr(0, line.size() / 2))
                  .starts_with(memory.string() + ":2: syntax error"));
  EXPECT_EQ(filing_refusal(memory, of + R"({"arm": "a", "trials": [{"calls": ["product"]}]})" + "\n"),
            memory.string() +
                ":2: trials[0].calls[0]: \"product\" is no function of the CUDA headers or of a "
                "framework, and no check of "
                "cufault's own; reports/model/api_functions.hpp lists them");
  EXPECT_EQ(filing_refusal(folder / "stack.json", R"({"schema": 5, "stack": {}})"),
            (folder / "stack.json").string() +
                ":1: schema: made by a newer cufault: schema 5, and this one reads 4; update cufault");
  EXPECT_EQ(filing_refusal(folder / "stack.json", R"({"schema": 2, "stack": {}})"),
            (folder / "stack.json").string() +
                ":1: schema: made by an older cufault: schema 2, and this one reads 4; run it again");
  EXPECT_EQ(filing_refusal(folder / "stack.json", R"({"schema": 4, "stack": {}, "more": 1})"),
            (folder / "stack.json").string() + ":1: more: unknown key");
}

TEST_F(stack_files, with_a_case_in_two_families_are_refused) {
  const auto folder = file(of_run(example()));
  const auto lines = lines_of(text_in(folder / "memory.jsonl"));
  write(fs::relative(folder, directory).string() + "/more.jsonl", lines[0] + lines[1]);
  EXPECT_EQ(refusal([&] { return load_record(folder); }),
            (folder / "more.jsonl").string() +
                ":1: case: memory.leak stands twice; leave one line, with all arms behind it");
}

TEST_F(stack_files, need_a_stack_that_has_a_name) {
  record nameless = example();
  nameless.stack = {{"keys", {{"driver", "580"}}}};
  EXPECT_EQ(refusal([&] { return file(of_run(nameless)); }),
            "the record does not say which cuBLAS it was made on");
  EXPECT_FALSE(fs::exists(directory / "recorded"));
}

}  // namespace
}  // namespace cufault
