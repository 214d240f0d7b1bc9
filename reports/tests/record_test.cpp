// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/record.hpp"

#include "reports/claims.hpp"
#include "reports/expectation.hpp"
#include "reports/failures.hpp"
#include "reports/tests/examples.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>

namespace cufault {
namespace {

using namespace examples;

record example() {
  record r;
  r.version = "0.1.0";
  r.commit = "abc";
  r.dirty = true;
  r.argv = {"cufault", "run", "--gate"};
  r.started = "2026-11-21T07:27:40Z";
  r.ended = "2026-11-21T07:28:40Z";
  r.mode = run_mode::gate;
  r.seed = std::numeric_limits<std::uint64_t>::max();
  r.stack = {{"keys", {{"cublas", "13.1.0"}, {"driver", "580.159.04"}}}, {"gpu", {{"name", "NVIDIA H200"}}}};
  auto first =
      arm(arm_kind::fault, {at_rung(64, trial({no_memory})), at_rung(128, trial({success}))}, "fault");
  first.claims = {"S0-5"};
  first.failures = {"F-MEM-01"};
  first.summary = "squeeze, then create";
  first.judged = verdict::worsened;
  first.why = "expected this; seen that";
  first.expectation = "memory.leak.json:4";
  first.covered = true;
  first.twin_of = "another";
  r.cases = {{.name = "memory.leak",
              .summary = "handles leak",
              .arms = {first, arm(arm_kind::control, {}, "control")}},
             {.name = "memory.other", .summary = "", .arms = {}}};
  r.complete = true;
  r.exit_code = 1;
  return r;
}

std::string text_of(const record& r) {
  return dump_json(to_json(r));
}

std::string read(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::size_t files_in(const std::filesystem::path& directory) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{directory}, {}));
}

TEST(record, comes_back_from_json_with_every_field) {
  const auto r = example();
  const auto again = record_from(cursor(text_of(r)));
  EXPECT_EQ(text_of(again), text_of(r));
  EXPECT_EQ(again.version, "0.1.0");
  EXPECT_EQ(again.commit, "abc");
  EXPECT_TRUE(again.dirty);
  EXPECT_EQ(again.argv, r.argv);
  EXPECT_EQ(again.started, r.started);
  EXPECT_EQ(again.ended, r.ended);
  EXPECT_EQ(again.mode, run_mode::gate);
  EXPECT_EQ(again.seed, r.seed);
  EXPECT_EQ(again.stack, r.stack);
  EXPECT_TRUE(again.complete);
  EXPECT_EQ(again.exit_code, 1);
  ASSERT_EQ(again.cases.size(), 2U);
  EXPECT_EQ(again.cases[0].summary, "handles leak");
  const auto& a = again.cases[0].arms.at(0);
  const auto& b = r.cases[0].arms.at(0);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.claims, b.claims);
  EXPECT_EQ(a.failures, b.failures);
  EXPECT_EQ(a.summary, b.summary);
  EXPECT_EQ(a.judged, b.judged);
  EXPECT_EQ(a.why, b.why);
  EXPECT_EQ(a.expectation, b.expectation);
  EXPECT_EQ(a.covered, b.covered);
  EXPECT_EQ(a.twin_of, b.twin_of);
  EXPECT_EQ(a.trials.at(1).rung, 128);
}

TEST(record, that_was_never_filled_comes_back_too) {
  EXPECT_EQ(text_of(record_from(cursor(text_of(record{})))), text_of(record{}));
}

TEST(record, with_bytes_that_are_no_utf8_is_still_written) {
  auto r = example();
  r.cases[0].arms[0].trials[0].stderr_text = "bad \xff\x01 byte";
  r.cases[0].arms[0].trials[0].library_log = {"\xc3"};
  const auto again = record_from(cursor(text_of(r)));
  EXPECT_EQ(again.cases[0].arms[0].trials[0].stderr_text, "bad \xef\xbf\xbd\x01 byte");
  EXPECT_EQ(again.cases[0].arms[0].trials[0].library_log[0], "\xef\xbf\xbd");
}

TEST(record, knows_the_keys_and_the_name_of_its_stack) {
  EXPECT_EQ(keys_of(example()), (stack_keys{{"cublas", "13.1.0"}, {"driver", "580.159.04"}}));
  EXPECT_EQ(stack_label(example()), "cuBLAS 13.1.0, NVIDIA H200, driver 580.159.04");
  auto bare = example();
  bare.stack = {{"gpu", nullptr}, {"keys", {{"driver", "580"}}}};
  EXPECT_EQ(stack_label(bare), "driver 580");
  EXPECT_EQ(stack_label(record{}), "unknown stack");
  EXPECT_TRUE(keys_of(record{}).empty());
}

