// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/stack_folder.hpp"

#include "reports/base/files.hpp"
#include "reports/model/record.hpp"
#include "reports/model/tests/stack_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
namespace fs = std::filesystem;

/// A record of one later run with the trial of one arm.
record later_run(const std::string& case_name, const char* arm_name, const char* status = internal) {
  record r = example();
  r.commit = "def";
  r.cases = {{.name = case_name, .arms = {arm(arm_kind::fault, {trial({status})}, arm_name)}}};
  return of_run(r, "2026-11-22T00:00:00Z");
}

TEST_F(stack_files, hold_the_stack_with_its_runs_and_a_line_an_arm) {
  const auto folder = file(of_run(example()));
  EXPECT_EQ(folder, directory / "recorded" / "h200-580.159.04-cublas-13.1.0");
  const auto files = files_of(folder);
  ASSERT_EQ(files.size(), 3U);
  const std::string& stack = files.at("stack.json");
  EXPECT_EQ(nlohmann::json::parse(stack)["schema"], record_schema);
  EXPECT_EQ(nlohmann::json::parse(stack)["stack"], *example().stack);
  EXPECT_TRUE(stack.ends_with(
      " \"runs\": [\n"
      R"(  {"commit":"abc","dirty":true,"started":"2026-11-21T07:27:40Z","seed":18446744073709551615,"version":"0.1.0","driver":"580.159.04"})"
      "\n ]\n}\n"))
      << stack;
  const auto lines = lines_of(files.at("memory.jsonl"));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].starts_with(R"({"case":"memory.leak","arm":"control","expected":false,"saw":)"));
  EXPECT_TRUE(lines[1].starts_with(R"({"case":"memory.leak","arm":"fault","expected":false,"saw":)"));
  EXPECT_TRUE(contains(lines[1], R"("run":0,)"));
  EXPECT_EQ(lines_of(files.at("sticky.jsonl")).size(), 1U);
}

TEST_F(stack_files, are_read_as_a_record) {
  const auto folder = file(of_run(example()));
  const auto r = load_record(folder);
  EXPECT_EQ(*r.stack, *example().stack);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.started, "2026-11-21T07:27:40Z");
  ASSERT_EQ(r.cases.size(), 2U);
  EXPECT_EQ(r.cases[0].arms.at(1).trials.size(), 2U);
  EXPECT_EQ(describe(r.cases[0].arms[1]), describe(example().cases[0].arms[0]));
  EXPECT_EQ(r.cases[0].arms[1].source, (folder / "memory.jsonl").string() + ":2");
  const auto family = load_family(folder, "sticky");
  ASSERT_EQ(family.cases.size(), 1U);
  EXPECT_EQ(family.cases[0].name, "sticky.trap");
  EXPECT_TRUE(load_family(folder, "none").cases.empty());
}

TEST_F(stack_files, of_families_that_are_not_asked_for_are_not_read) {
  const auto folder = file(of_run(example()));
  EXPECT_EQ(load_families(folder, {}).cases.size(), 2U);
  write("recorded/h200-580.159.04-cublas-13.1.0/memory.jsonl", "damaged");
  const record sticky = load_families(folder, {"sticky", "none"});
  ASSERT_EQ(sticky.cases.size(), 1U);
  EXPECT_EQ(sticky.cases[0].name, "sticky.trap");
  EXPECT_THROW(load_families(folder, {"memory"}), input_error);
  write("run.jsonl", record_text(example()));
  EXPECT_EQ(load_families(directory / "run.jsonl", {"sticky"}).cases.size(), 2U) << "a run is one file";
}

TEST_F(stack_files, that_cannot_be_looked_for_are_no_other_folder) {
  fs::create_symlink("loop", directory / "loop");
  EXPECT_TRUE(is_stack_folder(directory / "loop")) << "who reads it says why it cannot be read";
  EXPECT_FALSE(is_stack_folder(directory));
  EXPECT_FALSE(is_stack_folder(directory / "none"));
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
  const auto cost = write("cost.jsonl", "{\"cost_schema\":2}\n");
  EXPECT_EQ(path_refusal(cost),
            cost.string() + ": holds costs of remedies, and is no record; use `cufault cost`");
}

