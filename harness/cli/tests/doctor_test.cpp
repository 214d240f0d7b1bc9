// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault doctor` and `cufault library` from outside, on whatever machine this is.
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "harness/system/tests/made_elf.hpp"
#include "harness/system/tests/plain_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class doctor_command : public testing::Test {
 protected:
  void SetUp() override { forget_settings_of_cufault(); }

  static process_result run(std::vector<std::string> words,
                            std::map<std::string, std::string> environment = {}) {
    spawn_options options;
    options.argv = {CUFAULT_PROGRAM};
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    environment.try_emplace("CUDA_VISIBLE_DEVICES", "-1");  // no context, also where these tests meet a GPU
    options.environment = std::move(environment);
    options.keep_output = 4U << 20;
    return run_process(options, {});
  }
  std::string file(const std::string& name, const std::string& bytes) {
    return write_file(folder.path() / name, bytes);
  }
  static std::string last_line(const std::string& text) {
    std::istringstream lines(text);
    std::string last;
    for (std::string line; std::getline(lines, line);) last = line;
    return last;
  }
  temporary_folder folder{"cufault-doctor-command-"};
};

TEST_F(doctor_command, ends_with_its_verdict) {
  const auto said = run({"doctor"});
  EXPECT_EQ(said.exit_code, 1) << "every device is hidden\n" << said.stdout_text << said.stderr_text;
  EXPECT_THAT(last_line(said.stdout_text), StartsWith("verdict: failure: "));
  EXPECT_THAT(last_line(said.stdout_text), HasSubstr("CUDA_VISIBLE_DEVICES=-1: it hides all devices"));
  EXPECT_THAT(said.stdout_text, HasSubstr("to do     Unset CUDA_VISIBLE_DEVICES, or "));
  EXPECT_THAT(said.stdout_text, HasSubstr("environment.hidden_devices/show_in_new_process: cleared it on "));
  EXPECT_THAT(said.stdout_text, HasSubstr("run       unset CUDA_VISIBLE_DEVICES"));
  EXPECT_THAT(said.stdout_text, HasSubstr("[not asked] memory"));
  EXPECT_EQ(said.stragglers, 0);
}

TEST_F(doctor_command, warns_in_its_last_line_of_a_driver_that_is_missing) {
  if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY); driver != nullptr) {
    dlclose(driver);
    GTEST_SKIP() << "there is a driver here";
  }
  const auto said = run({"doctor"}, {{"CUDA_VISIBLE_DEVICES", "0"}, {"LD_LIBRARY_PATH", ""}});
  EXPECT_THAT(last_line(said.stdout_text), StartsWith("verdict: "));
  EXPECT_THAT(last_line(said.stdout_text), HasSubstr("every CUDA call fails"));
}

