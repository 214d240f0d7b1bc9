// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/node_verdict.hpp"

#include "reports/base/tests/prometheus_grammar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::HasSubstr;
using testing::Not;

/// One GPU, on which a control and a fault came to what was expected.
class node_verdicts : public testing::Test {
 protected:
  node_verdicts() {
    facts.host = "n1";
    facts.driver.library = "/lib64/libcuda.so.1";
    facts.driver.devices = {{"made GPU", 90}};
    facts.gpus = {
        {.device = 0,
         .name = "made GPU",
         .arms = {{.case_name = "numbers.split_k", .arm = "control", .control = true, .judged = verdict::ok},
                  {.case_name = "numbers.split_k", .arm = "fault", .judged = verdict::reproduced}}}};
    facts.other_users = 0;
  }
  node_arm& control() { return facts.gpus[0].arms[0]; }
  node_arm& fault() { return facts.gpus[0].arms[1]; }
  void fail_control(std::optional<verdict> again) {
    control().judged = verdict::unresolved;
    control().why = "numbers wrong";
    control().again = again;
  }
  void refuse(const std::string& first, const std::string& second) {
    for (node_arm& a : facts.gpus[0].arms) a.judged = verdict::not_provoked;
    facts.gpus[0].refused = first;
    facts.gpus[0].refused_again = second;
  }
  void expect(node_state state, const std::string& code) const {
    const node_verdict v = decide(facts);
    EXPECT_EQ(name_of(v.state), name_of(state)) << v.line;
    ASSERT_FALSE(v.reasons.empty());
    EXPECT_EQ(v.reasons.front().code, code) << v.line;
  }
  node_facts facts;
};

TEST_F(node_verdicts, are_usable_where_all_is_as_expected) {
  const node_verdict v = decide(facts);
  EXPECT_EQ(v.state, node_state::usable);
  EXPECT_FALSE(v.warned);
  EXPECT_TRUE(v.reasons.empty());
  EXPECT_EQ(v.line, "usable: n1: 1 GPU, 2 of 2 arms as expected");
}

TEST_F(node_verdicts, tell_known_issues_and_are_bad_for_them_only_where_they_are_refused) {
  facts.checks.probes.push_back({.name = known_issues_probe});
  facts.checks.probes.back().report.findings = {
      {.level = finding_level::warning, .text = "cuBLAS 13.1.0 on 9.0, one: It hangs.", .harm = "hang"}};
  facts.refuse_wrong_numbers = true;
  expect(node_state::usable, "known_issue");
  EXPECT_FALSE(decide(facts).warned) << "a nagios check would warn on every node for ever";
  EXPECT_EQ(decide(facts).line, "usable: n1: 1 GPU, 2 of 2 arms as expected");
  facts.checks.probes.back().report.findings[0].harm = "wrong_numbers";
  expect(node_state::bad, "known_issue");
  EXPECT_THAT(decide(facts).line, HasSubstr("bad: n1: known issue: cuBLAS 13.1.0 on 9.0, one"));
  facts.refuse_wrong_numbers = false;
  expect(node_state::usable, "known_issue");
}

TEST_F(node_verdicts, are_bad_where_a_control_fails_twice_and_only_then) {
  fail_control(verdict::unresolved);
  expect(node_state::bad, "trial_failed");
  EXPECT_THAT(decide(facts).line,
              HasSubstr("bad: n1: GPU 0: numbers.split_k/control: UNRESOLVED, numbers wrong; twice"));
  fail_control(verdict::ok);
  expect(node_state::undecided, "not_confirmed");
  fail_control({});
  expect(node_state::undecided, "not_repeated");
}

TEST_F(node_verdicts, are_bad_where_a_remedy_is_broken_twice) {
  fault().judged = verdict::remedy_broken;
  fault().again = verdict::remedy_broken;
  expect(node_state::bad, "trial_failed");
  fault().again = verdict::cleared;
  expect(node_state::undecided, "not_confirmed");
}

TEST_F(node_verdicts, are_never_bad_where_the_harness_failed) {
  fail_control(verdict::unresolved);
  control().harness_failed = true;
  expect(node_state::undecided, "harness_failed");
}

TEST_F(node_verdicts, are_never_bad_while_others_use_the_gpus) {
  fail_control(verdict::unresolved);
  facts.other_users = 1;
  expect(node_state::undecided, "busy");
  EXPECT_THAT(decide(facts).line, HasSubstr("1 other process used GPUs here"));
  facts.other_users.reset();
  expect(node_state::undecided, "users_unknown");
  facts.other_users = 1;
  fail_control(verdict::ok);
  control().judged = verdict::ok;
  refuse("device 0: cudaErrorECCUncorrectable: x", "device 0: cudaErrorECCUncorrectable: x");
  expect(node_state::undecided, "busy");
}

TEST_F(node_verdicts, are_usable_where_no_record_is_of_the_stack) {
  fault().judged = verdict::unrecorded;
  expect(node_state::usable, "predicted");
  EXPECT_FALSE(decide(facts).warned);
}