TEST_F(stack_files, change_only_the_lines_of_the_arms_that_are_filed) {
  const auto folder = file(of_run(example()));
  const auto before = files_of(folder);
  EXPECT_EQ(file(later_run("memory.leak", "fault")), folder);
  file(later_run("memory.a", "new"));
  const auto after = files_of(folder);
  EXPECT_EQ(after.at("sticky.jsonl"), before.at("sticky.jsonl"));
  const auto runs_before = lines_of(before.at("stack.json")), runs_after = lines_of(after.at("stack.json"));
  ASSERT_EQ(runs_after.size(), runs_before.size() + 1) << "a run more is a line more";
  EXPECT_TRUE(contains(runs_after[runs_after.size() - 3], R"("commit":"def")"));
  const auto lines = lines_of(after.at("memory.jsonl"));
  ASSERT_EQ(lines.size(), 3U) << "sorted by case and arm";
  EXPECT_TRUE(lines[0].starts_with(R"({"case":"memory.a","arm":"new",)"));
  EXPECT_EQ(lines[1], lines_of(before.at("memory.jsonl"))[0]) << "the control was not run again";
  EXPECT_TRUE(lines[2].starts_with(R"({"case":"memory.leak","arm":"fault",)"));
  EXPECT_TRUE(contains(lines[2], "_INTERNAL_ERROR") && contains(lines[2], R"("run":1,)"));
  EXPECT_FALSE(contains(lines[2], "_ALLOC_FAILED"));
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
  auto other = std::make_unique<folder_lock>(folder, "this stack");
  auto later = example();
  later.cases[0].arms[0].trials = {trial({internal})};
  EXPECT_EQ(failure([&] { file(of_run(later)); }),
            folder.string() +
                ": another cufault writes this stack; try again when it has ended: Resource "
                "temporarily unavailable");
  other.reset();
  EXPECT_EQ(files_of(folder), before);
  file(of_run(later));
  EXPECT_NE(files_of(folder), before);
}

TEST_F(stack_files, that_are_removed_while_they_are_locked_take_no_lock_of_others_with_them) {
  const auto folder = directory / "locked";
  fs::create_directory(folder);
  auto first = std::make_unique<folder_lock>(folder, "this stack");
  fs::rename(folder, directory / "removed");
  fs::create_directory(folder);
  auto second = std::make_unique<folder_lock>(folder, "this stack");
  first.reset();
  const auto third = [&] { const folder_lock lock(folder, "this stack"); };
  EXPECT_TRUE(contains(failure(third), "another cufault writes this stack"));
  second.reset();
  EXPECT_EQ(failure(third), "(written)");
}

TEST_F(stack_files, that_cannot_be_written_are_refused_by_name_with_nothing_half_written) {
  write("recorded", "a file");
  EXPECT_EQ(failure([&] { file(of_run(example())); }),
            (directory / "recorded" / "h200-580.159.04-cublas-13.1.0").string() +
                ": cannot create: Not a directory");
  EXPECT_EQ(text_in(directory / "recorded"), "a file");
  fs::remove(directory / "recorded");
}

TEST_F(stack_files, in_a_folder_that_is_read_only_are_read_and_stay_as_they_were) {
  const auto folder = file(of_run(example()));
  const auto before = files_of(folder);
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(load_record(folder).cases.size(), 2U);
  if (::access(folder.c_str(), W_OK) == 0) GTEST_SKIP() << "root may write to it all the same";
  EXPECT_TRUE(contains(failure([&] { file(later_run("memory.leak", "fault")); }), "stack.json.tmp-"));
  fs::permissions(folder, fs::perms::owner_all);
  EXPECT_EQ(files_of(folder), before);
}

TEST_F(stack_files, of_which_one_cannot_be_replaced_are_each_whole) {
  const auto folder = file(of_run(example()));
  const auto before = files_of(folder);
  record later = later_run("memory.leak", "fault");
  later.cases.push_back(later_run("another.case", "fault").cases[0]);
  // What is written beside the file has a name that is taken.
  fs::create_directory(folder / fmt::format("memory.jsonl.tmp-{}", ::getpid()));
  EXPECT_TRUE(contains(failure([&] { file(later); }), "cannot create: Is a directory"));
  fs::remove(folder / fmt::format("memory.jsonl.tmp-{}", ::getpid()));
  EXPECT_EQ(files_of(folder).at("memory.jsonl"), before.at("memory.jsonl"));
  const record again = load_record(folder);
  EXPECT_EQ(again.cases.at(0).name, "another.case");
  EXPECT_EQ(again.cases.size(), 3U);
}

