// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/record.hpp"

#include "reports/base/files.hpp"
#include "reports/model/arm_line.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/model/tests/record_example.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
namespace fs = std::filesystem;

std::string record_refusal(std::string_view text) {
  return refusal([&] { return read(text); });
}

TEST(record, comes_back_from_its_text_with_every_field) {
  auto r = example();
  r.left_out = 3;
  const auto again = read(record_text(r));
  EXPECT_EQ(again.left_out, 3U);
  EXPECT_EQ(again.version, "0.1.0");
  EXPECT_EQ(again.commit, "abc");
  EXPECT_TRUE(again.dirty);
  EXPECT_EQ(again.argv, r.argv);
  EXPECT_EQ(again.started, r.started);
  EXPECT_EQ(again.ended, r.ended);
  EXPECT_EQ(again.mode, run_mode::gate);
  EXPECT_EQ(again.seed, r.seed);
  EXPECT_EQ(*again.stack, *r.stack);
  EXPECT_TRUE(again.complete);
  EXPECT_EQ(again.exit_code, 1);
  ASSERT_EQ(again.cases.size(), 2U);
  ASSERT_EQ(again.cases[0].arms.size(), 2U);
  const auto& a = again.cases[0].arms[0];
  const auto& b = r.cases[0].arms[0];
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.claims, b.claims);
  EXPECT_EQ(a.summary, b.summary);
  EXPECT_EQ(a.against, b.against);
  EXPECT_EQ(a.races, b.races);
  EXPECT_EQ(a.counterpart_of, b.counterpart_of);
  EXPECT_TRUE(a.made_up);
  EXPECT_FALSE(again.cases[0].arms[1].made_up);
  EXPECT_EQ(a.source, "x.jsonl:2");
  EXPECT_EQ(a.trials.at(1).level, 128);
  EXPECT_EQ(again.cases[0].arms[1].kind, arm_kind::control);
  EXPECT_EQ(again.cases[1].arms.at(0).trials.at(0).signal, 11);
  EXPECT_EQ(record_text(read(record_text(again))), record_text(again));
}

TEST(record, says_what_its_run_was_asked_for) {
  record r = example();
  EXPECT_TRUE(read(record_text(r)).asked.empty());
  r.asked = {{.tier = "quick", .cases = {"memory"}, .part = {2, 3}}};
  EXPECT_EQ(read(record_text(r)).asked, r.asked);
  record later = r;
  later.started = "2026-12-21T07:27:40Z";
  later.asked = {{.tier = "full"}};
  const auto merged = merged_by_stack({r, later});
  ASSERT_EQ(merged.size(), 1U);
  EXPECT_EQ(merged[0].asked.size(), 2U);
}

TEST(record, is_a_line_a_header_an_arm_and_the_end) {
  const auto lines = lines_of(record_text(example()));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_TRUE(lines[0].starts_with(R"({"schema":5,)"));
  EXPECT_TRUE(lines[1].starts_with(R"({"case":"memory.leak","arm":"fault",)"));
  EXPECT_TRUE(lines[2].starts_with(R"({"case":"memory.leak","arm":"control",)"));
  EXPECT_TRUE(lines[3].starts_with(R"({"case":"sticky.trap","arm":"fault",)"));
  EXPECT_TRUE(lines[4].starts_with(R"({"ended":)"));
}

TEST(record, holds_no_verdict) {
  auto r = example();
  const auto before = record_text(r);
  auto& a = r.cases[0].arms[0];
  a.judged = verdict::worsened;
  a.why = "expected this; seen that";
  a.expectation = "memory.jsonl:4";
  a.covered = true;
  EXPECT_EQ(record_text(r), before);
}