TEST_F(doctor_command, is_json_with_the_same_exit_code) {
  const auto said = run({"doctor", "--json", "--strict"});
  const auto json = nlohmann::json::parse(said.stdout_text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.stdout_text << said.stderr_text;
  EXPECT_EQ(json["exit_code"], said.exit_code);
  EXPECT_EQ(json["probes"][0]["name"], "variables");
  EXPECT_EQ(json["probes"][0]["state"], "failure");
  EXPECT_EQ(json["verdict"], "failure");
}

#ifdef WITH_TRACER
TEST_F(doctor_command, runs_its_command_once_and_fails_with_it) {
  const std::string once = folder.path() / "ran";
  const auto said = run({"doctor", "--", "sh", "-c", "echo ran >> " + once + "; exit 3"});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(last_line(said.stdout_text), HasSubstr("the command failed with 3"));
  std::ifstream ran(once);
  std::stringstream text;
  text << ran.rdbuf();
  EXPECT_EQ(text.str(), "ran\n");
}

TEST_F(doctor_command, is_json_alone_whatever_its_command_prints) {
  const auto said = run({"doctor", "--json", "--", "echo", "noise"});
  const auto json = nlohmann::json::parse(said.stdout_text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.stdout_text;
  EXPECT_EQ(json["command"]["words"], "echo noise");
  EXPECT_THAT(said.stderr_text, HasSubstr("noise"));
}
#endif

TEST_F(doctor_command, refuses_a_command_that_cannot_be_run_before_it_checks) {
  const std::string text = file("text", "no program");
  for (const auto& [command, why] : std::map<std::string, std::string>{
           {"/nonexistent", "/nonexistent: cannot be run: No such file or directory"},
           {"no-such-program", "no-such-program: cannot be run: no such program is in PATH"},
           {text, text + ": cannot be run: Permission denied"},
           {folder.path(), folder.path().string() + ": cannot be run: it is a folder"}}) {
    const auto said = run({"doctor", "--", command});
    EXPECT_EQ(said.exit_code, 2) << command;
    EXPECT_EQ(said.stdout_text, "") << command;
    EXPECT_EQ(said.stderr_text, "cufault: " + why + "\n");
  }
}

TEST_F(doctor_command, takes_a_command_only_behind_dashes) {
  const auto said = run({"doctor", "./program"});
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_EQ(said.stdout_text, "");
}

TEST_F(doctor_command, of_a_library_by_its_name_shows_the_file_that_the_loader_finds) {
  const std::string made = file("libmade.so.1", made_elf{.soname = "libmade.so.1"}.bytes());
  const std::map<std::string, std::string> here{{"LD_LIBRARY_PATH", folder.path()}};
  const auto said = run({"stack", "libmade.so.1"}, here);
  EXPECT_EQ(said.exit_code, 0) << said.stderr_text;
  EXPECT_THAT(said.stdout_text, StartsWith("file           " + made));
  EXPECT_THAT(said.stdout_text, HasSubstr("found by       LD_LIBRARY_PATH\n"));
  EXPECT_THAT(said.stdout_text, HasSubstr("version        not asked"));
  const auto json =
      nlohmann::json::parse(run({"library", "libmade.so.1", "--json"}, here).stdout_text, nullptr, false);
  EXPECT_EQ(json.value("found_by", ""), "LD_LIBRARY_PATH");
  const auto absent = run({"stack", "libabsent.so.1"}, here);
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_THAT(absent.stderr_text, HasSubstr("libabsent.so.1: not found; looked in "));
  EXPECT_EQ(std::count(absent.stderr_text.begin(), absent.stderr_text.end(), '\n'), 1) << absent.stderr_text;
}

TEST_F(doctor_command, of_a_library_that_cannot_be_loaded_says_why_unless_told_not_to_ask) {
  const std::string made = file("libcublas.so.13", made_elf{.soname = "libcublas.so.13"}.bytes());
  EXPECT_THAT(run({"library", made}).stdout_text, HasSubstr("version        not known: "));
  EXPECT_THAT(run({"library", made, "--no-load"}).stdout_text, HasSubstr("version        not asked"));
}

TEST_F(doctor_command, of_what_is_no_library_says_so_in_one_line) {
  for (const std::string& wrong : {file("text", "no library\n"), file("empty", ""), folder.path().string(),
                                   (folder.path() / "absent").string()}) {
    const auto said = run({"library", wrong});
    EXPECT_EQ(said.exit_code, 2) << wrong;
    EXPECT_EQ(said.stdout_text, "");
    EXPECT_EQ(std::count(said.stderr_text.begin(), said.stderr_text.end(), '\n'), 1) << said.stderr_text;
  }
}

/// `cufault explain` where there is a driver, with one GPU, all of which are hidden.
class explain_with_a_driver : public doctor_command {
 protected:
  static process_result explain(std::vector<std::string> words,
                                std::map<std::string, std::string> environment = {}) {
    words.insert(words.begin(), {"explain", "--more", "--records", SMALL_RECORDS});
    environment.try_emplace("LD_LIBRARY_PATH", DOCTOR_FAKES);
    return run(std::move(words), std::move(environment));
  }
  const std::string failure = "CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`";
};

TEST_F(explain_with_a_driver, ranks_what_this_machine_meets_first_and_says_so) {
  const auto said = explain({failure}), alone = explain({"--no-machine", failure});
  EXPECT_EQ(said.exit_code, 0) << said.stderr_text;
  EXPECT_THAT(said.stdout_text, HasSubstr("\nThis machine: 1 failure, "));
  EXPECT_THAT(said.stdout_text, HasSubstr("\n1. environment_other.no_device (supported by this machine): "));
  EXPECT_THAT(said.stdout_text, HasSubstr("   this machine   CUDA_VISIBLE_DEVICES=-1: it hides all devices"));
  EXPECT_THAT(said.stdout_text, Not(HasSubstr("the log says   CUDA_VISIBLE_DEVICES")));
  EXPECT_EQ(alone.exit_code, 0) << alone.stderr_text;
  EXPECT_THAT(alone.stdout_text, Not(HasSubstr("his machine ")));
  EXPECT_THAT(alone.stdout_text, Not(HasSubstr("\n1. environment_other.no_device")));
}

TEST_F(explain_with_a_driver, keeps_its_findings_apart_in_json) {
  const auto json = nlohmann::json::parse(explain({"--json", failure}).stdout_text, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_THAT(json.value("machine", ""), StartsWith("1 failure, "));
  EXPECT_EQ(json["causes"][0]["cause"], "environment_other.no_device");
  EXPECT_EQ(json["causes"][0]["evidence"]["log"].size(), 0U);
  ASSERT_EQ(json["causes"][0]["evidence"]["machine"].size(), 1U);
  EXPECT_THAT(json["causes"][0]["evidence"]["machine"][0], StartsWith("CUDA_VISIBLE_DEVICES=-1"));
  EXPECT_FALSE(json["facts"].contains("gpu")) << "facts are those of the log";
  const auto alone =
      nlohmann::json::parse(explain({"--json", "--no-machine", failure}).stdout_text, nullptr, false);
  EXPECT_FALSE(alone.contains("machine"));
}

TEST_F(explain_with_a_driver, leaves_out_this_machine_where_the_log_is_of_another_one) {
  const std::string alone = explain({"--no-machine", failure}).stdout_text;
  for (const auto& [names, why] : {std::pair{"Driver Version: 535.104.05 ", "driver 535.104.05, not 580.1"},
                                   {"on an NVIDIA H200: ", "GPU "}}) {
    const auto said = explain({names + failure});
    EXPECT_THAT(said.stdout_text,
                HasSubstr(std::string("This machine: not used, since the log is of another one: ") + why));
    EXPECT_THAT(said.stdout_text, Not(HasSubstr("   this machine   ")));
  }
  EXPECT_THAT(explain({"Driver Version: 580.1 " + failure}).stdout_text,
              HasSubstr("This machine: 1 failure, "));
}

TEST_F(explain_with_a_driver, gives_no_answer_from_the_machine_alone) {
  const auto said = explain({"hello", "world"});
  EXPECT_EQ(said.exit_code, 4);
  EXPECT_THAT(said.stdout_text, StartsWith("No failure of a GPU library in this log"));
}

TEST_F(explain_with_a_driver, says_nothing_of_a_machine_without_one) {
  if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY); driver != nullptr) {
    dlclose(driver);
    GTEST_SKIP() << "there is a driver here";
  }
  EXPECT_EQ(explain({failure}, {{"LD_LIBRARY_PATH", ""}}).stdout_text,
            explain({"--no-machine", failure}).stdout_text);
}

}  // namespace
}  // namespace cufault