TEST_F(node_verdicts, name_what_differs_from_the_records_and_do_not_call_it_bad) {
  fault().judged = verdict::changed;
  expect(node_state::usable, "differs");
  EXPECT_TRUE(decide(facts).warned);
}

TEST_F(node_verdicts, without_a_gpu_are_not_bad_where_none_has_to_be_there) {
  facts.gpus.clear();
  facts.driver = {.why_absent = "libcuda.so.1: cannot open"};
  expect(node_state::undecided, "no_gpu");
  facts.driver = {};
  expect(node_state::undecided, "no_gpu");
  facts.driver.initialised = 100;
  expect(node_state::undecided, "no_gpu");
}

TEST_F(node_verdicts, are_bad_where_a_gpu_that_has_to_be_there_is_not) {
  facts.gpus.clear();
  facts.driver = {.why_absent = "libcuda.so.1: cannot open"};
  facts.gpus_required = 8;
  expect(node_state::bad, "driver_missing");
  EXPECT_EQ(decide(facts).line,
            "bad: n1: no driver for the 8 GPUs that the node must have: libcuda.so.1: cannot open");
  facts.driver = {.initialised = 100};
  expect(node_state::bad, "gpus_missing");
  EXPECT_THAT(decide(facts).line, HasSubstr("bad: n1: 0 of 8 GPUs"));
  facts.driver = {.initialised = 46};
  expect(node_state::undecided, "busy");
}

TEST_F(node_verdicts, are_bad_where_a_gpu_on_the_pci_bus_has_no_driver) {
  facts.gpus.clear();
  facts.driver = {.why_absent = "libcuda.so.1: cannot open"};
  facts.pci_gpus = {"0000:3b:00.0"};
  expect(node_state::bad, "driver_missing");
  EXPECT_EQ(decide(facts).line, "bad: n1: no driver for 1 GPU on the PCI bus: libcuda.so.1: cannot open");
  facts.driver = {.initialised = 100};
  expect(node_state::undecided, "no_gpu");
}

TEST_F(node_verdicts, are_bad_where_the_library_of_the_driver_is_there_and_of_no_use) {
  facts.gpus.clear();
  facts.driver = {.why_absent = "/lib64/libcuda.so.1: file too short", .library = "/lib64/libcuda.so.1"};
  expect(node_state::bad, "driver_unusable");
}

TEST_F(node_verdicts, name_the_gpus_that_are_missing_where_the_bus_tells_which) {
  facts.driver.devices = {{"made GPU", 90, "0000:3b:00.0"}};
  facts.gpus_required = 1;
  facts.pci_gpus = {"0000:3b:00.0", "0000:5d:00.0"};
  EXPECT_EQ(decide(facts).state, node_state::usable) << "more than it must have";
  facts.gpus_required = 2;
  expect(node_state::bad, "gpus_missing");
  EXPECT_EQ(decide(facts).line, "bad: n1: 1 of 2 GPUs: the driver does not show 0000:5d:00.0");
  facts.gpus_required = 3;
  EXPECT_EQ(decide(facts).line,
            "bad: n1: 1 of 3 GPUs: the driver does not show 0000:5d:00.0, the PCI bus has 2");
  facts.pci_gpus.pop_back();
  EXPECT_EQ(decide(facts).line, "bad: n1: 1 of 3 GPUs: the PCI bus has 1");
  facts.gpus_required = 2;
  facts.pci_gpus = {"0000:3b:00.0", "0000:5d:00.0", "0000:86:00.0"};
  EXPECT_EQ(decide(facts).line, "bad: n1: 1 of 2 GPUs") << "which of the others is not known";
  facts.pci_gpus.clear();
  facts.visible_devices = "CUDA_VISIBLE_DEVICES=0";
  EXPECT_EQ(decide(facts).line, "bad: n1: 1 of 2 GPUs; CUDA_VISIBLE_DEVICES=0");
}

TEST_F(node_verdicts, are_bad_where_the_driver_refuses_unless_it_is_in_use) {
  facts.gpus.clear();
  for (const int code : {34, 802, 803, 804, 999}) {
    facts.driver.initialised = code;
    expect(node_state::bad, "driver_refuses");
  }
  for (const int code : {2, 46}) {
    facts.driver.initialised = code;
    expect(node_state::undecided, "busy");
  }
  facts.driver_silent = "no answer in 10000 ms: killed";
  expect(node_state::undecided, "driver_silent");
}

TEST_F(node_verdicts, are_bad_where_a_gpu_refuses_the_runtime_twice) {
  const std::string broken = "device 0: cudaErrorECCUncorrectable: uncorrectable ECC error encountered";
  refuse(broken, broken);
  expect(node_state::bad, "gpu_refused");
  refuse(broken, "");
  expect(node_state::undecided, "not_repeated");
  refuse(broken, "device 0: cudaErrorUnknown: unknown error");
  expect(node_state::undecided, "not_confirmed");
  const std::string busy = "device 0: cudaErrorDevicesUnavailable: busy";
  refuse(busy, busy);
  expect(node_state::undecided, "busy");
  for (const std::string old : {"cudaErrorInsufficientDriver: x", "cudaErrorCallRequiresNewerDriver: x"}) {
    refuse(old, old);
    expect(node_state::undecided, "not_usable_by_cufault");
  }
  refuse("the driver shows none", "the driver shows none");
  expect(node_state::undecided, "not_usable_by_cufault");
}