TEST(record, tells_of_each_arm_which_run_made_its_trials) {
  const auto again = read(record_text(example()));
  EXPECT_EQ(again.cases[0].arms[0].runs,
            (std::vector<run_of_trials>{{.commit = "abc",
                                         .dirty = true,
                                         .started = "2026-11-21T07:27:40Z",
                                         .seed = std::numeric_limits<std::uint64_t>::max(),
                                         .version = "0.1.0",
                                         .driver = "580.159.04",
                                         .trials = 2}}));
}

TEST(record, that_was_never_filled_comes_back_too) {
  record never;
  never.started = never.ended = "2026-11-21T07:27:40Z";
  const auto again = read(record_text(never));
  EXPECT_EQ(record_text(again), record_text(never));
  EXPECT_TRUE(again.cases.empty());
  EXPECT_EQ(again.exit_code, 2);
}

TEST(record, with_bytes_that_are_no_utf8_is_still_written) {
  auto r = example();
  r.cases[0].arms[0].trials[0].stderr_text = "bad \xff\x01 byte";
  r.cases[0].arms[0].trials[0].library_log = {"\xc3"};
  const auto again = read(record_text(r));
  EXPECT_EQ(again.cases[0].arms[0].trials[0].stderr_text, "bad \xef\xbf\xbd\x01 byte");
  EXPECT_EQ(again.cases[0].arms[0].trials[0].library_log[0], "\xef\xbf\xbd");
}

TEST(record, knows_the_keys_and_the_name_of_its_stack) {
  EXPECT_EQ(keys_of(example()), (stack_keys{{"cublas", "13.1.0"}, {"driver", "580.159.04"}}));
  EXPECT_EQ(stack_label(example()), "cuBLAS 13.1.0, NVIDIA H200, driver 580.159.04");
  auto bare = example();
  *bare.stack = {{"gpu", nullptr}, {"keys", {{"driver", "580"}}}};
  EXPECT_EQ(stack_label(bare), "driver 580");
  EXPECT_EQ(stack_label(record{}), "unknown stack");
}

TEST(record, names_the_libraries_for_a_command_that_repeats_it) {
  record run = example();
  run.argv = {"cufault", "run", "road.create"};
  EXPECT_EQ(library_options(run), "");
  run.argv = {"cufault", "run",        "--cublas", "/opt/my cublas", "--cublaslt=/opt/lt", "--cublas-not",
              "x",       "--cusolver", "/s"};
  EXPECT_EQ(library_options(run), " --cublas '/opt/my cublas' --cublaslt /opt/lt --cusolver /s");
  run.argv = {"cufault", "run", "--cublas", "it's"};
  EXPECT_EQ(library_options(run), " --cublas 'it'\\''s'");
  record kept = example();
  kept.argv.clear();
  (*kept.stack)["cublas"] = {{"path", "/usr/local/cuda-13.0/lib64/libcublas.so.13"}};
  EXPECT_EQ(library_options(kept), "");
  (*kept.stack)["cublas"]["path"] = "/opt/cublas-12.8.4/libcublas.so.12";
  EXPECT_EQ(library_options(kept), " --cublas 'FOLDER OF cuBLAS 13.1.0'");
  (*kept.stack)["cublas"]["path"] = nullptr;
  EXPECT_EQ(library_options(kept), "");
  EXPECT_EQ(library_options(record{}), "");
  EXPECT_TRUE(keys_of(record{}).empty());
}

