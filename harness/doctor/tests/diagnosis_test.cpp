// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/diagnosis.hpp"

#include "harness/doctor/tests/made_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace cufault {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class diagnoses : public made_machine {
 protected:
  static probe saying(finding_level level) {
    return {"says", "something", 30s, false, [level](const machine&) {
              return probe_report{.findings = {{.level = level, .text = "a thing"}}};
            }};
  }
  static probe well() {
    return {"well", "nothing", 30s, false, [](const machine&) { return probe_report{}; }};
  }
  static probe hanging() {
    return {"hangs", "nothing", 50ms, false, [](const machine&) -> probe_report {
              for (;;) pause();
            }};
  }
  static probe crashing() {
    return {"crashes", "nothing", 30s, false, [](const machine&) {
              std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would end the process with an exit code
              raise(SIGSEGV);
              return probe_report{};
            }};
  }
  static std::string text(const diagnosis& d) {
    std::ostringstream out;
    print_findings(out, d);
    return out.str();
  }
};

TEST_F(diagnoses, end_with_the_worst_finding) {
  EXPECT_EQ(exit_code(examine({well()}, m), true), 0);
  EXPECT_EQ(exit_code(examine({well(), saying(finding_level::note)}, m), true), 0);
  const auto warned = examine({well(), saying(finding_level::warning)}, m);
  EXPECT_EQ(exit_code(warned, false), 0);
  EXPECT_EQ(exit_code(warned, true), 1);
  EXPECT_EQ(verdict_of(warned), "warning");
  EXPECT_EQ(line_of(warned), "1 warning in 2 checks: a thing");
  const auto failed = examine({saying(finding_level::failure), saying(finding_level::warning)}, m);
  EXPECT_EQ(exit_code(failed, false), 1);
  EXPECT_EQ(verdict_of(failed), "failure");
  EXPECT_EQ(line_of(failed), "1 failure, 1 warning in 2 checks; the worst: a thing");
  const auto noted = examine({well(), saying(finding_level::note)}, m);
  EXPECT_EQ(verdict_of(noted), "ok");
  EXPECT_EQ(line_of(noted), "no failure or warning in 2 checks");
  probe the_driver = well();
  the_driver.name = "driver";
  the_driver.look = [](const machine&) {
    return probe_report{.findings = {{.level = finding_level::warning, .text = "no driver"}}};
  };
  EXPECT_EQ(line_of(examine({saying(finding_level::warning), the_driver}, m)),
            "2 warnings in 2 checks; the worst: no driver");
}

TEST_F(diagnoses, without_a_check_are_no_pass) {
  EXPECT_EQ(exit_code(examine({}, m), false), 2);
  probe none = well();
  none.needs_driver = true;
  const auto d = examine({none}, m);
  EXPECT_EQ(exit_code(d, false), 2);
  EXPECT_EQ(verdict_of(d), "unchecked");
  EXPECT_EQ(line_of(d), "no check was run, of 1");
  EXPECT_EQ(exit_code(examine({hanging()}, m), false), 2);
}

TEST_F(diagnoses, outlive_probes_that_hang_or_crash_and_name_them) {
  const auto d = examine({hanging(), crashing(), well()}, m);
  ASSERT_EQ(d.probes.size(), 3U);
  EXPECT_EQ(d.probes[0].unanswered, "no answer in 50 ms: killed");
  EXPECT_EQ(d.probes[1].unanswered, "crashed: SIGSEGV");
  EXPECT_TRUE(d.probes[2].asked());
  EXPECT_EQ(exit_code(d, false), 0);
  EXPECT_EQ(exit_code(d, true), 1);
  EXPECT_THAT(text(d), HasSubstr("[no answer] hangs"));
  EXPECT_EQ(verdict_of(d), "warning");
  EXPECT_THAT(line_of(d), HasSubstr("2 without an answer"));
}

TEST_F(diagnoses, ask_what_needs_a_driver_only_behind_one_that_is_usable) {
  probe needs = well();
  needs.needs_driver = true;
  probe the_driver = well();
  EXPECT_EQ(examine({the_driver, needs}, m).probes[1].report.not_asked, "no driver that can be used");
  the_driver.look = [](const machine&) { return probe_report{.driver_usable = true}; };
  EXPECT_TRUE(examine({the_driver, needs}, m).probes[1].asked());
}

TEST_F(diagnoses, say_of_a_remedy_what_the_records_say) {
  probe p = well();
  p.look = [](const machine&) {
    return probe_report{
        .findings = {{.text = "one", .case_name = "environment.driver_missing", .remedy = "drop_the_stub"},
                     {.text = "two", .case_name = "environment.driver_missing", .remedy = "reinstall"},
                     {.text = "three", .case_name = "sticky.device_fault", .remedy = "new_process_*"},
                     {.text = "four", .case_name = "environment.wrong_code"}}};
  };
  m.measured.cleared = {{"environment.driver_missing/drop_the_stub", {"stack A", "stack B"}},
                        {"sticky.device_fault/new_process_trap", {"stack A"}},
                        {"sticky.device_fault/new_processor", {"stack B"}}};
  const auto d = examine({p}, m);
  EXPECT_EQ(d.probes[0].report.findings[0].measured,
            "cleared it on 2 recorded stacks of GPU, driver and cuBLAS");
  EXPECT_EQ(d.probes[0].report.findings[1].measured, "no measured remedy");
  EXPECT_EQ(d.probes[0].report.findings[2].measured, "cleared it on one recorded stack: stack A");
  EXPECT_THAT(text(d),
              HasSubstr("      evidence  environment.driver_missing/drop_the_stub: cleared it on 2 "));
  EXPECT_THAT(text(d), HasSubstr("      evidence  environment.wrong_code: no measured remedy\n"));
}