TEST_F(node_verdicts, are_undecided_where_trials_are_missing) {
  facts.gpus[0].unfinished = "GPU x is in use by process 7";
  expect(node_state::undecided, "unfinished");
  facts.gpus[0].unfinished = "";
  fault().judged = control().judged = verdict::not_provoked;
  expect(node_state::undecided, "nothing_ran");
  facts.gpus.clear();
  facts.no_trials = "built without CUDA";
  expect(node_state::undecided, "no_trials");
}

TEST_F(node_verdicts, keep_what_one_gpu_proved_where_another_is_undecided) {
  facts.gpus.push_back({.device = 1, .unfinished = "no time"});
  fail_control(verdict::unresolved);
  expect(node_state::bad, "trial_failed");
  EXPECT_EQ(decide(facts).reasons.at(1).code, "unfinished");
  EXPECT_THAT(decide(facts).line, Not(HasSubstr("more")));
}

TEST_F(node_verdicts, do_not_follow_from_what_checks_found) {
  facts.checks.probes = {{.name = "driver",
                          .what = "a driver",
                          .report = {.findings = {{.level = finding_level::failure, .text = "a stub"}}},
                          .unanswered = {}}};
  const node_verdict v = decide(facts);
  EXPECT_EQ(v.state, node_state::usable);
  EXPECT_TRUE(v.warned);
  EXPECT_THAT(v.line, HasSubstr("1 finding of checks"));
}

TEST_F(node_verdicts, are_mapped_to_what_each_reader_takes_them_for) {
  const auto codes = [](const node_verdict& v) {
    std::vector<int> all;
    for (const auto& [policy, name] : names_of(node_policy::none)) all.push_back(exit_code(v, policy));
    return all;
  };
  using testing::ElementsAre;
  EXPECT_THAT(codes({.state = node_state::usable}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(codes({.state = node_state::usable, .warned = true}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(codes({.state = node_state::undecided}), ElementsAre(0, 0, 0, 3));
  EXPECT_THAT(codes({.state = node_state::bad}), ElementsAre(1, 1, 1, 2));
  EXPECT_THAT(codes(no_verdict(facts, "why")), ElementsAre(2, 0, 0, 3));
}

TEST_F(node_verdicts, are_one_line_with_no_bar_but_the_one_of_nagios) {
  fail_control(verdict::unresolved);
  control().why = "a|b\nc";
  facts.seconds = 3.25;
  const std::string line = line_for(decide(facts), facts, node_policy::nagios);
  EXPECT_THAT(line, testing::StartsWith("CUFAULT CRITICAL - bad: n1: GPU 0: "));
  EXPECT_THAT(line, testing::EndsWith(" | time=3.2s"));
  EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 1) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 0) << line;
  facts.drill = true;
  EXPECT_THAT(line_for(decide(facts), facts, node_policy::slurm),
              HasSubstr("cufault node: bad: DRILL: n1: "));
}

TEST_F(node_verdicts, are_printed_as_the_schema_says) {
  facts.version = "1.0.0 (0123456789ab)";
  facts.boot = "c6a2f6a4-0d4b-4a59-b86a-1e5a9d6f1b2c";
  facts.started = "2026-11-21T07:27:40Z";
  facts.seconds = 3.5;
  fail_control(verdict::unresolved);
  facts.gpus.push_back({.device = 1,
                        .name = "made GPU",
                        .refused = "device 1: cudaErrorUnknown: unknown error",
                        .unfinished = "no time"});
  facts.checks.probes = {
      {.name = "driver",
       .what = "the driver",
       .report =
           {.findings = {{.level = finding_level::warning, .text = "a thing", .command = "nvidia-smi"}}},
       .unanswered = {}},
      {.name = "memory", .what = "memory", .report = {.not_asked = "no time was left"}, .unanswered = {}}};
  std::ifstream file(std::string(DOCTOR_GOLDEN) + "/node.json");
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(node_json(decide(facts), facts, node_policy::k8s).dump(2) + "\n", golden);
  facts.version = "1.0.0 \"a\\b\"";
  const std::string metrics = node_metrics(decide(facts), facts);
  EXPECT_EQ(examples::wrong_in_prometheus(metrics), "") << metrics;
  for (const char* line :
       {R"(cufault_node_info{version="1.0.0 \"a\\b\""} 1)", R"(cufault_node_verdict{verdict="usable"} 0)",
        R"(cufault_node_verdict{verdict="bad"} 1)",
        R"(cufault_node_reasons{code="trial_failed",device="0",state="bad"} 1)",
        R"(cufault_node_arms{device="0",gpu="made GPU",verdict="REPRODUCED"} 1)", "cufault_node_seconds 3.5"})
    EXPECT_THAT(metrics, testing::HasSubstr(std::string("\n") + line + "\n"));
}

}  // namespace
}  // namespace cufault