TEST(record, has_a_folder_for_its_stack) {
  auto stack = *example().stack;
  EXPECT_EQ(stack_folder_name(stack), "h200-580.159.04-cublas-13.1.0");
  stack["keys"]["other_cublas"] = "none";
  EXPECT_EQ(stack_folder_name(stack), "h200-580.159.04-cublas-13.1.0");
  stack["keys"]["other_cublas"] = "12.4.5";
  EXPECT_EQ(stack_folder_name(stack), "h200-580.159.04-cublas-13.1.0-other-12.4.5");
  stack["gpu"]["name"] = "Tesla T4/x y";
  EXPECT_EQ(stack_folder_name(stack), "tesla-t4-x-y-580.159.04-cublas-13.1.0-other-12.4.5");
  stack["keys"]["pytorch"] = "2.11.0";
  stack["keys"]["cupy"] = "14.2.0";
  EXPECT_EQ(stack_folder_name(stack),
            "tesla-t4-x-y-580.159.04-cublas-13.1.0-other-12.4.5-pytorch-2.11.0-cupy-14.2.0");
  EXPECT_EQ(refusal([] {
              return stack_folder_name({{"keys", {{"driver", "580"}}}});
            }),
            "the record does not say which cuBLAS it was made on");
  EXPECT_NE(refusal([] {
              return stack_folder_name({{"gpu", {{"name", ".."}}}, {"keys", {{"cublas", "1"}}}});
            }),
            "(nothing was refused)");
}

TEST(record, of_another_schema_gets_one_clear_line) {
  constexpr auto older = "made by an older cufault: schema 1, and this one reads 5; run it again";
  EXPECT_EQ(record_refusal("{\n \"argv\": [],\n \"schema\": 1\n}\n"),
            std::string("x.jsonl:1: schema: ") + older);
  EXPECT_EQ(record_refusal("{\"schema\": 1, \"version\": \"0.1.0\"}\n{\"case\": \"c\", \"arm\": {}}\n"),
            std::string("x.jsonl:1: schema: ") + older);
  EXPECT_EQ(record_refusal("{\"schema\": 4, \"version\": \"0.1.0\"}\n"),
            "x.jsonl:1: schema: made by an older cufault: schema 4, and this one reads 5; run it again");
  EXPECT_EQ(record_refusal("{\"schema\": 6, \"new\": 1}\n"),
            "x.jsonl:1: schema: made by a newer cufault: schema 6, and this one reads 5; update cufault");
  EXPECT_EQ(record_refusal("{\"line\": \"sweep\", \"schema\": 1}\n"),
            "x.jsonl:1: top level: the record of a sweep of a command: cufault sweep --resume FILE -- "
            "COMMAND goes on "
            "with it, and "
            "prints it");
  EXPECT_EQ(record_refusal("{\"version\": \"1\"}\n"),
            "x.jsonl:1: top level: \"schema\" is missing: the first line of a record has it");
  EXPECT_EQ(record_refusal("{\"schema\": \"2\"}\n"),
            "x.jsonl:1: schema: expected an integer, found a string");
  EXPECT_EQ(record_refusal(""), "x.jsonl:1: an empty record");
}

