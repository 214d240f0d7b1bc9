// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/tests/bisect_fixture.hpp"
#include "harness/system/tests/made_elf.hpp"
#include "reports/base/json_input.hpp"

#include <nlohmann/json.hpp>

#include <elf.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(bisect_command, finds_the_release_that_broke_an_arm) {
  make_ten(6);
  const auto seen = answer({"--good", "13.1.0.0", "--bad", "13.1.0.9", "road.create/fault"});
  ASSERT_EQ(seen["changes"].size(), 1u);
  EXPECT_EQ(seen["changes"][0]["change"], "broke");
  EXPECT_EQ(seen["changes"][0]["first_bad"], "13.1.0.6");
  EXPECT_EQ(seen["changes"][0]["last_good"], "13.1.0.5");
  EXPECT_LE(seen["releases"].size(), 6u);  // two ends, and 2^4 > 9
  EXPECT_EQ(seen["releases"][0]["version"], "13.1.0");
  EXPECT_NE(seen["releases"][0]["build_id"], "");
  EXPECT_TRUE(seen["error"].is_null());
  EXPECT_TRUE(nothing_left());
}

TEST_F(bisect_command, finds_both_ends_of_what_was_broken_for_a_while) {
  make_ten(3, 6);
  const auto seen =
      answer({"--good", "13.1.0.9", "--good", "13.1.0.0", "--bad", "13.1.0.4", "road.create/fault"});
  ASSERT_EQ(seen["changes"].size(), 2u);
  EXPECT_EQ(seen["changes"][0]["first_bad"], "13.1.0.3");
  EXPECT_EQ(seen["changes"][1]["change"], "mended");
  EXPECT_EQ(seen["changes"][1]["first_good"], "13.1.0.7");
  EXPECT_EQ(seen["changes"][1]["last_bad"], "13.1.0.6");
}

TEST_F(bisect_command, prints_a_table_for_a_ticket) {
  make_ten(6);
  const auto ran = bisect({"--markdown", "--good", "13.1.0.5", "--bad", "13.1.0.6", "road.create/fault"});
  EXPECT_EQ(ran.exit_code, 0) << ran.stderr_text;
  EXPECT_THAT(
      ran.stdout_text,
      AllOf(HasSubstr("BROKE: 13.1.0.6 is the first bad release, 13.1.0.5 the last good one"),
            HasSubstr("| 13.1.0.6 | 13.1.0 | "), HasSubstr("| bad | 1 | "), HasSubstr("does not vary"),
            HasSubstr("Repeat: cufault bisect"), HasSubstr("cufault run --cublas ")));
}

TEST_F(bisect_command, passes_over_a_release_whose_control_fails) {
  make_ten(5);
  std::ofstream(releases / "13.1.0.4" / "control") << "1";
  const auto seen = answer({"--good", "13.1.0.0", "--bad", "13.1.0.9", "road.create/fault"}, {}, 3);
  EXPECT_EQ(result(seen, "13.1.0.4"), "skipped");
  EXPECT_EQ(seen["changes"][0]["last_good"], "13.1.0.3");
  EXPECT_EQ(seen["changes"][0]["first_bad"], "13.1.0.5");
  EXPECT_EQ(seen["changes"][0]["between"], nlohmann::json({"13.1.0.4"}));
  for (const auto& r : seen["releases"])
    if (r["release"] == "13.1.0.4") {
      EXPECT_THAT(r["why"].get<std::string>(), HasSubstr("control control: control failed: "));
    }
}

TEST_F(bisect_command, takes_another_failure_of_an_arm_for_neither) {
  make_ten(7);
  for (const int i : {4, 5}) std::ofstream(releases / version(i) / "fault") << "14";
  const auto seen = answer({"--good", "13.1.0.0", "--bad", "13.1.0.9", "road.create/fault"});
  EXPECT_EQ(seen["changes"][0]["first_bad"], "13.1.0.7");
  EXPECT_EQ(result(seen, "13.1.0.4"), "other");
}

