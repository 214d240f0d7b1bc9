// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/claims.hpp"

#include "reports/tests/examples.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

claim failure_claim() {
  return {.id = "S0-5",
          .kind = 'F',
          .text = "too little memory",
          .status = internal,
          .call = "cublasCreate",
          .untestable = {}};
}

claim claim_of(char kind) {
  return {.id = "S0-5", .kind = kind, .text = "text", .status = {}, .call = {}, .untestable = {}};
}

arm_result testing(arm_kind kind, std::vector<observation> trials, std::string name = "arm") {
  auto a = arm(kind, std::move(trials), std::move(name));
  a.claims = {"S0-5"};
  a.judged = verdict::uncharted;  // a control is unresolved unless somebody judged it
  return a;
}

record with(std::vector<arm_result> arms, const std::string& cublas = "13.1.0") {
  record r;
  r.stack = {{"keys", {{"cublas", cublas}}}};
  r.cases = {{.name = "memory.leak", .summary = "", .arms = std::move(arms)}};
  return r;
}

std::string verdict_on(const claim& what, const std::vector<record>& records) {
  return judge_claims({what}, records).at(0).verdict;
}

std::string verdict_on(const claim& what, std::vector<arm_result> arms) {
  return verdict_on(what, std::vector{with(std::move(arms))});
}

finding found(bool holds, std::string why = "figures") {
  return {"S0-5", holds, std::move(why)};
}

observation with_finding(observation o, finding f) {
  o.findings.push_back(std::move(f));
  return o;
}

TEST(claims, without_an_arm_are_not_measured_yet) {
  EXPECT_EQ(verdict_on(failure_claim(), std::vector<record>{}), "not measured yet");
  auto other = arm(arm_kind::fault, {trial({internal})});
  other.claims = {"S0-50"};
  EXPECT_EQ(verdict_on(failure_claim(), {other}), "not measured yet");
}

TEST(claims, that_are_untestable_stay_so) {
  auto what = claim_of('X');
  what.untestable = "the address of a page";
  EXPECT_EQ(verdict_on(what, std::vector<record>{}), "untestable");
}

TEST(claims, of_a_failure_are_confirmed_by_the_documented_status_from_the_documented_call) {
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {trial({internal})})}), "confirmed");
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {trial({internal}), trial({success})})}),
            "confirmed");
}

TEST(claims, of_a_failure_know_a_call_by_its_versioned_name) {
  auto o = trial({});
  o.calls.push_back(call("cublasCreate_v2(&h)", internal));
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {o})}), "confirmed");
}

TEST(claims, of_a_failure_have_another_status_where_status_or_call_differ) {
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {trial({no_memory})})}), "other status");
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {crash({})})}), "other status");
  auto elsewhere = trial({success});
  elsewhere.calls.push_back(call("cublasSgemm(h)", internal));
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {elsewhere})}), "other status");
  auto later = trial({no_memory, internal});  // the first failure is the one that a caller meets
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {later})}), "other status");
}

TEST(claims, of_a_failure_are_refuted_where_nothing_fails) {
  EXPECT_EQ(
      verdict_on(failure_claim(), {testing(arm_kind::fault, {trial({success}), trial({success, right})})}),
      "refuted");
}

TEST(claims, of_a_failure_hold_partly_where_a_ladder_fails_in_two_ways) {
  EXPECT_EQ(verdict_on(failure_claim(),
                       {testing(arm_kind::fault, {trial({no_memory}), trial({internal}), trial({success})})}),
            "partly");
}

TEST(claims, that_name_no_status_or_call_are_content_with_any) {
  EXPECT_EQ(verdict_on(claim_of('F'), {testing(arm_kind::fault, {crash({})})}), "confirmed");
  auto call_only = failure_claim();
  call_only.status.clear();
  EXPECT_EQ(verdict_on(call_only, {testing(arm_kind::fault, {trial({no_memory})})}), "confirmed");
  EXPECT_EQ(verdict_on(call_only, {testing(arm_kind::fault, {crash({})})}), "other status");
  auto status_only = failure_claim();
  status_only.call.clear();
  auto elsewhere = trial({});
  elsewhere.calls.push_back(call("cublasSgemm(h)", internal));
  EXPECT_EQ(verdict_on(status_only, {testing(arm_kind::fault, {elsewhere})}), "confirmed");
}