TEST(record, that_is_malformed_is_refused_by_line_and_field) {
  const auto with = [](std::size_t line, const char* pointer, const nlohmann::json& value) {
    auto lines = lines_of(record_text(example()));
    auto j = nlohmann::ordered_json::parse(lines.at(line - 1));
    j[nlohmann::ordered_json::json_pointer(pointer)] = value;
    lines[line - 1] = j.dump() + "\n";
    std::string text;
    for (const auto& l : lines) text += l;
    return record_refusal(text);
  };
  EXPECT_EQ(with(1, "/speed", 1), "x.jsonl:1: speed: unknown key");
  EXPECT_EQ(with(1, "/seed", -1), "x.jsonl:1: seed: expected no negative number, found -1");
  EXPECT_EQ(with(1, "/seed", 0.5), "x.jsonl:1: seed: expected an integer, found 0.5");
  EXPECT_EQ(with(1, "/mode", "bless"), "x.jsonl:1: mode: expected one of observe, gate");
  EXPECT_EQ(with(1, "/stack", 3), "x.jsonl:1: stack: expected an object, found a number");
  EXPECT_EQ(with(1, "/stack/keys/cublas", 13),
            "x.jsonl:1: stack.keys.cublas: expected a string, found a number");
  const std::string imported = "x.jsonl:1: stack.python.frameworks.pytorch";
  for (const auto& wrong : {nlohmann::json(), nlohmann::json("x"), nlohmann::json::array()})
    EXPECT_THAT(with(1, "/stack/python/frameworks/pytorch", wrong),
                testing::StartsWith(imported + ": expected"));
  EXPECT_EQ(with(1, "/stack/python/frameworks/pytorch/version", 5),
            imported + ".version: expected a string, found a number");
  EXPECT_EQ(with(1, "/stack/python/frameworks/pytorch/unmet", "x"),
            imported + ".unmet: expected an array, found a string");
  EXPECT_EQ(with(1, "/stack/python/frameworks/pytorch/libraries", {{"libcublas.so.13", {{"path", "/x"}}}}),
            imported + ".libraries[\"libcublas.so.13\"]: \"build_id\" is missing");
  EXPECT_EQ(with(1, "/argv/1", nullptr), "x.jsonl:1: argv[1]: expected a string, found null");
  EXPECT_EQ(with(2, "/speed", 1), "x.jsonl:2: speed: unknown key");
  EXPECT_EQ(with(2, "/verdict", "OK"), "x.jsonl:2: verdict: unknown key");
  EXPECT_EQ(with(2, "/kind", "cure"),
            "x.jsonl:2: kind: expected one of control, fault, remedy, dead_end, diagnosis");
  EXPECT_EQ(with(2, "/case", "../etc"), "x.jsonl:2: case: a name is of letters, digits, '.', '_' and '-'");
  EXPECT_EQ(with(2, "/case", "a+b"), "x.jsonl:2: case: a name is of letters, digits, '.', '_' and '-'");
  EXPECT_EQ(with(2, "/arm", ""), "x.jsonl:2: arm: a name is of letters, digits, '.', '_', '-' and '+'");
  EXPECT_EQ(with(2, "/trials/1/level", "64"),
            "x.jsonl:2: trials[1].level: expected an integer, found a string");
  EXPECT_EQ(with(2, "/trials/1/note", 1), "x.jsonl:2: trials[1].note: unknown key");
  EXPECT_EQ(with(2, "/run", 0), "x.jsonl:2: run: unknown key") << "the header says which run it was";
  EXPECT_EQ(with(4, "/trials/0/calls/0/api", "product"),
            "x.jsonl:4: trials[0].calls[0].api: \"product\" is no function of the CUDA headers or of a "
            "framework, and no check of "
            "cufault's own; reports/model/api_functions.hpp lists them");
  EXPECT_EQ(with(4, "/trials/0/calls/0/facts", {{"colour", 1}}),
            "x.jsonl:4: trials[0].calls[0].facts.colour: no fact is called colour; reports/model/facts.cpp "
            "lists them");
  const std::string no_time = "expected a UTC time such as 2026-11-21T07:27:40Z";
  for (const char* text :
       {"", "now", "2026-11-21", "2026-11-21T07:27:40", "2026-11-21 07:27:40Z", "2026-13-21T07:27:40Z",
        "2026-02-30T07:27:40Z", "2026-11-00T07:27:40Z", "2026-11-21T24:27:40Z", "2026-11-21T07:60:40Z",
        "2026-11-21T07:27:61Z", "2026-11-2xT07:27:40Z"})
    EXPECT_EQ(with(1, "/started", text), "x.jsonl:1: started: " + no_time) << text;
  EXPECT_EQ(with(5, "/ended", "now"), "x.jsonl:5: ended: " + no_time);
  EXPECT_EQ(with(2, "/trials/1/ms", -5), "x.jsonl:2: trials[1].ms: a time must be 0 or more, found -5");
  EXPECT_EQ(with(2, "/trials/0/calls/0/ms", -0.5),
            "x.jsonl:2: trials[0].calls[0].ms: a time must be 0 or more, found -0.5");
  EXPECT_EQ(with(5, "/exit_code", 256), "x.jsonl:5: exit_code: an exit code is from 0 to 255");
  EXPECT_EQ(with(5, "/note", 1), "x.jsonl:5: note: unknown key");
}

