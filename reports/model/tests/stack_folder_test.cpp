// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/stack_folder.hpp"

#include "reports/base/files.hpp"
#include "reports/model/record.hpp"
#include "reports/model/tests/stack_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/file.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
namespace fs = std::filesystem;

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
  const auto cost = write("cost.jsonl", "{\"cost_schema\":2}\n");
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
