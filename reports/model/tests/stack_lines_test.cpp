// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/arm_lines.hpp"
#include "reports/model/record.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/model/tests/stack_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using testing::HasSubstr;
namespace fs = std::filesystem;

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
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(lines[2].starts_with(R"({"arm":"create.cold+release","trials":)")) << lines[2];
  EXPECT_TRUE(lines[3].starts_with(R"({"arm":"other","detail":"more","trials":)")) << lines[3];
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
  EXPECT_EQ(std::vector(later.end() - 3, later.end()), std::vector(lines.end() - 3, lines.end()));
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

TEST_F(stack_files, that_are_malformed_are_refused_by_line_and_field) {
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
  EXPECT_EQ(lines_refusal(of + R"({"arm": "a", "base_hash": "0a1b", "trials": []})"),
            "x.jsonl:2: base_hash: the line of the case has no \"base\", so the difference that this line "
            "states cannot be read");
  EXPECT_EQ(lines_refusal(R"({"case": "memory.leak", "base": "../h200"})"),
            "x.jsonl:1: base: the name of a folder is of letters, digits, '.', '_' and '-'");
  EXPECT_THAT(lines_refusal("{\"case\": \"memory.leak\", \"base\": \"h200\"}\n"
                            R"({"arm": "a", "base_hash": "0a1b", "trials": []})"),
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

TEST_F(stack_files, have_one_line_for_arms_that_are_equal_but_for_their_time_and_run) {
  const auto of_run_with = [](const char* commit, const std::vector<const char*>& names) {
    record r = example();
    r.commit = commit;
    r.cases = {{.name = "memory.leak"}};
    for (const char* name : names) {
      r.cases[0].arms.push_back(arm(arm_kind::fault, {}, name));
      r.cases[0].arms.back().trials = {trial({internal})};
    }
    return of_run(r);
  };
  file(of_run_with("1111111", {"a", "b", "c"}));
  const auto folder = file(of_run_with("2222222", {"d", "e"}));
  const auto lines = lines_of(files_of(folder).at("memory.jsonl"));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[1], HasSubstr(R"("d":[)"));
  const auto all = load_record(folder).cases.at(0).arms;
  ASSERT_EQ(all.size(), 5U);
  for (const arm_result& a : all) {
    ASSERT_EQ(a.runs.size(), 1U) << a.name;
    EXPECT_EQ(a.runs[0].commit, a.name < "d" ? "1111111" : "2222222") << a.name;
    EXPECT_EQ(a.runs[0].trials, 1U) << a.name;
  }
}

TEST_F(stack_files, that_share_a_line_badly_are_refused_with_what_to_do) {
  const auto refusal_of_arms = [](const std::string& lines) {
    return lines_refusal("{\"case\": \"memory.leak\"}\n" + lines);
  };
  const std::string trials = R"("trials": [{"calls": []}]})";
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a": 1, "b": 0}, )" + trials), "(nothing was refused)");
  EXPECT_EQ(refusal_of_arms(R"({"arm": "a", "arms": {"b": 1}, )" + trials),
            "x.jsonl:2: arm: the line has \"arms\", too; leave one of them");
  EXPECT_EQ(refusal_of_arms(R"({"base_hash": "0a1b", "arms": {"b": 1}, )" + trials),
            "x.jsonl:2: base_hash: the line has \"arms\", too; leave one of them");
  EXPECT_EQ(refusal_of_arms(R"({"arms": {}, )" + trials), "x.jsonl:2: arms: must not be empty");
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a": [1, null]}, )" + trials), "(nothing was refused)");
  EXPECT_THAT(refusal_of_arms(R"({"arms": {"a": [1]}, )" + trials),
              HasSubstr("x.jsonl:2: arms.a: expected milliseconds, or milliseconds and a run"));
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a": [1, "x"]}, )" + trials),
            "x.jsonl:2: arms.a[1]: expected null, or the number of one of the case's more_runs");
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a": [1, 0]}, )" + trials),
            "x.jsonl:2: arms.a[1]: the line of the case has 0 more runs, counted from 0");
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a": [1, null]}, "runs": [], )" + trials),
            "x.jsonl:2: arms.a: the line has runs, too; leave one of them");
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a": [-1, null]}, )" + trials),
            "x.jsonl:2: arms.a[0]: a time must be 0 or more, found -1");
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a b": 1}, )" + trials),
            "x.jsonl:2: arms[\"a b\"]: a name is of letters, digits, '.', '_', '-' and '+'");
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a": -1}, )" + trials),
            "x.jsonl:2: arms.a: a time must be 0 or more, found -1");
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a": 1}, "trials": []})"),
            "x.jsonl:2: trials: arms that share a line have one trial each");
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a": 1}, "trials": [1]})"),
            "x.jsonl:2: trials[0]: expected an object, found a number");
  EXPECT_EQ(refusal_of_arms(R"({"arms": ["a"], )" + trials),
            "x.jsonl:2: arms: expected an object, found an array");
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a": 1}, "trials": [{"calls": [], "ms": 1}]})"),
            "x.jsonl:2: trials[0].ms: several arms share this trial; state it in a line of each");
  EXPECT_EQ(refusal_of_arms(R"({"arms": {"a": 1}, )" + trials + "\n" + R"({"arms": {"a": 1}, )" + trials),
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

/// Cases of one family whose controls, each of one trial, make the same calls, and a fault in each.
record with_equal_controls() {
  record r = example();
  r.cases.clear();
  for (const char* name : {"memory.c", "memory.a", "memory.b"}) {
    arm_result control = arm(arm_kind::control, {trial({success, success, success, success})}, "control");
    control.summary = "all calls, and no fault";
    control.trials[0].milliseconds = 10 * name[7];
    control.trials[0].memory = {{"before", 10, 1000}, {"after", 9, 500}};
    r.cases.push_back({.name = name, .arms = {control, arm(arm_kind::fault, {trial({internal})}, "fault")}});
  }
  r.stack["gpu"]["memory_bytes"] = 1000U;
  return of_run(r);
}

TEST_F(stack_files, state_a_control_once_for_all_cases_of_a_file) {
  record r = with_equal_controls();
  r.cases[0].arms[0].runs[0].started = "2026-11-23T00:00:00Z";  // of memory.c, by a run of its own
  r.cases[2].arms[0].trials[0].milliseconds = 0;                // of memory.b
  const auto folder = file(r);
  const auto lines = lines_of(files_of(folder).at("memory.jsonl"));
  ASSERT_EQ(lines.size(), 9U);
  EXPECT_TRUE(lines[1].starts_with(R"({"arm":"control","kind":"control","summary":"all calls)")) << lines[1];
  EXPECT_EQ(lines[4], "{\"arm\":\"control\",\"as\":\"memory.a\"}\n");
  EXPECT_TRUE(lines[7].starts_with(R"({"arm":"control","as":"memory.a","ms":990,"run":{"commit":)"))
      << lines[7];
  const auto arms_of = [](const record& all) {
    std::vector<std::string> texts;
    for (const case_result& c : all.cases)
      for (const arm_result& a : c.arms) texts.push_back(arm_json(c.name, a).dump());
    return texts;
  };
  const record again = load_record(folder);
  for (case_result& c : r.cases)
    for (arm_result& a : c.arms) shorten(a.trials[0]);  // as filing does
  std::sort(r.cases.begin(), r.cases.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  EXPECT_EQ(arms_of(again), arms_of(r));
  EXPECT_EQ(again.cases.at(2).arms.at(0).source, (folder / "memory.jsonl").string() + ":8");
  // Filed again in part, it is what it was.
  r.cases.resize(1);
  file(r);
  EXPECT_EQ(lines_of(files_of(folder).at("memory.jsonl")), lines);
}

TEST_F(stack_files, that_state_a_control_once_are_read_in_part) {
  const auto folder = file(with_equal_controls());
  const auto part = [&](std::string_view case_name, std::string_view arm) {
    return load_record(
        folder, [=](std::string_view of, std::string_view name) { return of == case_name && name == arm; });
  };
  const record one = part("memory.b", "control");
  ASSERT_EQ(one.cases.size(), 1U);
  ASSERT_EQ(one.cases[0].arms.size(), 1U);
  EXPECT_EQ(one.cases[0].arms[0].summary, "all calls, and no fault");
  EXPECT_EQ(one.cases[0].arms[0].trials.at(0).milliseconds, 980);
  const record fault = part("memory.b", "fault");
  ASSERT_EQ(fault.cases.size(), 1U);
  EXPECT_EQ(fault.cases[0].arms.size(), 1U);
}

TEST_F(stack_files, state_a_control_whole_that_no_other_one_is_equal_to) {
  record r = with_equal_controls();  // memory.c, memory.a, memory.b
  r.cases[2].arms[0].trials[0].calls.pop_back();
  r.cases[0].arms[0].trials.push_back(r.cases[0].arms[0].trials[0]);
  r.cases[0].arms[0].runs[0].trials = 2;
  const auto folder = file(r);
  EXPECT_FALSE(contains(files_of(folder).at("memory.jsonl"), R"("as")"));
  r.cases = {{.name = "numbers.a", .arms = {r.cases[1].arms[0]}}};
  file(r);
  EXPECT_FALSE(contains(files_of(folder).at("numbers.jsonl"), R"("as")")) << "another file";
}

TEST_F(stack_files, that_name_the_control_of_a_case_badly_are_refused_with_what_to_do) {
  const auto lines_refusal = [](const std::string& lines) {
    record r;
    return refusal([&] {
      add_lines(r, "x.jsonl",
                R"({"case": "memory.a"}
{"arm": "control", "kind": "control", "trials": [{"calls": ["cublasCreate"]}]}
)" + lines);
      return r;
    });
  };
  const std::string b = "{\"case\": \"memory.b\"}\n", c = "{\"case\": \"memory.c\"}\n";
  const std::string as_a = "{\"arm\": \"control\", \"as\": \"memory.a\"}\n",
                    as_b = "{\"arm\": \"control\", \"as\": \"memory.b\", \"ms\": 1}\n";
  EXPECT_EQ(lines_refusal(b + as_a + c + as_a), "(nothing was refused)");
  const auto none = [](const char* name) {
    return fmt::format(
        "x.jsonl:4: as: no earlier line of this file is the control of {}; name a case whose control is "
        "earlier, or state the arm whole",
        name);
  };
  EXPECT_EQ(lines_refusal(b + as_b), none("memory.b")) << "itself";
  EXPECT_EQ(lines_refusal(c + as_b + b + R"({"arm": "control", "trials": [{"calls": []}]})"),
            none("memory.b"))
      << "a later one";
  EXPECT_EQ(lines_refusal(c + R"({"arm": "control", "as": "memory.none"})"), none("memory.none"));
  EXPECT_EQ(lines_refusal(b + R"({"arm": "fault", "trials": []})" + "\n" + c + as_b).substr(0, 12),
            "x.jsonl:6: a")
      << "one without a control";
  EXPECT_EQ(lines_refusal(b + as_a + c + as_b),
            "x.jsonl:6: as: the control of memory.b is not stored whole, it has \"as\"; name a case whose "
            "control is");
  EXPECT_EQ(
      lines_refusal(b + R"({"arm": "control", "trials": [{"calls": []}, {"like": 0}]})" + "\n" + c + as_b),
      "x.jsonl:6: as: the control of memory.b has 2 trials, and only one with one trial can be named; "
      "state the arm whole");
  EXPECT_EQ(lines_refusal(b + R"({"arm": "fault", "as": "memory.a"})"),
            "x.jsonl:4: as: only the line of the arm control can have \"as\"; state the trials of this arm");
  for (const char* key : {"trials", "base_hash", "arms", "summary", "runs", "speed"})
    EXPECT_EQ(
        lines_refusal(b + fmt::format(R"({{"arm": "control", "as": "memory.a", "{}": []}})", key)),
        fmt::format(
            "x.jsonl:4: {}: a line with \"as\" has only arm, ms and run besides; leave this out, or state "
            "the arm whole",
            key));
  EXPECT_EQ(lines_refusal(b + R"({"arms": {"control": 1}, "as": "memory.a"})"),
            "x.jsonl:4: top level: \"arm\" is missing");
  EXPECT_EQ(lines_refusal(b + R"({"arm": "control", "as": 1})"),
            "x.jsonl:4: as: expected a string, found a number");
  EXPECT_EQ(lines_refusal(b + R"({"arm": "control", "as": "memory.a", "ms": -1})"),
            "x.jsonl:4: ms: a time must be 0 or more, found -1");
  EXPECT_EQ(lines_refusal(b + R"({"arm": "control", "as": "memory.a", "run": 0})"),
            "x.jsonl:4: run: the line of the case has 0 more runs, counted from 0");
  EXPECT_EQ(lines_refusal(b + as_a + as_a),
            "x.jsonl:5: arm: memory.b/control stands twice; leave one of them");
}

TEST_F(stack_files, whose_controls_would_repeat_more_than_fits_into_memory_are_refused) {
  std::string text =
      "{\"case\": \"memory.whole\"}\n"
      R"({"arm": "control", "summary": ")" +
      std::string(1 << 20, 's') + "\", \"trials\": [{\"calls\": []}]}\n";
  for (int i = 0; i < 300; ++i)
    text +=
        fmt::format("{{\"case\": \"memory.c{}\"}}\n{{\"arm\": \"control\", \"as\": \"memory.whole\"}}\n", i);
  const auto read = [&](const arm_filter& only) {
    return refusal([&] {
      record r;
      add_lines(r, "x.jsonl", text, only);
      return r;
    });
  };
  EXPECT_THAT(read({}), HasSubstr(": as: more is shared than fits into memory; state it in each arm"));
  EXPECT_EQ(read([](std::string_view of, std::string_view /*arm*/) { return of == "memory.c299"; }),
            "(nothing was refused)")
      << "what is not wanted is not copied";
}

}  // namespace
}  // namespace cufault