std::string told(const nlohmann::json& j) {
  const auto text = j.dump();
  return refusal([&] { return record_from(cursor(text)); });
}

TEST(record, of_another_version_is_refused_before_anything_else) {
  auto j = to_json(example());
  j["schema"] = 2;
  j["new"] = 1;
  EXPECT_EQ(told(j), "x.json:1: schema: records of version 2, but this build reads version 1 only");
  j.erase("schema");
  EXPECT_EQ(told(j), "x.json:1: top level: \"schema\" is missing");
}

TEST(record, that_is_malformed_is_refused_by_field) {
  const auto with = [](const char* pointer, nlohmann::json value) {
    auto j = to_json(example());
    j[nlohmann::json::json_pointer(pointer)] = std::move(value);
    return told(j);
  };
  EXPECT_EQ(with("/speed", 1), "x.json:1: speed: unknown key");
  EXPECT_EQ(with("/seed", -1), "x.json:1: seed: expected no negative number, found -1");
  EXPECT_EQ(with("/seed", 0.5), "x.json:1: seed: expected an integer, found 0.5");
  EXPECT_EQ(with("/mode", "bless"), "x.json:1: mode: expected one of observe, gate");
  EXPECT_EQ(with("/exit_code", 256), "x.json:1: exit_code: an exit code is from 0 to 255");
  EXPECT_EQ(with("/stack", 3), "x.json:1: stack: expected an object, found a number");
  EXPECT_EQ(with("/stack/keys/cublas", 13), "x.json:1: stack.keys.cublas: expected a string, found a number");
  EXPECT_EQ(with("/argv/1", nullptr), "x.json:1: argv[1]: expected a string, found null");
  EXPECT_EQ(with("/cases/0/arm", 1), "x.json:1: cases[0].arm: unknown key");
  EXPECT_EQ(with("/cases/0/arms/0/verdict", "FINE"),
            "x.json:1: cases[0].arms[0].verdict: no verdict of this name");
  EXPECT_EQ(with("/cases/0/arms/0/kind", "cure"),
            "x.json:1: cases[0].arms[0].kind: expected one of control, fault, remedy, dead_end");
  EXPECT_EQ(with("/cases/0/arms/0/trials/1/rung", "64"),
            "x.json:1: cases[0].arms[0].trials[1].rung: expected an integer, found a string");
  EXPECT_EQ(with("/cases/0/arms/0/trials/1/note", 1),
            "x.json:1: cases[0].arms[0].trials[1].note: unknown key");
}

using record_files = in_directory;

TEST_F(record_files, are_replaced_as_a_whole) {
  const auto file = write("a.json", "old");
  write_whole(file, "new\n");
  EXPECT_EQ(read(file), "new\n");
  EXPECT_EQ(files_in(directory), 1U);
}

TEST_F(record_files, that_cannot_be_written_are_named_and_leave_nothing_behind) {
  std::filesystem::create_directory(directory / "taken");
  const auto said = [](const std::filesystem::path& file) -> std::string {
    try {
      write_whole(file, "text");
    } catch (const std::system_error& e) {
      return e.what();
    }
    return "(written)";
  };
  EXPECT_EQ(said(directory / "taken"), (directory / "taken").string() + ": cannot replace: Is a directory");
  EXPECT_NE(said(directory / "none" / "a.json").find("cannot create: No such file or directory"),
            std::string::npos);
  EXPECT_EQ(files_in(directory), 1U);
}

TEST_F(record_files, grow_as_a_journal_and_end_as_a_record) {
  auto r = example();
  record_writer writer{directory / "new", "run", r};
  for (const auto& c : r.cases)
    for (const auto& a : c.arms) writer.add(c.name, c.summary, a);
  EXPECT_EQ(writer.journal(), directory / "new" / "run.journal");
  EXPECT_TRUE(std::filesystem::exists(writer.journal()));

  const auto file = writer.finish(r);
  EXPECT_EQ(file, directory / "new" / "run.json");
  EXPECT_EQ(text_of(load_record(file)), text_of(r));
  EXPECT_EQ(files_in(directory / "new"), 1U);
}

TEST_F(record_files, never_take_a_name_that_is_in_use) {
  write("run.json", "precious");
  write("run-2.journal", "precious");
  record_writer third{directory, "run", example()};
  record_writer fourth{directory, "run", example()};
  EXPECT_EQ(third.journal(), directory / "run-3.journal");
  EXPECT_EQ(fourth.finish(example()), directory / "run-4.json");
  EXPECT_EQ(read(directory / "run.json"), "precious");
  EXPECT_EQ(read(directory / "run-2.journal"), "precious");
  EXPECT_FALSE(std::filesystem::exists(directory / "run.journal"));
}