TEST(record, with_an_arm_twice_is_refused) {
  const auto lines = lines_of(record_text(example()));
  EXPECT_EQ(record_refusal(lines[0] + lines[1] + lines[2] + lines[1]),
            "x.jsonl:4: arm: memory.leak/fault stands twice; leave one of them");
}

TEST(record, with_a_line_behind_the_last_is_refused) {
  const auto text = record_text(example());
  const auto lines = lines_of(text);
  EXPECT_EQ(record_refusal(text + lines[4]), "x.jsonl:6: top level: a line behind the last one");
  EXPECT_EQ(record_refusal(lines[0] + lines[4] + lines[1]),
            "x.jsonl:3: top level: a line behind the last one");
}

using record_files = in_directory;

TEST_F(record_files, are_replaced_as_a_whole) {
  const auto file = write("a.json", "old");
  write_whole(file, "new\n");
  EXPECT_EQ(text_in(file), "new\n");
  EXPECT_EQ(files_in(directory), 1U);
}

TEST_F(record_files, that_cannot_be_written_are_named_and_leave_nothing_behind) {
  fs::create_directory(directory / "taken");
  const auto said = [](const fs::path& file) { return failure([&] { write_whole(file, "text"); }); };
  EXPECT_EQ(said(directory / "taken"), (directory / "taken").string() + ": cannot replace: Is a directory");
  EXPECT_TRUE(contains(said(directory / "none" / "a.json"), "cannot create: No such file or directory"));
  EXPECT_EQ(files_in(directory), 1U);
}

TEST_F(record_files, grow_line_by_line) {
  const auto r = example();
  record_writer writer{directory / "new", "run", r};
  EXPECT_EQ(writer.file(), directory / "new" / "run.jsonl");
  std::size_t lines = 1;
  EXPECT_EQ(lines_of(text_in(writer.file())).size(), lines);
  for (const auto& c : r.cases)
    for (const auto& a : c.arms) {
      writer.add(dump_json(arm_json(c.name, a)));
      EXPECT_EQ(lines_of(text_in(writer.file())).size(), ++lines);
      EXPECT_FALSE(load_record(writer.file()).complete);
    }
  const auto file = writer.finish(r);
  EXPECT_EQ(file, directory / "new" / "run.jsonl");
  EXPECT_EQ(text_in(file), record_text(r));
  EXPECT_TRUE(load_record(file).complete);
  EXPECT_EQ(files_in(directory / "new"), 1U);
}

TEST_F(record_files, never_take_a_name_that_is_in_use) {
  write("run.jsonl", "precious");
  write("run-2.jsonl", "precious");
  record_writer third{directory, "run", example()};
  record_writer fourth{directory, "run", example()};
  EXPECT_EQ(third.file(), directory / "run-3.jsonl");
  EXPECT_EQ(fourth.finish(example()), directory / "run-4.jsonl");
  EXPECT_EQ(text_in(directory / "run.jsonl"), "precious");
  EXPECT_EQ(text_in(directory / "run-2.jsonl"), "precious");
}

TEST_F(record_files, in_a_place_that_cannot_be_written_are_refused_by_name) {
  const auto file = write("plain", "");
  EXPECT_EQ(failure([&] {
              const record_writer writer{file / "records", "run", example()};
            }),
            (file / "records").string() + ": cannot create: Not a directory");
}

TEST_F(record_files, are_found_in_folders_with_the_stacks) {
  const auto run = write("run.jsonl", "");
  write("notes.txt", "");
  fs::create_directories(directory / "stack");
  write("stack/stack.json", "");
  write("stack/memory.jsonl", "");
  EXPECT_EQ(records_in({directory}), (std::vector<fs::path>{run, directory / "stack"}));
  EXPECT_EQ(records_in({directory / "stack"}), (std::vector<fs::path>{directory / "stack"}));
  EXPECT_EQ(records_in({directory / "none.jsonl"}), (std::vector<fs::path>{directory / "none.jsonl"}));
}