TEST_F(stack_files, lose_the_arms_that_are_removed) {
  const auto folder = file(of_run(example()));
  const auto before = files_of(folder);
  const auto none = [](const std::string&, const std::string&) { return false; };
  EXPECT_EQ(remove_arms(folder, none), 0U);
  EXPECT_EQ(files_of(folder), before);
  EXPECT_EQ(
      remove_arms(folder, [](const std::string& of,
                             const std::string& name) { return of == "memory.leak" && name == "control"; }),
      1U);
  EXPECT_EQ(files_of(folder).at("memory.jsonl"), lines_of(before.at("memory.jsonl"))[1]);
  EXPECT_EQ(
      remove_arms(folder, [](const std::string& of, const std::string&) { return of == "sticky.trap"; }), 1U);
  EXPECT_FALSE(files_of(folder).contains("sticky.jsonl"));
  EXPECT_EQ(remove_arms(folder, [](const std::string&, const std::string&) { return true; }), 1U);
  EXPECT_TRUE(load_stack(folder).cases.empty()) << "stack.json stays";
}

TEST_F(stack_files, that_are_bad_are_named_by_line_and_not_written_over) {
  const auto folder = file(of_run(example()));
  const auto memory = folder / "memory.jsonl", stack = folder / "stack.json";
  const std::string good = text_in(memory), line = lines_of(good)[0], place = memory.string();
  const auto filing_refusal = [&](const fs::path& damaged, const std::string& text) {
    const auto before = text_in(damaged);
    write(fs::relative(damaged, directory).string(), text);
    const auto files = files_of(folder);
    auto why = refusal([&] { return file(of_run(example())); });
    EXPECT_EQ(files_of(folder), files);
    write(fs::relative(damaged, directory).string(), before);
    return why;
  };
  EXPECT_EQ(filing_refusal(memory, good + line),
            place + ":3: arm: memory.leak/control stands twice; leave one of them");
  EXPECT_TRUE(
      filing_refusal(memory, good + line.substr(0, line.size() - 3)).starts_with(place + ":3: syntax error"));
  EXPECT_TRUE(filing_refusal(memory, line.substr(0, 30) + "\n").starts_with(place + ":1: syntax error"));
  EXPECT_EQ(
      filing_refusal(stack, R"({"schema": 6, "stack": {}})"),
      stack.string() + ":1: schema: made by a newer cufault: schema 6, and this one reads 5; update cufault");
  EXPECT_EQ(
      filing_refusal(stack, R"({"schema": 2, "stack": {}})"),
      stack.string() + ":1: schema: made by an older cufault: schema 2, and this one reads 5; run it again");
  EXPECT_EQ(filing_refusal(stack, R"({"schema": 5, "stack": {}, "runs": [], "more": 1})"),
            stack.string() + ":1: more: unknown key");
  EXPECT_EQ(filing_refusal(stack, R"({"schema": 5, "stack": {}})"),
            stack.string() + ":1: top level: \"runs\" is missing");

  write(fs::relative(memory, directory).string(), good + line + line.substr(0, 40) + "\n");
  const std::string twice = place + ":3: arm: memory.leak/control stands twice; leave one of them";
  EXPECT_EQ(refusal([&] { return load_record(folder); }), twice);
  std::vector<std::string> bad;
  const record rest = load_stack(folder, [&](const std::string& what) { bad.push_back(what); });
  ASSERT_EQ(bad.size(), 2U);
  EXPECT_EQ(bad[0], twice);
  EXPECT_TRUE(bad[1].starts_with(place + ":4: syntax error")) << bad[1];
  EXPECT_EQ(rest.cases.size(), 2U) << "the others are read";
}

TEST_F(stack_files, need_a_stack_that_has_a_name) {
  record nameless = example();
  *nameless.stack = {{"keys", {{"driver", "580"}}}};
  EXPECT_EQ(refusal([&] { return file(of_run(nameless)); }),
            "the record does not say which cuBLAS it was made on");
  EXPECT_FALSE(fs::exists(directory / "recorded"));
}

}  // namespace
}  // namespace cufault