TEST_F(record_files, in_a_place_that_cannot_be_written_are_refused_by_name) {
  const auto file = write("plain", "");
  std::string said;
  try {
    const record_writer writer{file / "records", "run", example()};
  } catch (const std::system_error& e) {
    said = e.what();
  }
  EXPECT_EQ(said, (file / "records").string() + ": cannot create: Not a directory");
}

class journal : public in_directory {
 protected:
  /// The journal of a run that ended without finish().
  std::filesystem::path unfinished() const {
    auto r = example();
    record_writer writer{directory, "run", r};
    auto raw = r.cases[0].arms[0];
    raw.judged = verdict::unresolved;
    writer.add("memory.leak", "handles leak", raw);
    writer.add("memory.leak", "handles leak", r.cases[0].arms[1]);
    writer.add("memory.leak", "handles leak", r.cases[0].arms[0]);
    writer.add("memory.other", "", arm(arm_kind::fault, {crash({success})}, "fault"));
    return writer.journal();
  }
};

TEST_F(journal, outlasts_a_run_that_was_killed) {
  const auto r = load_record(unfinished());
  EXPECT_FALSE(r.complete);
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(r.ended, "");
  EXPECT_EQ(r.seed, example().seed);
  EXPECT_EQ(r.stack, example().stack);
  EXPECT_EQ(r.mode, run_mode::gate);
  ASSERT_EQ(r.cases.size(), 2U);
  ASSERT_EQ(r.cases[0].arms.size(), 2U);
  EXPECT_EQ(r.cases[0].summary, "handles leak");
  EXPECT_EQ(r.cases[0].arms[0].judged, verdict::worsened);  // the line that came last
  EXPECT_EQ(r.cases[1].arms[0].trials[0].signal, 11);
}

TEST_F(journal, is_read_up_to_a_last_line_that_was_cut_off_anywhere) {
  const auto whole = read(unfinished());
  const auto last = whole.rfind('\n', whole.size() - 2) + 1;
  for (const auto length : {last, last + 1, last + 20, whole.size() - 2}) {
    const auto r = load_record(write("cut.journal", whole.substr(0, length)));
    EXPECT_EQ(r.cases.size(), 1U) << length;
  }
  EXPECT_EQ(load_record(write("cut.journal", whole.substr(0, whole.size() - 1))).cases.size(), 2U);
}

TEST_F(journal, that_is_damaged_anywhere_else_is_refused_by_line) {
  auto whole = read(unfinished());
  const auto header_end = whole.find('\n');
  const auto second_end = whole.find('\n', header_end + 1);
  auto damaged = whole;
  damaged[second_end - 1] = ' ';
  const auto file = directory / "bad.journal";
  const auto said = [&](const std::string& text) {
    write("bad.journal", text);
    return refusal([&] { return load_record(file); });
  };
  EXPECT_TRUE(said(damaged).starts_with(file.string() + ":2: syntax error")) << said(damaged);
  EXPECT_TRUE(said(whole.substr(0, header_end - 1)).starts_with(file.string() + ":1: syntax error"));
  EXPECT_EQ(said(""), file.string() + ":1: an empty journal");
  EXPECT_EQ(said(whole + "{\"case\": \"x\"}\n"), file.string() + ":6: top level: \"arm\" is missing");
  EXPECT_EQ(said(whole + "{\"case\": \"x\", \"extra\": 1}\n"), file.string() + ":6: extra: unknown key");
  EXPECT_EQ(said("{\"schema\": 3}\n"),
            file.string() + ":1: schema: records of version 3, but this build reads version 1 only");
}

// A seed that no reader takes would leave the fuzzer at the door.
TEST(fuzz_seeds, are_what_the_readers_accept) {
  const std::filesystem::path corpus{CUFAULT_CORPUS};
  EXPECT_EQ(load_record(corpus / "record.json").cases.at(0).arms.at(0).trials.size(), 1U);
  EXPECT_EQ(load_record(corpus / "run.journal").cases.at(0).arms.size(), 1U);
  EXPECT_EQ(expectations_from(json_cursor{read_json(corpus / "expectations.json")}, "memory.leak").size(),
            1U);
  EXPECT_EQ(claims_from(json_cursor{read_json(corpus / "claims.json")}).size(), 2U);
  EXPECT_EQ(failures_from(json_cursor{read_json(corpus / "failures.json")}).size(), 2U);
}

}  // namespace
}  // namespace cufault