TEST_F(record_files, in_a_folder_that_cannot_be_read_are_refused_in_one_line) {
  const fs::path loop = directory / "loop";  // refused for root, too
  fs::create_directory_symlink(loop, loop);
  const std::string line = loop.string() + ": cannot be read: Too many levels of symbolic links";
  EXPECT_EQ(refusal([&] { static_cast<void>(records_in({directory, loop})); }), line);
  std::vector<std::string> why;
  each_record(
      {loop}, [](const fs::path&, const record&) {}, [&](const std::string& text) { why.push_back(text); });
  EXPECT_EQ(why, std::vector{line});
}

TEST_F(record_files, are_taken_in_order_and_all_but_the_bad_ones) {
  const auto good = record_text(example());
  const auto first = write("1.jsonl", good), bad = write("2.jsonl", "no JSON\n"),
             refused = write("3.jsonl", good), last = write("4.jsonl", good);
  std::vector<fs::path> taken;
  std::vector<std::string> why;
  each_record(
      {first, bad, directory / "none.jsonl", refused, last},
      [&](const fs::path& file, const record& r) {
        if (file == refused) throw input_error("refused");
        EXPECT_EQ(r.cases.size(), example().cases.size());
        taken.push_back(file);
      },
      [&](const std::string& line) { why.push_back(line); });
  EXPECT_EQ(taken, (std::vector<fs::path>{first, last}));
  ASSERT_EQ(why.size(), 3U);
  EXPECT_TRUE(why[0].starts_with(bad.string() + ":1: ")) << why[0];
  EXPECT_TRUE(why[1].starts_with((directory / "none.jsonl").string() + ": cannot be read: ")) << why[1];
  EXPECT_EQ(why[2], "refused");
  EXPECT_THROW(each_record(
                   {first, last}, [](const fs::path&, const record&) { throw std::runtime_error("full"); },
                   [](const std::string&) {}),
               std::runtime_error);
}

TEST_F(record_files, are_loaded_in_order_or_the_first_bad_one_is_named) {
  std::vector<fs::path> files;
  for (int n = 0; n < 20; ++n) {
    record r = example();
    r.started = fmt::format("2026-11-20T00:00:{:02}Z", n);
    files.push_back(write(fmt::format("{:02}.jsonl", n), record_text(r)));
  }
  const std::vector<record> all = load_records({directory});
  ASSERT_EQ(all.size(), files.size());
  for (std::size_t n = 0; n < all.size(); ++n)
    EXPECT_EQ(all[n].started, fmt::format("2026-11-20T00:00:{:02}Z", n));
  for (const char* name : {"07.jsonl", "11.jsonl"}) write(name, "no JSON\n");
  EXPECT_TRUE(
      refusal([&] { static_cast<void>(load_records({directory})); }).starts_with(files[7].string() + ":1: "));
}

class killed_run : public in_directory {
 protected:
  /// The record of a run that ended without finish().
  fs::path unfinished() const {
    const auto r = example();
    record_writer writer{directory, "run", r};
    for (const auto& c : r.cases)
      for (const auto& a : c.arms) writer.add(dump_json(arm_json(c.name, a)));
    return writer.file();
  }
};

TEST_F(killed_run, leaves_all_that_it_recorded) {
  const auto r = load_record(unfinished());
  EXPECT_FALSE(r.complete);
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(r.ended, "");
  EXPECT_EQ(r.seed, example().seed);
  EXPECT_EQ(*r.stack, *example().stack);
  EXPECT_EQ(r.mode, run_mode::gate);
  ASSERT_EQ(r.cases.size(), 2U);
  ASSERT_EQ(r.cases[0].arms.size(), 2U);
  EXPECT_EQ(r.cases[1].arms[0].trials[0].signal, 11);
}

