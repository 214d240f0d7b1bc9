// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault node` from outside, where there is a driver with one GPU and where there is none.
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
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class node_command : public testing::Test {
 protected:
  void SetUp() override { forget_settings_of_cufault(); }

  /// With the fake driver and NVML, nobody using the GPU.
  process_result node(std::vector<std::string> words, std::map<std::string, std::string> environment = {}) {
    spawn_options options;
    options.argv = {CUFAULT_PROGRAM, "node"};
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    environment.try_emplace("LD_LIBRARY_PATH", DOCTOR_FAKES);
    environment.try_emplace("DOCTOR_FAKE_UNUSED", "1");
    environment.try_emplace("TMPDIR", folder.path());
    options.environment = std::move(environment);
    options.keep_output = 4U << 20;
    process_result seen = run_process(options, {});
    EXPECT_EQ(seen.stragglers, 0);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "it leaves a file behind";
    return seen;
  }
  static void expect_one_line(const std::string& text) {
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
  temporary_folder folder{"cufault-node-command-"};
};

TEST_F(node_command, without_a_driver_is_not_decidable_and_bad_where_a_gpu_has_to_be_there) {
  if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY); driver != nullptr) {
    dlclose(driver);
    GTEST_SKIP() << "there is a driver here";
  }
  const temporary_folder machine("cufault-node-machine-");
  const std::string pci = machine.path();
  const auto without = [&](std::vector<std::string> words, const char* required = "") {
    words.insert(words.end(), {"--pci-root", pci});
    return node(std::move(words), {{"LD_LIBRARY_PATH", ""}, {"CUFAULT_REQUIRE_GPU", required}});
  };
  const auto said = without({});
  EXPECT_EQ(said.exit_code, 0) << said.stderr_text;
  EXPECT_THAT(said.stdout_text, StartsWith("cufault node: undecided: "));
  EXPECT_THAT(said.stdout_text, HasSubstr("no GPU here: "));
  expect_one_line(said.stdout_text);
  EXPECT_EQ(without({"--policy", "nagios"}).exit_code, 3);
  for (const auto& bad : {without({}, "1"), without({"--gpus", "8", "--policy", "k8s"})}) {
    EXPECT_EQ(bad.exit_code, 1) << bad.stdout_text << bad.stderr_text;
    EXPECT_THAT(bad.stdout_text, HasSubstr("that the node must have: libcuda.so.1"));
    expect_one_line(bad.stdout_text);
  }
  write_file(machine.path() / "sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
  write_file(machine.path() / "sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
  const auto on_the_bus = without({"--policy", "slurm"});
  EXPECT_EQ(on_the_bus.exit_code, 1) << on_the_bus.stderr_text;
  EXPECT_THAT(on_the_bus.stdout_text, HasSubstr("no driver for 1 GPU on the PCI bus: "));
}

TEST_F(node_command, is_bad_where_the_driver_shows_fewer_gpus_than_there_must_be) {
  const std::map<std::string, std::string> seven{{"DOCTOR_FAKE_DEVICES", "7"}};
  const auto said = node({"--gpus", "8", "--policy", "slurm"}, seven);
  EXPECT_EQ(said.exit_code, 1) << said.stdout_text << said.stderr_text;
  EXPECT_THAT(said.stdout_text, HasSubstr(": 7 of 8 GPUs"));
  expect_one_line(said.stdout_text);
  EXPECT_THAT(node({"--gpus", "1"}).stdout_text, testing::Not(HasSubstr("of 1 GPU")));
}

TEST_F(node_command, is_bad_where_the_library_of_the_driver_lacks_functions_or_cannot_be_loaded) {
  const temporary_folder drivers("cufault-node-drivers-");
  const std::filesystem::path incomplete = drivers.path() / "a", broken = drivers.path() / "b";
  std::filesystem::create_directory(incomplete);
  std::filesystem::copy(std::string(DOCTOR_FAKES) + "/libnvidia-ml.so.1", incomplete / "libcuda.so.1");
  write_file(broken / "libcuda.so.1", "no library");
  for (const auto& [folder_of_driver, why] :
       {std::pair{incomplete, "lacks functions that every driver has"}, {broken, "libcuda.so.1"}}) {
    const auto said = node({"--json"}, {{"LD_LIBRARY_PATH", folder_of_driver}});
    EXPECT_EQ(said.exit_code, 1) << said.stderr_text;
    const auto json = nlohmann::json::parse(said.stdout_text, nullptr, false);
    ASSERT_TRUE(json.is_object()) << said.stdout_text;
    EXPECT_EQ(json["reasons"][0]["code"], "driver_unusable");
    EXPECT_THAT(json["reasons"][0]["text"].get<std::string>(), HasSubstr(why));
  }
}

TEST_F(node_command, is_bad_where_the_driver_refuses) {
  const auto said = node({"--json"}, {{"DOCTOR_FAKE_CUINIT", "803"}});
  EXPECT_EQ(said.exit_code, 1) << said.stderr_text;
  const auto json = nlohmann::json::parse(said.stdout_text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.stdout_text;
  EXPECT_EQ(json["verdict"], "bad");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["drill"], false);
  EXPECT_EQ(json["reasons"][0]["code"], "driver_refuses");
  EXPECT_EQ(json["checks"].size(), 8U);
  EXPECT_EQ(said.stderr_text, json["line"].get<std::string>() + "\n");
  EXPECT_EQ(node({"--policy", "nagios"}, {{"DOCTOR_FAKE_CUINIT", "803"}}).exit_code, 2);
}

TEST_F(node_command, is_not_decidable_where_the_driver_hangs_and_ends_in_time) {
  const auto said = node({"--timeout", "3"}, {{"DOCTOR_FAKE_CUINIT", "hang"}});
  EXPECT_EQ(said.exit_code, 0) << said.stderr_text;
  EXPECT_THAT(said.stdout_text, HasSubstr("the driver did not answer: no answer in "));
}

TEST_F(node_command, says_in_one_line_that_it_was_used_wrongly) {
  for (const auto& words : {std::vector<std::string>{"--policy", "pbs"},
                            {"--timeout", "0"},
                            {"--gpus", "0"},
                            {"--gpus", "all"},
                            {"now"}}) {
    const auto said = node(words);
    EXPECT_EQ(said.exit_code, 2);
    EXPECT_EQ(said.stdout_text, "");
    expect_one_line(said.stderr_text);
  }
}

#ifdef WITH_TRACER
class node_trials : public node_command {
 protected:
  static nlohmann::json control_in(const nlohmann::json& verdict) {
    for (const auto& arm : verdict["gpus"][0]["arms"])
      if (arm["arm"] == "control") return arm;
    return {};
  }
  process_result with_control(const std::string& status,
                              std::map<std::string, std::string> environment = {}) {
    environment["ROAD_CONTROL"] = status;
    return node({"--json", "--trials", "road.create", "--cublas", FAKE_CUBLAS}, std::move(environment));
  }
};

TEST_F(node_trials, prove_it_bad_where_a_control_fails_twice) {
  const auto said = with_control("3");
  EXPECT_EQ(said.exit_code, 1) << said.stderr_text;
  const auto json = nlohmann::json::parse(said.stdout_text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.stdout_text;
  EXPECT_EQ(json["reasons"][0]["code"], "trial_failed") << json["line"];
  EXPECT_EQ(json["reasons"][0]["device"], 0);
  EXPECT_EQ(control_in(json)["again"], "UNRESOLVED");
}

TEST_F(node_trials, prove_nothing_while_others_use_the_gpu) {
  const auto said = with_control("3", {{"DOCTOR_FAKE_UNUSED", ""}, {"DOCTOR_FAKE_NVML", "0"}});
  const auto json = nlohmann::json::parse(said.stdout_text, nullptr, false);
  EXPECT_EQ(said.exit_code, 0) << said.stderr_text;
  EXPECT_EQ(json["verdict"], "undecided");
  EXPECT_EQ(json["reasons"][0]["code"], "busy") << json["line"];
}

TEST_F(node_trials, that_pass_are_not_repeated) {
  const auto said = with_control("0");
  const auto json = nlohmann::json::parse(said.stdout_text, nullptr, false);
  EXPECT_EQ(said.exit_code, 0) << said.stderr_text;
  EXPECT_EQ(control_in(json)["verdict"], "NEW");
  EXPECT_FALSE(control_in(json).contains("again"));
  EXPECT_EQ(json["reasons"][0]["code"], "not_usable_by_cufault") << "the runtime cannot use the fake driver";
}

TEST_F(node_trials, of_a_wrong_name_or_with_no_cublas_are_wrong_use_with_a_driver_and_without) {
  for (const std::string& libraries : {std::string(DOCTOR_FAKES), std::string()})
    for (const auto& [words, why] :
         {std::pair{std::vector<std::string>{"--trials", "no.such", "--cublas", FAKE_CUBLAS},
                    "no case, family or CASE/ARM is called no.such"},
          {{"--trials", "road.create", "no.such", "--policy", "slurm"},
           "no case, family or CASE/ARM is called no.such"},
          {{"--trials", "sweep.road"}, "--trials sweep.road: none of its arms is of the quick tier"},
          {{"--cublas", "/nonexistent"}, "/nonexistent: no such file or folder; give a libcublas.so"},
          {{"--cublas", "/etc"}, "/etc: no libcublas.so.N in this folder"},
          {{"--cublaslt", "/nonexistent", "--drill"}, "/nonexistent: no such file or folder"}}) {
      const auto said = node(words, {{"LD_LIBRARY_PATH", libraries}});
      EXPECT_EQ(said.exit_code, 2) << why;
      EXPECT_EQ(said.stdout_text, "");
      EXPECT_THAT(said.stderr_text, StartsWith(std::string("cufault: ") + why));
      expect_one_line(said.stderr_text);
    }
  EXPECT_EQ(node({"--trials", "road.create", "--cublas", FAKE_CUBLAS}, {{"LD_LIBRARY_PATH", ""}}).exit_code,
            0);
}

#ifndef SANITIZED  // the drill preloads the injector, and a sanitizer wants to be first
TEST_F(node_command, fails_on_purpose_through_the_injector) {
  const auto said = node({"--drill", "--json", "--policy", "nagios"});
  EXPECT_EQ(said.exit_code, 2) << said.stderr_text;
  const auto json = nlohmann::json::parse(said.stdout_text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.stdout_text;
  EXPECT_EQ(json["drill"], true);
  EXPECT_EQ(json["verdict"], "bad");
  EXPECT_THAT(json["line"].get<std::string>(), StartsWith("CUFAULT CRITICAL - bad: DRILL: "));
  EXPECT_THAT(json["reasons"][0]["text"].get<std::string>(), HasSubstr("cudaErrorSystemNotReady"));
}
#endif

#ifndef SANITIZED  // the drill preloads the injector, and a sanitizer wants to be first
TEST_F(node_command, does_not_pass_where_there_is_nothing_to_fail_on_purpose) {
  if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY); driver != nullptr) {
    dlclose(driver);
    GTEST_SKIP() << "there is a driver here";
  }
  const auto said = node({"--drill"}, {{"LD_LIBRARY_PATH", ""}, {"CUFAULT_REQUIRE_GPU", "1"}});
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_THAT(said.stdout_text, HasSubstr("the drill did not make it fail"));
}
#endif
#endif

}  // namespace
}  // namespace cufault