TEST(claims, of_a_failure_are_not_tested_by_controls_and_remedies) {
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::control, {trial({success})}),
                                         testing(arm_kind::remedy, {trial({internal}, {success, right})})}),
            "not measured yet");
}

TEST(claims, are_tested_by_sweeps_only_where_these_found_something) {
  auto swept = trial({internal});
  swept.calls[0].swept = swept_calls{};
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {swept})}), "not measured yet");
  swept.findings = {{"S0-5", false, "none of ten"}};
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {swept})}), "refuted");
}

TEST(claims, of_a_remedy_are_confirmed_where_it_clears_and_refuted_where_not) {
  for (const auto kind : {arm_kind::remedy, arm_kind::dead_end}) {
    EXPECT_EQ(verdict_on(claim_of('R'), {testing(kind, {trial({no_memory}, {success, right})})}),
              "confirmed");
    EXPECT_EQ(verdict_on(claim_of('R'), {testing(kind, {trial({no_memory}, {no_memory})})}), "refuted");
    EXPECT_EQ(verdict_on(claim_of('R'), {testing(kind, {trial({no_memory}, {success, wrong})})}), "refuted");
    EXPECT_EQ(
        verdict_on(claim_of('R'),
                   {testing(kind, {trial({no_memory}, {success, right}), trial({no_memory}, {no_memory})})}),
        "partly")
        << "it clears on some rungs";
  }
}

TEST(claims, of_a_dead_end_are_confirmed_where_it_does_not_clear) {
  EXPECT_EQ(verdict_on(claim_of('D'), {testing(arm_kind::dead_end, {trial({no_memory}, {no_memory})})}),
            "confirmed");
  EXPECT_EQ(verdict_on(claim_of('D'), {testing(arm_kind::dead_end, {trial({no_memory}, {success, right})})}),
            "refuted");
}

TEST(claims, of_a_remedy_say_nothing_where_there_was_nothing_to_clear) {
  EXPECT_EQ(verdict_on(claim_of('R'), {testing(arm_kind::remedy, {trial({success}, {success, right})})}),
            "not measured yet");
  EXPECT_EQ(verdict_on(claim_of('R'), {testing(arm_kind::remedy, {trial({success, right})})}),
            "not measured yet");
  EXPECT_EQ(verdict_on(claim_of('R'), {testing(arm_kind::remedy, {trial({success, right})}),
                                       arm(arm_kind::fault, {trial({success})}, "fault")}),
            "not measured yet");
}

TEST(claims, of_a_remedy_in_place_from_the_start_count_against_the_fault_arm_it_answers) {
  auto saves = testing(arm_kind::remedy, {trial({}, {success, right})});
  auto does_not = testing(arm_kind::remedy, {trial({}, {no_memory})});
  for (auto* a : {&saves, &does_not}) a->against = "fault";
  const auto fault = arm(arm_kind::fault, {trial({no_memory})}, "fault");
  EXPECT_EQ(verdict_on(claim_of('R'), {saves, fault}), "confirmed");
  EXPECT_EQ(verdict_on(claim_of('R'), {does_not, fault}), "refuted");
  saves.against = "another";
  EXPECT_EQ(verdict_on(claim_of('R'), {saves, fault, arm(arm_kind::fault, {trial({success})}, "another")}),
            "not measured yet");
}

TEST(claims, of_a_failure_look_at_the_documented_call_whatever_failed_before_it) {
  auto what = failure_claim();
  what.call = "cublasCreate";
  const auto calls = [](const char* status) {
    auto o = trial({});
    for (const auto& [text, returned] :
         {std::pair{"cudaGetDeviceCount(&n)", "cudaErrorInsufficientDriver"}, {"cublasCreate(&h)", status}}) {
      call_record call;
      call.text = text;
      call.status = returned;
      o.calls.push_back(call);
    }
    return o;
  };
  EXPECT_EQ(verdict_on(what, {testing(arm_kind::fault, {calls(internal)})}), "confirmed");
  EXPECT_EQ(verdict_on(what, {testing(arm_kind::fault, {calls(no_memory)})}), "other status");
  EXPECT_EQ(verdict_on(what, {testing(arm_kind::fault, {calls(success)})}), "other status");
}