TEST_F(bisect_command, refuses_ends_that_are_alike) {
  make_ten(0);
  const auto ran = bisect({"--good", "13.1.0.0", "--bad", "13.1.0.9", "road.create/fault"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(line(ran), HasSubstr("13.1.0.0 and 13.1.0.9 cannot be told apart by 1 trial of each: "));
}

TEST_F(bisect_command, repeats_a_command_until_the_error_is_small) {
  for (int i = 0; i < 10; ++i) make(version(i), {{"order", i < 6 ? "exit 0" : "exit 3"}});
  const auto seen = answer(with_command({"--good", "13.1.0.0", "--bad", "13.1.0.9"}));
  EXPECT_EQ(seen["changes"][0]["first_bad"], "13.1.0.6");
  EXPECT_EQ(seen["error"], 0.01);
  EXPECT_EQ(seen["releases"][1]["trials"], 3);
  EXPECT_EQ(seen["releases"][0]["trials"], 9);  // 6 at the beginning, 3 at the end
  EXPECT_EQ(seen["changes"][0]["decisions"], seen["releases"].size() - 1);
  EXPECT_NEAR(seen["changes"][0]["error"].get<double>(), 0.01 * seen["changes"][0]["decisions"].get<int>(),
              1e-9);
  EXPECT_TRUE(nothing_left());
}

/// Bad in one of two runs: by a counter beside the library, so that no run depends on luck.
TEST_F(bisect_command, finds_a_command_that_fails_now_and_then) {
  const std::string now_and_then =
      "cd \"$(dirname \"${LD_PRELOAD##*:}\")\"; echo >> runs; exit $(($(wc -l < runs) % 2 * 3))";
  for (int i = 0; i < 6; ++i) make(version(i), {{"order", i < 4 ? "exit 0" : now_and_then}});
  const auto seen = answer(with_command({"--good", "13.1.0.0", "--bad", "13.1.0.5"}));
  EXPECT_EQ(seen["changes"][0]["first_bad"], "13.1.0.4");
  EXPECT_EQ(result(seen, "13.1.0.3"), "good");
  EXPECT_EQ(seen["releases"].back()["trials"], 24)
      << "12 of 24 and 0 of 24 differ, 6 of 12 and 0 of 12 do not";
}

/// One in four trials fails, by a counter.
TEST_F(bisect_command, finds_the_release_from_which_on_an_arm_fails_now_and_then) {
  for (int i = 0; i < 4; ++i)
    make(version(i),
         i < 2 ? std::map<std::string, std::string>{} : std::map<std::string, std::string>{{"fault", "3"}});
  const auto seen = answer({"--good", "13.1.0.0", "--bad", "13.1.0.3", "road.races/now_and_then"},
                           {{"ROAD_COUNTER", folder / "counter"}});
  EXPECT_EQ(seen["changes"][0]["first_bad"], "13.1.0.2");
  EXPECT_EQ(seen["error"], 0.01);
  EXPECT_GT(seen["releases"][0]["trials"], 6) << "6 of 24 and 0 of 24 may be chance";
}

TEST_F(bisect_command, says_that_ends_cannot_be_told_apart_that_race_alike) {
  const std::string now_and_then =
      "cd \"$(dirname \"${LD_PRELOAD##*:}\")\"; echo >> runs; exit $(($(wc -l < runs) % 2 * 3))";
  for (const int i : {0, 1}) make(version(i), {{"order", now_and_then}});
  const auto ran = bisect(with_command({"--most", "6", "--good", "13.1.0.0", "--bad", "13.1.0.1"}));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(
      line(ran),
      HasSubstr("cannot be told apart by 12 trials of each: 6: exit 0 | 6: exit 3; 6: exit 0 | 6: exit 3"));
}

TEST_F(bisect_command, takes_another_failure_of_a_command_for_neither) {
  for (int i = 0; i < 5; ++i) make(version(i), {{"order", i < 3 ? "exit 0" : "exit 3"}});
  std::ofstream(releases / "13.1.0.2" / "order") << "kill -SEGV $$";
  const auto seen = answer(with_command({"--once", "--good", "13.1.0.0", "--bad", "13.1.0.4"}), {}, 3);
  EXPECT_EQ(result(seen, "13.1.0.2"), "other");
  EXPECT_EQ(seen["changes"][0]["between"], nlohmann::json({"13.1.0.2"}));
  EXPECT_TRUE(seen["error"].is_null());
}

TEST_F(bisect_command, tells_failures_of_one_exit_code_apart_by_what_is_printed) {
  for (int i = 0; i < 5; ++i)
    make(version(i), {{"order", i < 2    ? "exit 0"
                                : i == 2 ? "echo timeout; exit 1"
                                         : "echo status 13 >&2; exit 1"}});
  const auto seen = answer(
      with_command({"--once", "--text", "status 1[0-9]", "--good", "13.1.0.0", "--bad", "13.1.0.4"}), {}, 3);
  EXPECT_EQ(result(seen, "13.1.0.2"), "other");
  EXPECT_EQ(seen["releases"].back()["outcomes"], nlohmann::json({{"exit 1, with the text", 1}}));
}

/// A megabyte, in which std::regex would use up the stack.
TEST_F(bisect_command, looks_for_text_at_the_beginning_of_long_lines) {
  const std::string zeros = "head -c 1000000 /dev/zero | tr '\\0' x; echo";
  for (int i = 0; i < 3; ++i)
    make(version(i), {{"order", (i < 1 ? "" : "printf 'status 13 '; ") + zeros + " status 14"}});
  const auto seen = answer(
      with_command({"--once", "--text", "status 1[0-9] (x|y)*", "--good", version(0), "--bad", version(2)}));
  EXPECT_EQ(seen["changes"][0]["first_bad"], version(1));
  EXPECT_EQ(seen["releases"].back()["outcomes"], nlohmann::json({{"exit 0, with the text", 1}}));
}

TEST_F(bisect_command, asks_the_oracle) {
  for (int i = 0; i < 5; ++i) make(version(i), {{"order", "echo " + std::to_string(i)}});
  const auto seen = answer(with_command({"--once", "--ok", "test \"$(cat \"$CUFAULT_RUN_STDOUT\")\" -lt 2",
                                         "--good", "13.1.0.0", "--bad", "13.1.0.4"}));
  EXPECT_EQ(seen["changes"][0]["first_bad"], "13.1.0.2");
}

TEST_F(bisect_command, passes_over_a_release_on_which_the_control_command_fails) {
  for (int i = 0; i < 5; ++i) make(version(i), {{"order", i < 3 ? "exit 0" : "exit 3"}});
  fs::remove(releases / "13.1.0.2" / "order");
  const auto seen =
      answer(with_command({"--once", "--control", "test -f \"$(dirname \"${LD_PRELOAD##*:}\")/order\"",
                           "--good", "13.1.0.0", "--bad", "13.1.0.4"}),
             {}, 3);
  EXPECT_EQ(result(seen, "13.1.0.2"), "skipped");
}

TEST_F(bisect_command, notices_that_something_else_changed_meanwhile) {
  const std::string worse = folder / "worse";
  make(version(0), {{"order", "test ! -e " + worse + " || exit 3"}});
  make(version(1), {{"order", "exit 0"}});
  make(version(2), {{"order", "touch " + worse + "; exit 3"}});
  const auto ran = bisect(with_command({"--once", "--good", "13.1.0.0", "--bad", "13.1.0.2"}));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(line(ran), HasSubstr("13.1.0.0 was good (exit 0) and at the end is not (exit 3)"));
  EXPECT_THAT(ran.stdout_text, AllOf(HasSubstr("13.1.0.1"), Not(HasSubstr("BROKE"))));
}

TEST_F(bisect_command, ends_where_the_command_loads_another_library) {
  make(version(0), {{"order", "exit 0"}});
  make(version(1), {{"order", "exit 3"}});
  const std::string other = fs::path(fake_cublas_folder) / "b" / "libcublas.so.13";
  const auto ran = bisect({"--once", "--good", "13.1.0.0", "--bad", "13.1.0.1", "--", PYTHON3, "-c",
                           "import ctypes; ctypes.CDLL('" + other + "')"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(line(ran), AllOf(HasSubstr("the command loaded " + other), HasSubstr("--images")));
}

/// A program of a few instructions that exits with 0.
TEST_F(bisect_command, ends_where_no_process_can_load_the_library) {
#if defined(__x86_64__)
  const std::string code("\xb8\x3c\0\0\0\x31\xff\x0f\x05", 9);
  constexpr Elf64_Half machine = EM_X86_64;
#else
  const std::string code("\xa8\x0b\x80\xd2\0\0\x80\xd2\x01\0\0\xd4", 12);
  constexpr Elf64_Half machine = EM_AARCH64;
#endif
  constexpr Elf64_Addr base = 0x400000;
  Elf64_Ehdr header{};
  Elf64_Phdr segment{};
  const std::size_t size = sizeof header + sizeof segment + code.size();
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_entry = base + sizeof header + sizeof segment;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof segment;
  header.e_phnum = 1;
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_vaddr = segment.p_paddr = base;
  segment.p_filesz = segment.p_memsz = size;
  segment.p_align = 0x10000;
  const fs::path program = folder / "static";
  {
    std::ofstream out(program, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&header), sizeof header);
    out.write(reinterpret_cast<const char*>(&segment), sizeof segment);
    out << code;
  }
  fs::permissions(program, fs::perms::owner_all);
  for (int i = 0; i < 2; ++i) make(version(i));
  const auto ran = bisect({"--once", "--good", version(0), "--bad", version(1), "--", program});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(line(ran), AllOf(HasSubstr("no process of the command loaded " + releases.string()),
                               HasSubstr("linked statically"), Not(HasSubstr("so far"))));
}

TEST_F(bisect_command, names_a_library_that_is_not_the_release_of_its_folder) {
  make("13.1.0.0");
  make("13.1.0.1", {}, "b");
  const auto ran = bisect({"--good", "13.1.0.0", "--bad", "13.1.0.1", "road.create/fault"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(line(ran), HasSubstr("13.1.0.1/libcublas.so.13: the library says that it is 13.2.0"));
}

TEST_F(bisect_command, passes_over_a_release_whose_library_is_another) {
  make(version(0));
  make(version(1), {}, "b");
  make(version(2), {{"fault", "3"}});
  const auto seen = answer({"--good", version(0), "--bad", version(2), "road.create/fault"}, {}, 3);
  EXPECT_EQ(result(seen, version(1)), "skipped");
  EXPECT_THAT(seen["releases"][1]["why"].get<std::string>(), HasSubstr("says that it is 13.2.0"));
}

/// The second release that is tried removes the program.
TEST_F(bisect_command, prints_what_is_decided_where_an_error_ends_it) {
  const fs::path program = folder / "program";
  fs::create_symlink("/bin/sh", program);
  for (int i = 0; i < 8; ++i) make(version(i), {{"order", i < 2 ? "exit 0" : "exit 3"}});
  std::ofstream(releases / version(3) / "order") << "rm " << program.string() << "; exit 3";
  std::vector<std::string> words{"--json", "--once", "--good", version(0), "--bad", version(7), "--"};
  words.insert(words.end(), by_order.begin(), by_order.end());
  words[7] = program;
  const auto ran = bisect(words);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(line(ran), AllOf(HasSubstr(program.string() + ": cannot be run: "),
                               HasSubstr("; 13.1.0.0 is good and 13.1.0.3 is bad so far")));
  const auto seen = nlohmann::json::parse(ran.stdout_text, nullptr, false);
  ASSERT_TRUE(seen.is_object()) << ran.stdout_text << ran.stderr_text;
  EXPECT_EQ(seen["changes"][0]["first_bad"], version(3));
  EXPECT_EQ(seen["changes"][0]["between"], nlohmann::json({version(1), version(2)}));
  EXPECT_EQ(result(seen, version(3)), "bad");
  EXPECT_EQ(result(seen, version(1)), "undecided");
  ASSERT_EQ(seen["reasons"].size(), 1U);
  EXPECT_EQ(seen["reasons"][0]["exit_code"], 2);
  EXPECT_THAT(seen["reasons"][0]["why"].get<std::string>(), HasSubstr("13.1.0.3 is bad so far"));
}

TEST_F(bisect_command, says_an_error_as_json_only_where_that_is_asked_for) {
  make_ten(6);
  const auto said = answer({"--good", "13.1.0.0", "--bad", "13.1.0.1", "road.create/fault"}, {}, 2);
  EXPECT_EQ(said["schema"], 1);
  EXPECT_THAT(said["reasons"][0]["why"].get<std::string>(), HasSubstr("cannot be told apart"));
  const auto text = bisect({"--good", "13.1.0.0", "--bad", "13.1.0.1", "road.create/fault"});
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_EQ(text.stdout_text, "");
}

/// A bisect whose first run starts another process, and hangs.
class bisect_cut_short : public bisect_command {
 protected:
  void start() {
    const fs::path file = folder / "pids";
    for (int i = 0; i < 2; ++i)
      make(version(i), {{"order", "sleep 1000 & echo $$ $! >" + file.string() + "; wait"}});
    const auto words = with_command({test_program, "bisect", "--once", "--releases", releases, "--good",
                                     version(0), "--bad", version(1)});
    // Whose starter has ended comes to this process, and is waited for here.
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    bisect_pid_ = fork();
    ASSERT_GE(bisect_pid_, 0);
    if (bisect_pid_ == 0) {
      setenv("TMPDIR", (folder / "temporary").c_str(), 1);
      setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
      std::vector<char*> argv;
      for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(125);
    }
    expect_soon([&] { return std::ifstream(file) >> command_ >> started_by_it_ && started_by_it_ > 0; });
    ASSERT_GT(command_, 0);
    ASSERT_GT(started_by_it_, 0);
  }
  static void expect_soon(const std::function<bool()>& comes) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!comes() && std::chrono::steady_clock::now() < deadline) usleep(1000);
    EXPECT_TRUE(comes());
  }
  int end_by(int signal) const {
    kill(bisect_pid_, signal);
    int status = 0;
    EXPECT_EQ(waitpid(bisect_pid_, &status, 0), bisect_pid_);
    return status;
  }
  [[nodiscard]] bool none_is_left() const {
    for (const pid_t pid : {command_, started_by_it_}) waitpid(pid, nullptr, WNOHANG);
    return kill(command_, 0) != 0 && kill(started_by_it_, 0) != 0;
  }

 private:
  pid_t bisect_pid_ = -1, command_ = -1, started_by_it_ = -1;
};

TEST_F(bisect_cut_short, by_sigterm_ends_the_command_and_what_it_started) {
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_FALSE(none_is_left());
  EXPECT_EQ(WEXITSTATUS(end_by(SIGTERM)), 130);
  EXPECT_TRUE(none_is_left());
  EXPECT_TRUE(nothing_left());
}

TEST_F(bisect_cut_short, by_sigkill_ends_them_too) {
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_TRUE(WIFSIGNALED(end_by(SIGKILL)));
  expect_soon([&] { return none_is_left() && nothing_left(); });
}

TEST_F(bisect_command, takes_the_version_that_a_library_says_where_its_folder_does_not) {
  make("old");
  make("new", {{"fault", "3"}}, "b");
  fs::create_directories(releases / "notes");
  make("half");
  fs::remove(releases / "half/libcublasLt.so.13");
  fs::create_directories(releases / "text");
  for (const char* name : {"libcublas.so.13", "libcublasLt.so.13"})
    std::ofstream(releases / "text" / name) << "text";
  const auto ran = bisect({"--json", "--good", "13.1", "--bad", "13.2.0", "road.create/fault"});
  EXPECT_EQ(ran.exit_code, 0) << ran.stderr_text;
  EXPECT_EQ(nlohmann::json::parse(ran.stdout_text)["changes"][0]["first_bad"], "13.2.0");
  EXPECT_THAT(ran.stderr_text, HasSubstr("notes holds no libcublas.so.*; it is left out"));
  EXPECT_THAT(ran.stderr_text, HasSubstr("there is no libcublasLt.so.13 beside it; it is left out"));
  EXPECT_THAT(ran.stderr_text, HasSubstr("its version is not known: "));
}

TEST_F(bisect_command, says_in_one_line_what_is_wrong) {
  make_ten(6);
  std::ofstream(folder / "no_library") << "text";
  const std::vector<std::string> ends{"--good", "13.1.0.0", "--bad", "13.1.0.9"};
  const auto refused = [&](std::vector<std::string> words, const std::string& why) {
    const auto ran = bisect(std::move(words));
    EXPECT_EQ(ran.exit_code, 2) << why;
    EXPECT_THAT(line(ran), HasSubstr(why));
  };
  refused({"--good", "13.1.0.77", "--bad", "13.1.0.9", "road.create/fault"},
          "--good 13.1.0.77: there is no such release of --releases ");
  refused({"--good", "13.1.0", "--bad", "13.1.0.9", "road.create/fault"},
          "--good 13.1.0: this is not one release of ");
  refused({"--good", "13.1.0.9", "--bad", "13.1.0.9", "road.create/fault"},
          "--good and --bad are both 13.1.0.9");
  refused({"--good", "13.1.0.0", "--good", "13.1.0.1", "--bad", "13.1.0.9", "road.create/fault"},
          "on one side of --bad");
  refused({ends[0], ends[1], ends[2], ends[3]}, "give either an arm (CASE/ARM) or a command after --");
  refused({ends[0], ends[1], ends[2], ends[3], "road.create"}, "there is no arm road.create;");
  refused({ends[0], ends[1], ends[2], ends[3], "--ok", "true", "road.create/fault"}, "--ok is of a command");
  refused({ends[0], ends[1], ends[2], ends[3], "--", "no-such-program"}, "no-such-program: cannot be run");
  refused({ends[0], ends[1], ends[2], ends[3], "--text", "(", "--", "true"}, "--text (: ");
  std::ofstream(releases / "13.1.0.0" / "libcublas.so.13") << "text";
  refused({ends[0], ends[1], ends[2], ends[3], "road.create/fault"}, "--good 13.1.0.0: ");
  fs::remove(releases / "13.1.0.9" / "libcublasLt.so.13");
  refused({ends[0], ends[1], ends[2], ends[3], "road.create/fault"},
          "--bad 13.1.0.9: there is no such release of --releases ");
  refused({ends[0], ends[1], ends[2], ends[3], "--error", "nan", "--", "true"}, "--error: expected a number");
}

TEST_F(bisect_command, is_skipped_where_an_arm_needs_a_gpu) {
  make_ten(6);
  const auto ran = bisect({"--good", "13.1.0.0", "--bad", "13.1.0.9", "road.on_a_gpu/fault"});
  EXPECT_EQ(ran.exit_code, 77) << ran.stderr_text;
  EXPECT_THAT(line(ran), HasSubstr("no GPU"));
}

/// Code for GPUs of compute capability 7.5 alone.
TEST_F(bisect_command, passes_over_a_library_without_code_for_this_gpu) {
  for (int i = 0; i < 3; ++i) make(version(i), {{"order", i < 2 ? "exit 0" : "exit 3"}});
  const fs::path library = releases / version(1) / "libcublasLt.so.13";
  std::string bytes = read_text(library);
  const std::string room = "room for GPU code", section = ".nv_fatbi_",
                    code = made_container({{.kind = 2, .architecture = 75}});
  bytes.replace(bytes.find(room), code.size(), code);
  bytes.replace(bytes.find(section), section.size(), ".nv_fatbin");
  std::ofstream(library, std::ios::binary) << bytes;
  const auto seen =
      answer(with_command({"--once", "--good", version(0), "--bad", version(2)}), on_gpu("a100"), 3);
  EXPECT_EQ(result(seen, version(1)), "skipped");
  EXPECT_THAT(seen["releases"][1]["why"].get<std::string>(),
              HasSubstr("libcublasLt.so.13 has no code for this GPU (sm_80): it has sm_75"));
  EXPECT_THAT(seen["gpu"].get<std::string>(), HasSubstr("A100"));
}

TEST_F(bisect_command, leaves_nothing_where_it_is_interrupted) {
  const fs::path begun = folder / "begun";
  make(version(0), {{"order", "echo $$ > " + begun.string() + "; sleep 600"}});
  make(version(1), {{"order", "exit 3"}});
  spawn_options options;
  options.argv = {
      "/bin/sh", "-c",
      R"("$0" "$@" & child=$!; while [ ! -s "$BEGUN" ]; do sleep 0.05; done; kill -TERM $child; wait $child)",
      test_program};
  for (const std::string& word :
       with_command({"bisect", "--releases", releases, "--good", version(0), "--bad", version(1)}))
    options.argv.push_back(word);
  options.environment = {{"TMPDIR", folder / "temporary"}, {"BEGUN", begun}, {"CUDA_VISIBLE_DEVICES", "-1"}};
  const auto ran = run_process(options, {});
  EXPECT_EQ(ran.exit_code, 130) << ran.stderr_text;
  EXPECT_THAT(line(ran), HasSubstr("interrupted; no release is decided"));
  EXPECT_EQ(ran.stragglers, 0);
  EXPECT_TRUE(nothing_left());
  const std::string pid = read_text(begun);
  EXPECT_FALSE(fs::exists("/proc/" + pid.substr(0, pid.find('\n'))));
}

}  // namespace
}  // namespace cufault
