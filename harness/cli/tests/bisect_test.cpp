// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault bisect on stand-ins: copies of the fake cuBLAS in folders of releases, each with orders beside it.
#include "harness/cli/tests/end_to_end.hpp"
#include "harness/system/tests/made_elf.hpp"
#include "reports/base/json_input.hpp"

#include <nlohmann/json.hpp>

#include <elf.h>

#include <algorithm>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class bisect_command : public end_to_end {
 protected:
  void SetUp() override {
    end_to_end::SetUp();
    releases = folder / "releases";
  }

  /// A release that says 13.1.0 (or, "b", 13.2.0) of itself. `orders`: files beside it, with what they say.
  void make(const std::string& name, const std::map<std::string, std::string>& orders = {},
            const std::string& pair = "a") const {
    fs::create_directories(releases / name);
    for (const char* library : {"libcublas.so.13", "libcublasLt.so.13"})
      fs::copy_file(fs::path(fake_cublas_folder) / pair / library, releases / name / library);
    for (const auto& [file, text] : orders) std::ofstream(releases / name / file) << text;
  }

  /// 13.1.0.0 to 13.1.0.9; those from `first_bad` to `last_bad` have this order, the others none.
  void make_ten(int first_bad, int last_bad = 9, const std::string& file = "fault",
                const std::string& order = "3") const {
    for (int i = 0; i < 10; ++i)
      make(version(i), i >= first_bad && i <= last_bad ? std::map<std::string, std::string>{{file, order}}
                                                       : std::map<std::string, std::string>{});
  }
  static std::string version(int i) { return "13.1.0." + std::to_string(i); }

  process_result bisect(std::vector<std::string> words, std::map<std::string, std::string> environment = {}) {
    words.insert(words.begin(), {"bisect", "--releases", releases});
    environment.try_emplace("ROAD_FAULT", "file:fault");
    environment.try_emplace("ROAD_CONTROL", "file:control");
    return cufault(words, environment);
  }
  nlohmann::json answer(std::vector<std::string> words,
                        const std::map<std::string, std::string>& environment = {}, int exit_code = 0) {
    words.insert(words.begin(), "--json");
    const process_result ran = bisect(words, environment);
    EXPECT_EQ(ran.exit_code, exit_code) << ran.stderr_text;
    auto read = nlohmann::json::parse(ran.stdout_text, nullptr, false);
    EXPECT_TRUE(read.is_object()) << ran.stdout_text << ran.stderr_text;
    return read;
  }
  static std::string came_to(const nlohmann::json& seen, const std::string& name) {
    for (const auto& r : seen["releases"])
      if (r["release"] == name) return r["came_to"];
    return "not tried";
  }
  /// The last line on standard error.
  static std::string line(const process_result& ran) {
    const auto end = ran.stderr_text.find_last_not_of('\n');
    const auto begin = ran.stderr_text.rfind('\n', end);
    return ran.stderr_text.substr(begin + 1, end - begin);
  }
  [[nodiscard]] bool nothing_left() const { return fs::is_empty(folder / "temporary"); }

  /// A command that does what the file "order" beside the libcublas says that is preloaded: sh code.
  const std::vector<std::string> by_order{"sh", "-c", R"(. "$(dirname "${LD_PRELOAD##*:}")/order")"};
  std::vector<std::string> with_command(std::vector<std::string> words) const {
    words.emplace_back("--");
    words.insert(words.end(), by_order.begin(), by_order.end());
    return words;
  }

  fs::path releases;
};

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
  EXPECT_EQ(came_to(seen, "13.1.0.4"), "skipped");
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
  EXPECT_EQ(came_to(seen, "13.1.0.4"), "other");
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
  EXPECT_EQ(came_to(seen, "13.1.0.3"), "good");
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
  EXPECT_EQ(came_to(seen, "13.1.0.2"), "other");
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
  EXPECT_EQ(came_to(seen, "13.1.0.2"), "other");
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
  EXPECT_EQ(came_to(seen, "13.1.0.2"), "skipped");
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
  EXPECT_EQ(came_to(seen, version(1)), "skipped");
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
  EXPECT_EQ(came_to(seen, version(3)), "bad");
  EXPECT_EQ(came_to(seen, version(1)), "undecided");
}