TEST(claims, of_fact_are_judged_by_findings_alone) {
  EXPECT_EQ(verdict_on(claim_of('X'), {testing(arm_kind::fault, {trial({internal})})}), "not measured yet");
  EXPECT_EQ(
      verdict_on(claim_of('X'), {testing(arm_kind::fault, {with_finding(trial({internal}), found(true))})}),
      "confirmed");
  EXPECT_EQ(
      verdict_on(claim_of('X'), {testing(arm_kind::fault, {with_finding(trial({internal}), found(false))})}),
      "refuted");
}

TEST(claims, are_judged_by_a_finding_before_anything_else) {
  EXPECT_EQ(verdict_on(failure_claim(),
                       {testing(arm_kind::fault, {with_finding(trial({internal}), found(false))})}),
            "refuted");
  auto control = testing(arm_kind::control, {with_finding(trial({success}), found(true))});
  const auto fault = arm(arm_kind::fault, {trial({internal})}, "fault");
  EXPECT_EQ(verdict_on(failure_claim(), {control, fault}), "confirmed");
  control.claims.clear();  // an arm speaks only of what it says it tests
  EXPECT_EQ(verdict_on(failure_claim(), {control, fault}), "not measured yet");
}

TEST(claims, are_not_judged_by_controls_that_ran_with_injected_twins_alone) {
  const auto control = testing(arm_kind::control, {with_finding(trial({success}), found(true))}, "control");
  auto twin = testing(arm_kind::fault, {trial({internal})}, "full_injected");
  twin.twin_of = "full";
  EXPECT_EQ(verdict_on(claim_of('X'), {control, twin}), "not measured yet");
  EXPECT_EQ(verdict_on(claim_of('X'), {control}), "not measured yet");
  EXPECT_EQ(verdict_on(claim_of('X'), {control, twin, arm(arm_kind::fault, {trial({internal})}, "full")}),
            "confirmed");
  const auto alone = with({control, arm(arm_kind::fault, {trial({internal})}, "full")});
  const auto beside_others =
      with({testing(arm_kind::control, {with_finding(trial({success}), found(false))}, "control"), twin});
  EXPECT_EQ(verdict_on(claim_of('X'), {alone, beside_others}), "confirmed");
}

TEST(claims, hold_partly_where_findings_of_one_arm_disagree) {
  const auto v = judge_claims(
      {claim_of('X')},
      std::vector{with({testing(arm_kind::fault, {with_finding(trial({}), found(true, "8 MiB")),
                                                  with_finding(trial({}), found(true, "8 MiB")),
                                                  with_finding(trial({}), found(false, "0 MiB"))})})});
  EXPECT_EQ(v[0].verdict, "partly");
  EXPECT_EQ(v[0].evidence.at(0).why, "8 MiB; 0 MiB");
}

TEST(claims, are_not_judged_by_the_findings_of_those_that_survived) {
  auto hung = crash({});
  hung.ended = outcome::timed_out;
  const auto survived = with_finding(trial({success}), found(false));
  for (const auto& lost : {crash({}), hung}) {
    EXPECT_EQ(verdict_on(claim_of('X'), {testing(arm_kind::fault, {survived, lost})}), "not measured yet");
    EXPECT_EQ(verdict_on(claim_of('F'), {testing(arm_kind::fault, {survived, lost})}), "not measured yet");
    EXPECT_EQ(
        verdict_on(claim_of('X'), {testing(arm_kind::fault, {survived, with_finding(lost, found(true))})}),
        "partly")
        << "what it found before it ended counts";
  }
  EXPECT_EQ(verdict_on(claim_of('F'), {testing(arm_kind::fault, {trial({success}), crash({})})}), "confirmed")
      << "an arm without findings is judged by its failures";
}