TEST_F(diagnoses, say_what_to_do_before_the_evidence) {
  probe p = well();
  p.look = [](const machine&) {
    return probe_report{.findings = {{.text = "a thing",
                                      .advice = "Do this.",
                                      .case_name = "environment.driver_missing",
                                      .command = "unset IT"}}};
  };
  EXPECT_THAT(text(examine({p}, m)), HasSubstr("    note: a thing\n      to do     Do this.\n      run       "
                                               "unset IT\n      evidence  environment.driver_missing: "));
}

TEST_F(diagnoses, print_text_of_the_machine_without_control_characters) {
  probe p = well();
  p.look = [](const machine&) {
    return probe_report{.findings = {{.text = "a\033[31m\nb", .command = "unset 'x\ny'"}}, .seen = {"c\rd"}};
  };
  const std::string said = text(examine({p}, m));
  EXPECT_EQ(said.find_first_of("\033\r"), std::string::npos);
  EXPECT_THAT(said, HasSubstr("unset 'x?y'"));
}

TEST_F(diagnoses, have_three_columns_of_libraries) {
  probe found = well(), loaded = well();
  found.look = [](const machine&) {
    return probe_report{
        .libraries = {
            {.name = "libcublas.so.13", .found = "/a", .found_by = "ld.so.cache", .on_disk = {"/a", "/b"}}}};
  };
  loaded.name = "loaded";
  loaded.needs_driver = true;
  auto d = examine({found, loaded}, m);
  EXPECT_THAT(
      text(d),
      HasSubstr("loaded    not asked\n    found     /a (ld.so.cache)\n    on disk   /a\n              /b"));
  add_loaded(d, {"libcublas.so.13"});
  EXPECT_THAT(text(d), HasSubstr("loaded    in the command"));
}

TEST_F(diagnoses, fail_with_the_command) {
  auto d = examine({well()}, m);
  d.command = "false";
  d.command_exit_code = 1;
  EXPECT_EQ(exit_code(d, false), 1);
  EXPECT_EQ(verdict_of(d), "failure");
  EXPECT_EQ(line_of(d), "no failure or warning in 1 check; the command failed with 1");
  EXPECT_EQ(diagnosis_json(d, false)["command"]["exit_code"], 1);
}

std::string golden(const char* name) {
  std::ifstream file(std::string(DOCTOR_GOLDEN) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(diagnoses, are_printed_as_the_schemas_say) {
  diagnosis d;
  d.probes = {
      {.name = "search_path",
       .what = "folders",
       .report = {.findings = {{.level = finding_level::failure,
                                .text = "a stub",
                                .advice = "Take it out.",
                                .case_name = "environment.driver_missing",
                                .remedy = "drop_the_stub",
                                .command = "unset LD_LIBRARY_PATH",
                                .measured = "cleared it on one recorded stack: a stack"}},
                  .seen = {"a line"},
                  .libraries = {{.name = "libcublas.so.13",
                                 .loaded = "/a/libcublas.so.13",
                                 .found = "/b/libcublas.so.13",
                                 .found_by = "RUNPATH",
                                 .on_disk = {"/c/libcublas.so.13"}}}},
       .unanswered = {},
       .milliseconds = 1.5},
      {.name = "gpus", .what = "GPUs", .report = {.not_asked = "no driver"}, .unanswered = {}},
      {.name = "slow", .what = "nothing", .report = {}, .unanswered = "killed", .milliseconds = 5000}};
  d.command = "./program --fast";
  d.command_exit_code = 139;
  EXPECT_EQ(diagnosis_json(d, false).dump(2) + "\n", golden("diagnosis.json"));
}

TEST_F(diagnoses, of_a_library_are_printed_as_the_schema_says) {
  const std::string bytes = made_elf{.soname = "libcublas.so.13",
                                     .runpath = "$ORIGIN",
                                     .needed = {"libcublasLt.so.13"},
                                     .data = std::string("\0CUDA_MODULE_LOADING\0", 21),
                                     .fatbin = made_container({{2, 90, 0x100000}, {1, 90}}),
                                     .machine = EM_X86_64}
                                .bytes();
  const library_facts facts = read_library("libcublas.so.13", readable_text(bytes));
  EXPECT_EQ(library_json(facts, {.version = 130100, .runtime = 13000}).dump(2) + "\n",
            golden("library.json"));
  std::ostringstream text;
  print_library(text, facts, {.version = 130100, .runtime = 13000});
  EXPECT_EQ(text.str(), golden("library.txt"));
}

TEST_F(diagnoses, have_every_probe_once_and_the_driver_first) {
  bool driver = false;
  std::set<std::string> names;
  for (const probe& p : all_probes()) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    EXPECT_GT(p.limit.count(), 0);
    EXPECT_FALSE(p.needs_driver && !driver) << p.name;
    driver = driver || p.name == "driver";
  }
  EXPECT_TRUE(driver);
}

}  // namespace
}  // namespace cufault