TEST_F(bisect_command, takes_the_version_that_a_library_says_where_its_folder_does_not) {
  make("old");
  make("new", {{"fault", "3"}}, "b");
  fs::create_directories(releases / "notes");
  const auto ran = bisect({"--json", "--good", "13.1", "--bad", "13.2.0", "road.create/fault"});
  EXPECT_EQ(ran.exit_code, 0) << ran.stderr_text;
  EXPECT_EQ(nlohmann::json::parse(ran.stdout_text)["changes"][0]["first_bad"], "13.2.0");
  EXPECT_THAT(ran.stderr_text, HasSubstr("notes holds no libcublas.so.*; it is left out"));
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
  refused({ends[0], ends[1], ends[2], ends[3]}, "give an arm (CASE/ARM) or a command after --");
  refused({ends[0], ends[1], ends[2], ends[3], "road.create"}, "there is no arm road.create;");
  refused({ends[0], ends[1], ends[2], ends[3], "--ok", "true", "road.create/fault"}, "--ok is of a command");
  refused({ends[0], ends[1], ends[2], ends[3], "--", "no-such-program"}, "no-such-program: cannot be run");
  refused({ends[0], ends[1], ends[2], ends[3], "--text", "(", "--", "true"}, "--text (: ");
  std::ofstream(releases / "13.1.0.0" / "libcublas.so.13") << "text";
  refused({ends[0], ends[1], ends[2], ends[3], "road.create/fault"}, "--good 13.1.0.0: ");
  fs::remove(releases / "13.1.0.3" / "libcublasLt.so.13");
  refused({ends[0], ends[1], ends[2], ends[3], "road.create/fault"},
          "there is no libcublasLt.so.13 beside it");
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
  EXPECT_EQ(came_to(seen, version(1)), "skipped");
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

class bisect_of_images : public bisect_command {
 protected:
  /// Stands in for docker: runs the entry point here, with the libraries of the "image". Only what is mounted at /cufault is there.
  void SetUp() override {
    bisect_command::SetUp();
    const fs::path engine = folder / "engine";
    std::ofstream(engine) << R"(#!/bin/sh
echo "$*" >> )" << (folder / "started").string()
                          << R"(
[ "$1" = run ] || exit 0
tree=/nowhere
while [ "$1" != --entrypoint ]; do
  case $1 in *:/cufault:ro) tree=${1%:/cufault:ro} ;; esac
  shift
done
program=$2 image=$3
shift 3
case $program in /cufault/*) program=$tree${program#/cufault} ;; esac
export CUFAULT_CUBLAS=)" << releases.string()
                          << R"(/$image
export LD_PRELOAD=$CUFAULT_CUBLAS/libcublasLt.so.13:$CUFAULT_CUBLAS/libcublas.so.13
exec "$program" "$@"
)";
    fs::permissions(engine, fs::perms::owner_all);
    by_engine = {{"CUFAULT_ENGINE", "env " + engine.string() + " run --rm"}, {"ROAD_FAULT", "file:fault"}};
  }
  std::map<std::string, std::string> by_engine;
};

TEST_F(bisect_of_images, finds_the_first_bad_image) {
  for (int i = 0; i < 5; ++i)
    make(version(i), {{"order", i < 3 ? "exit 0" : "exit 3"}, {"fault", i < 3 ? "0" : "3"}});
  const std::string images = "13.1.0.0,13.1.0.1,13.1.0.2,13.1.0.3,13.1.0.4";
  for (const auto& words : {with_command({"bisect", "--json", "--once", "--images", images, "--good",
                                          "13.1.0.0", "--bad", "13.1.0.4"}),
                            {"bisect", "--json", "--images", images, "--good", "13.1.0.0", "--bad",
                             "13.1.0.4", "road.create/fault"}}) {
    const auto ran = cufault(words, by_engine);
    EXPECT_EQ(ran.exit_code, 0) << ran.stderr_text;
    const auto seen = nlohmann::json::parse(ran.stdout_text, nullptr, false);
    ASSERT_TRUE(seen.is_object()) << ran.stderr_text;
    EXPECT_EQ(seen["changes"][0]["first_bad"], "13.1.0.3");
    EXPECT_EQ(seen["releases"][0]["version"], "13.1.0");
  }
  const fs::path tree = fs::path(test_program).parent_path().parent_path();
  std::istringstream started(read_text(folder / "started"));
  int own = 0, others = 0;
  for (std::string words; std::getline(started, words);) {
    EXPECT_THAT(words, HasSubstr("run --rm --name cufault-bisect-"));
    const bool is_own = words.find("--entrypoint /cufault/bin/test_program ") != words.npos;
    EXPECT_EQ(words.find("-v " + tree.string() + ":/cufault:ro ") != words.npos, is_own) << words;
    EXPECT_EQ(words.find(" -v ") != words.npos, is_own) << "a command sees its image alone: " << words;
    ++(is_own ? own : others);
  }
  EXPECT_GT(own, 0);
  EXPECT_GT(others, 0);
}

/// Of a package the tree is /usr: mounted there, it would hide the image's own.
TEST_F(bisect_of_images, mounts_an_installed_tree_elsewhere) {
  const fs::path installed = folder / "usr/bin/cufault";
  fs::create_directories(installed.parent_path());
  fs::copy_file(test_program, installed);
  for (int i = 0; i < 2; ++i) make(version(i), {{"fault", i == 0 ? "0" : "3"}});
  spawn_options options;
  options.argv = {installed, "bisect",   "--json", "--images", version(0) + ',' + version(1),
                  "--good",  version(0), "--bad",  version(1), "road.create/fault"};
  options.environment = by_engine;
  options.environment["TMPDIR"] = folder / "temporary";
  options.environment["CUDA_VISIBLE_DEVICES"] = "-1";
  const auto ran = run_process(options, {});
  EXPECT_EQ(ran.exit_code, 0) << ran.stderr_text;
  EXPECT_THAT(read_text(folder / "started"),
              AllOf(HasSubstr("-v " + (folder / "usr").string() + ":/cufault:ro "),
                    HasSubstr("--entrypoint /cufault/bin/cufault " + version(0) + " stack"),
                    Not(HasSubstr(":" + (folder / "usr").string()))));
}

TEST_F(bisect_of_images, removes_a_container_that_its_engine_left) {
  make(version(0), {{"order", "exit 0"}});
  make(version(1), {{"order", "exec sleep 600"}});
  const auto ran =
      cufault(with_command({"bisect", "--json", "--once", "--timeout", "5", "--images",
                            version(0) + ',' + version(1), "--good", version(0), "--bad", version(1)}),
              by_engine);
  EXPECT_EQ(ran.exit_code, 0) << ran.stderr_text;
  EXPECT_THAT(read_text(folder / "started"), HasSubstr("\nrm -f cufault-bisect-"));
}

TEST_F(bisect_of_images, refuses_an_engine_that_does_not_say_run) {
  by_engine["CUFAULT_ENGINE"] = "docker --rm";
  const auto ran =
      cufault({"bisect", "--images", "a,b", "--good", "a", "--bad", "b", "road.create/fault"}, by_engine);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(line(ran), HasSubstr("CUFAULT_ENGINE='docker --rm' has no word run, as in: docker run"));
}

/// An index of wheels that the test makes: pip takes no other.
class bisect_of_an_index : public bisect_command {
 protected:
  void SetUp() override {
    bisect_command::SetUp();
    spawn_options pip;
    pip.argv = {"/bin/sh", "-c", "python3 -m pip --version"};  // that of PATH, as ci/fetch-cublas takes it
    pip.timeout = long_enough;
    if (const auto said = run_process(pip, {}); said.exit_code != 0) GTEST_SKIP() << "no pip";
    fs::create_directories(folder / "index");
    for (int i = 0; i < 3; ++i) {
      make(version(i), {{"order", ""}, {"License.txt", "made by a test"}});
      wheel(version(i), "any");
    }
    environment = {{"PIP_NO_INDEX", "1"},
                   {"PIP_FIND_LINKS", folder / "index"},
                   {"PIP_CONFIG_FILE", "/dev/null"},
                   {"XDG_CACHE_HOME", folder / "cache"}};
  }
  static std::string version(int i) { return "13.1.0.90" + std::to_string(i); }
  void wheel(const std::string& of, const std::string& platform) const {
    spawn_options zip;
    zip.argv = {PYTHON3,
                "-c",
                R"(import sys, zipfile
file, folder, version = sys.argv[1:]
with zipfile.ZipFile(file, 'w') as z:
    for name in 'libcublas.so.13', 'libcublasLt.so.13': z.write(folder + '/' + name, 'nvidia/cu13/lib/' + name)
    info = 'nvidia_cublas-' + version + '.dist-info/'
    z.write(folder + '/License.txt', info + 'License.txt')
    z.writestr(info + 'METADATA', 'Metadata-Version: 2.1\nName: nvidia-cublas\nVersion: ' + version + '\n')
    z.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    z.writestr(info + 'RECORD', '')
)",
                folder / "index" / ("nvidia_cublas-" + of + "-py3-none-" + platform + ".whl"),
                releases / of,
                of};
    zip.timeout = long_enough;
    const auto made = run_process(zip, {});
    ASSERT_EQ(made.exit_code, 0) << made.stderr_text;
  }
  /// Whether the release is bad: the folder that it was fetched to tells it.
  static std::vector<std::string> on_index(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"bisect", "--once", "--json", "--good", version(0), "--bad", version(2)};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "sh", "-c", "case $LD_PRELOAD in *13.1.0.90[12]/*) exit 3 ;; esac"});
    return words;
  }
  process_result run_on_index(const std::vector<std::string>& more = {}) {
    return cufault(on_index(more), environment);
  }
  std::map<std::string, std::string> environment;
};

TEST_F(bisect_of_an_index, fetches_what_it_tries_and_keeps_it) {
  const fs::path kept = folder / "cache/cufault/cublas";
  fs::create_directories(kept / version(0) / ".partial.abc");  // of a run that was killed
  const auto ran = run_on_index();
  ASSERT_EQ(ran.exit_code, 0) << ran.stderr_text;
  EXPECT_EQ(nlohmann::json::parse(ran.stdout_text)["changes"][0]["first_bad"], version(1));
  EXPECT_THAT(ran.stderr_text, HasSubstr("fetching " + version(0)));
  EXPECT_FALSE(fs::exists(kept / version(0) / ".partial.abc"));
  EXPECT_TRUE(fs::exists(kept / version(1) / "libcublas.so.13"));
  const auto again = run_on_index();
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.stderr_text, Not(HasSubstr("fetching")));
}

/// sh holds the lock until bisect says that it waits.
TEST_F(bisect_of_an_index, waits_for_another_that_fetches_the_same_release) {
  const fs::path other = folder / "cache/cufault/cublas" / (".fetching-" + version(0));
  fs::create_directories(other);
  spawn_options options;
  options.argv = {"/bin/sh", "-c", R"(exec 9> "$LOCK" && flock 9 || exit 99
"$0" "$@" 2> "$SAID" 9>&- & child=$!
until grep -q 'waiting for its end' "$SAID" || ! kill -0 $child; do sleep 0.05; done
exec 9>&-
wait $child)",
                  test_program};
  for (const std::string& word : on_index()) options.argv.push_back(word);
  options.environment = environment;
  options.environment.insert({{"LOCK", other / ".lock"},
                              {"SAID", folder / "said"},
                              {"TMPDIR", folder / "temporary"},
                              {"CUDA_VISIBLE_DEVICES", "-1"}});
  options.timeout = long_enough;
  const auto ran = run_process(options, {});
  const std::string said = read_text(folder / "said");
  EXPECT_EQ(ran.exit_code, 0) << ran.stderr_text << said;
  EXPECT_THAT(said, HasSubstr("bisect: another process fetches into " + other.string()));
  EXPECT_FALSE(fs::exists(other));
}

TEST_F(bisect_of_an_index, says_in_one_line_what_cannot_be_fetched) {
  wheel(version(0), "manylinux_2_27_riscv64");
  fs::remove(folder / "index" / ("nvidia_cublas-" + version(0) + "-py3-none-any.whl"));
  const auto other_platform = run_on_index();
  EXPECT_EQ(other_platform.exit_code, 2);
  EXPECT_THAT(line(other_platform), HasSubstr("--good 13.1.0.900: there is no such release of the package "
                                              "index for this platform; near it: 13.1.0.901"));

  wheel(version(0), "any");
  environment["PIP_FIND_LINKS"] = folder / "nowhere";
  const auto no_index = run_on_index();
  EXPECT_EQ(no_index.exit_code, 2);
  EXPECT_THAT(line(no_index), HasSubstr("the package index does not tell the versions of cuBLAS: it said: "
                                        "ci/fetch-cublas: no Python index"));
  environment["PIP_FIND_LINKS"] = folder / "index";

  std::ofstream(folder / "index" / ("nvidia_cublas-" + version(0) + "-py3-none-any.whl")) << "cut short";
  const auto broken = run_on_index();
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(line(broken), HasSubstr("cuBLAS 13.1.0.900 could not be fetched: "));
  EXPECT_FALSE(fs::exists(folder / "cache/cufault/cublas" / version(0)));
}

TEST_F(bisect_of_an_index, says_where_nothing_can_be_kept) {
  const auto ran = run_on_index({"--keep", "/proc/kept"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(line(ran), HasSubstr("/proc/kept"));
}

}  // namespace
}  // namespace cufault