TEST(claims, of_fact_show_an_arm_that_ended_before_it_could_tell) {
  const auto cut_off = testing(arm_kind::fault, {crash({})}, "one");
  const auto v = judge_claims({claim_of('X')}, std::vector{with({cut_off})});
  EXPECT_EQ(v[0].verdict, "not measured yet");
  EXPECT_EQ(v[0].evidence.at(0).says, "cut off");
  EXPECT_EQ(
      verdict_on(claim_of('X'),
                 {cut_off, testing(arm_kind::fault, {with_finding(trial({success}), found(false))}, "two")}),
      "partly")
      << "the others do not speak for it";
}

TEST(claims, of_a_failure_have_another_status_if_nowhere_the_documented_one) {
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {trial({no_memory})}, "one"),
                                         testing(arm_kind::fault, {trial({success})}, "two")}),
            "other status");
}

TEST(claims, hold_partly_where_arms_or_stacks_disagree) {
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {trial({internal})}, "one"),
                                         testing(arm_kind::fault, {trial({success})}, "two")}),
            "partly");
  EXPECT_EQ(verdict_on(failure_claim(),
                       std::vector{with({testing(arm_kind::fault, {trial({internal})})}, "12.9"),
                                   with({testing(arm_kind::fault, {trial({no_memory})})}, "13.1")}),
            "partly");
  EXPECT_EQ(
      verdict_on(failure_claim(), std::vector{with({testing(arm_kind::fault, {trial({internal})})}, "12.9"),
                                              with({testing(arm_kind::fault, {trial({internal})})}, "13.1")}),
      "confirmed");
}

TEST(claims, are_not_judged_by_arms_that_were_not_observed) {
  EXPECT_EQ(
      verdict_on(failure_claim(), {testing(arm_kind::fault, {trial({internal}), not_provoked("no GPU")})}),
      "not measured yet");
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {harness_failed("garbled")})}),
            "not measured yet");
  EXPECT_EQ(verdict_on(failure_claim(), {testing(arm_kind::fault, {})}), "not measured yet");
}

TEST(claims, are_not_judged_by_a_case_whose_control_is_unresolved) {
  auto control = arm(arm_kind::control, {trial({no_memory})}, "control");
  control.judged = verdict::unresolved;
  EXPECT_EQ(verdict_on(failure_claim(), {control, testing(arm_kind::fault, {trial({internal})})}),
            "not measured yet");
  control.judged = verdict::uncharted;
  EXPECT_EQ(verdict_on(failure_claim(), {control, testing(arm_kind::fault, {trial({internal})})}),
            "confirmed");
}

TEST(claims, name_the_evidence) {
  const auto v = judge_claims({failure_claim()},
                              std::vector{with({testing(arm_kind::fault, {trial({no_memory})}, "lazy")})});
  ASSERT_EQ(v.size(), 1U);
  ASSERT_EQ(v[0].evidence.size(), 1U);
  const auto& e = v[0].evidence[0];
  EXPECT_EQ(e.case_name, "memory.leak");
  EXPECT_EQ(e.arm, "lazy");
  EXPECT_EQ(e.stack, "cuBLAS 13.1.0");
  EXPECT_EQ(e.says, "other status");
  EXPECT_EQ(e.why, "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; context usable");

  const auto j = to_json(v);
  EXPECT_EQ(j["schema"], 1);
  EXPECT_EQ(j["claims"][0]["id"], "S0-5");
  EXPECT_EQ(j["claims"][0]["verdict"], "other status");
  EXPECT_EQ(j["claims"][0]["evidence"][0]["arm"], "lazy");
  EXPECT_FALSE(j["claims"][0].contains("untestable"));
}

std::string told(std::string_view claims) {
  const auto text = fmt::format(
      "{{\"schema\": 1, \"documents\": [{{\"id\": \"S0\", \"title\": \"t\", \"claims\": [\n{}]}}]}}", claims);
  return refusal([&] { return claims_from(cursor(text)); });
}