TEST_F(killed_run, is_read_up_to_a_last_line_that_was_cut_off_anywhere) {
  const auto whole = text_in(unfinished());
  const auto last = whole.rfind('\n', whole.size() - 2) + 1;
  for (const auto length : {last, last + 1, last + 20, whole.size() - 2}) {
    const auto r = load_record(write("cut.jsonl", whole.substr(0, length)));
    EXPECT_EQ(r.cases.size(), 1U) << length;
    EXPECT_FALSE(r.complete);
  }
  EXPECT_EQ(load_record(write("cut.jsonl", whole.substr(0, whole.size() - 1))).cases.size(), 2U);
}

TEST_F(killed_run, in_its_last_line_is_not_complete) {
  const auto whole = record_text(example());
  const auto last = whole.rfind('\n', whole.size() - 2) + 1;
  for (const auto length : {last, last + 1, last + 12, whole.size() - 2})
    EXPECT_FALSE(read(whole.substr(0, length)).complete) << length;
  EXPECT_TRUE(read(whole.substr(0, whole.size() - 1)).complete);
}

TEST_F(killed_run, that_is_damaged_anywhere_else_is_refused_by_line) {
  const auto whole = text_in(unfinished());
  const auto header_end = whole.find('\n');
  const auto second_end = whole.find('\n', header_end + 1);
  auto damaged = whole;
  damaged[second_end - 1] = ' ';
  const auto file = directory / "bad.jsonl";
  const auto file_refusal = [&](const std::string& text) {
    write("bad.jsonl", text);
    return refusal([&] { return load_record(file); });
  };
  EXPECT_TRUE(file_refusal(damaged).starts_with(file.string() + ":2: syntax error")) << file_refusal(damaged);
  EXPECT_TRUE(file_refusal(whole.substr(0, header_end - 1)).starts_with(file.string() + ":1: syntax error"));
  EXPECT_EQ(file_refusal(whole + "{\"case\": \"x\"}\n"), file.string() + ":5: top level: \"arm\" is missing");
  EXPECT_EQ(file_refusal(whole + "{\"case\": \"x\", \"arm\": \"y\", \"kind\": \"fault\", \"extra\": 1}\n"),
            file.string() + ":5: extra: unknown key");
  EXPECT_TRUE(file_refusal(whole + "\n").starts_with(file.string() + ":5: "));
}

TEST(records, of_a_stack_are_merged_arm_by_arm) {
  auto earlier = example(), later = example();
  earlier.cases[0].arms[0].races.clear();
  later.cases[0].arms[0].races.clear();
  later.cases[0].arms[0].trials = {trial({internal})};
  later.cases[0].arms.pop_back();
  auto other = example(), spoilt = later;
  (*other.stack)["keys"]["cublas"] = "12.0.1";
  spoilt.cases[0].arms[0].trials = {not_provoked("no GPU")};
  const auto merged = merged_by_stack({of_run(later, "2026-11-22T00:00:00Z"), of_run(earlier), of_run(other),
                                       of_run(spoilt, "2026-11-23T00:00:00Z")});
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_EQ(stack_label(merged[1]), "cuBLAS 12.0.1, NVIDIA H200, driver 580.159.04");
  ASSERT_EQ(merged[0].cases.at(0).arms.size(), 2U);
  EXPECT_EQ(merged[0].cases[0].arms[0].trials.size(), 1U) << "the later one counts";
  EXPECT_EQ(merged[0].cases[0].arms[0].trials[0].ended, outcome::completed) << "the last observed nothing";
  earlier.cases[0].arms[0].races = later.cases[0].arms[0].races = "chance";
  const auto races = merged_by_stack({of_run(later, "2026-11-22T00:00:00Z"), of_run(earlier)});
  EXPECT_EQ(races[0].cases[0].arms[0].trials.size(), 3U) << "of a race, all trials count";
  EXPECT_EQ(races[0].cases[0].arms[0].runs.size(), 2U);
}

}  // namespace
}  // namespace cufault