TEST(claims_file, that_is_malformed_is_refused_by_line_and_field) {
  constexpr auto where = "x.json:2: documents[0].claims[0]";
  EXPECT_EQ(told(R"({"id": "S0-1", "kind": "F", "text": "t"})"), "(nothing was refused)");
  EXPECT_EQ(told(R"({"id": "S0-1", "kind": "F"})"), fmt::format("{}: \"text\" is missing", where));
  EXPECT_EQ(told(R"({"id": "S1-1", "kind": "F", "text": "t"})"),
            fmt::format("{}.id: not in document S0", where));
  EXPECT_EQ(told(R"({"id": "S0-1", "kind": "Q", "text": "t"})"),
            fmt::format("{}.kind: expected one of F, R, D, X", where));
  EXPECT_EQ(told(R"({"id": "S0-1", "kind": "", "text": "t"})"),
            fmt::format("{}.kind: expected one of F, R, D, X", where));
  EXPECT_EQ(told(R"({"id": "S0-1", "kind": "R", "text": "t", "status": "s"})"),
            fmt::format("{}.status: belongs to claims of kind F", where));
  EXPECT_EQ(told(R"({"id": "S0-1", "kind": "F", "text": "t", "call": ""})"),
            fmt::format("{}.call: must not be empty; leave it out", where));
  EXPECT_EQ(told(R"({"id": "S0-1", "kind": "F", "text": "t", "note": ""})"),
            fmt::format("{}.note: unknown key", where));
  EXPECT_EQ(told("{\"id\": \"S0-1\", \"kind\": \"F\", \"text\": \"t\"},\n{\"id\": \"S0-1\", \"kind\": \"X\", "
                 "\"text\": \"t\"}"),
            "x.json:3: documents[0].claims[1].id: \"S0-1\" twice");
  EXPECT_EQ(refusal([] { return claims_from(cursor("{\"schema\": 9}")); }),
            "x.json:1: schema: schema 9, but this build reads 1 only");
}

TEST(claims_file, of_this_project_holds_the_whole_ledger) {
  const auto claims = load_claims(CUFAULT_CLAIMS_FILE);
  std::map<std::string, int> of_document;
  std::map<std::string, claim> by_id;
  for (const auto& c : claims) {
    ++of_document[c.id.substr(0, 2)];
    by_id[c.id] = c;
    EXPECT_FALSE(c.text.empty()) << c.id;
  }
  EXPECT_EQ(of_document, (std::map<std::string, int>{{"S0", 17}, {"S1", 16}, {"S2", 14}, {"S3", 17}}));
  EXPECT_EQ(by_id["S0-1"].status, "CUBLAS_STATUS_INTERNAL_ERROR");
  EXPECT_EQ(by_id["S2-1"].call, "cublasLtMatmulAlgoGetHeuristic");
  const auto untestable =
      std::count_if(claims.begin(), claims.end(), [](const claim& c) { return !c.untestable.empty(); });
  EXPECT_EQ(untestable, 8);
  for (const auto* id : {"S0-15", "S0-17", "S1-12", "S2-5", "S2-6", "S2-7", "S2-11", "S2-14"})
    EXPECT_FALSE(by_id[id].untestable.empty()) << id;
}

TEST(claim_verdict, awaits_a_framework_beside_what_the_raw_arms_show) {
  const auto read = claims_from(cursor(R"({"schema": 1, "documents": [{"id": "S0", "title": "t", "claims":
    [{"id": "S0-5", "kind": "F", "text": "t", "awaits": "a framework"}]}]})"));
  record r;
  r.cases = {{.name = "memory.leak", .summary = "", .arms = {arm(arm_kind::fault, {trial({no_memory})})}}};
  r.cases[0].arms[0].claims = {"S0-5"};
  const auto verdicts = judge_claims(read, std::array{r});
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts[0].verdict, "awaits a framework");
  EXPECT_EQ(verdicts[0].evidence.size(), 1U);
}

TEST(claims_file, may_not_call_a_claim_untestable_and_let_it_await_somebody) {
  EXPECT_THROW(claims_from(cursor(R"({"schema": 1, "documents": [{"id": "S0", "title": "t", "claims":
    [{"id": "S0-5", "kind": "F", "text": "t", "untestable": "u", "awaits": "a"}]}]})")),
               input_error);
}

}  // namespace
}  // namespace cufault
