// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/claims.hpp"

#include "reports/judge/judge.hpp"
#include "reports/model/tests/examples.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

/// What saying() says.
std::vector<claim_rule> rules() {
  return {claim_rule_from(cursor(
      R"({"arms": ["*/*"], "holds": {"measurement": "holds", "op": "=", "value": 1}, "why": ["figure"]})"))};
}

claim ruled(claim what) {
  what.rules = rules();
  return what;
}

claim claim_of(claim_kind kind) {
  const claim what{.id = "S0-5", .kind = kind, .text = "text"};
  return kind == claim_kind::statement ? ruled(what) : what;
}

const claim of_failure{.id = "S0-5", .text = "too little memory", .status = internal, .call = "cublasCreate"};
const claim of_any_failure = claim_of(claim_kind::failure), of_remedy = claim_of(claim_kind::remedy),
            of_dead_end = claim_of(claim_kind::dead_end), of_fact = claim_of(claim_kind::statement);

arm_result testing(arm_kind kind, std::vector<observation> trials, std::string name = "arm") {
  auto a = arm(kind, std::move(trials), std::move(name));
  a.claims = {"S0-5"};
  a.judged = verdict::unrecorded;  // a control is unresolved unless somebody judged it
  return a;
}

arm_result faulty(std::vector<observation> trials, std::string name = "arm") {
  return testing(arm_kind::fault, std::move(trials), std::move(name));
}

arm_result remedied(std::vector<observation> trials, std::string name = "arm") {
  return testing(arm_kind::remedy, std::move(trials), std::move(name));
}

record with(std::vector<arm_result> arms, const std::string& cublas = "13.1.0") {
  record r;
  *r.stack = {{"keys", {{"cublas", cublas}}}};
  r.cases = {{.name = "memory.leak", .arms = std::move(arms)}};
  return r;
}

std::string verdict_on(const claim& what, const std::vector<record>& records) {
  return judge_claims({what}, records).at(0).verdict;
}

std::string verdict_on(const claim& what, std::vector<arm_result> arms) {
  return verdict_on(what, std::vector{with(std::move(arms))});
}

/// A trial that says by rules() whether the claim holds.
observation saying(bool holds, observation o, double figure = 0) {
  o.measurements.push_back({"holds", holds ? 1.0 : 0.0, ""});
  if (figure != 0) o.measurements.push_back({"figure", figure, "MiB"});
  return o;
}

TEST(claims, without_an_arm_are_not_measured_yet) {
  EXPECT_EQ(verdict_on(of_failure, std::vector<record>{}), "not measured yet");
  auto other = arm(arm_kind::fault, {trial({internal})});
  other.claims = {"S0-50"};
  EXPECT_EQ(verdict_on(of_failure, {other}), "not measured yet");
}

TEST(claims, rest_on_made_up_evidence_only_where_there_is_no_other_and_say_so) {
  auto stand_in = faulty({trial({internal})}, "stand_in");
  stand_in.made_up = true;
  EXPECT_EQ(verdict_on(of_failure, {stand_in}), "confirmed (made up)");
  const auto natural = faulty({trial({success})}, "natural");
  const auto v = judge_claims({of_failure}, std::vector{with({stand_in, natural})}).at(0);
  EXPECT_EQ(v.verdict, "refuted")
      << "not partly: what is made up does not show that this happens without cufault";
  ASSERT_EQ(v.evidence.size(), 2U);
  EXPECT_EQ(v.evidence[0].arm, "natural") << "natural ones first";
  EXPECT_FALSE(v.evidence[0].made_up);
  EXPECT_TRUE(v.evidence[1].made_up);
  auto cut_off = faulty({crash({})}, "cut_off");
  EXPECT_EQ(verdict_on(of_fact, {cut_off, stand_in}), "not measured yet");
}

TEST(claims, of_a_remedy_are_disputed_by_made_up_evidence_and_the_verdict_says_so) {
  const auto cleared = trial({no_memory}, {success, right}), failing = trial({no_memory}, {no_memory});
  for (const auto kind : {claim_kind::remedy, claim_kind::dead_end}) {
    const auto verdict = [&](const observation& natural, const observation& stand_in) {
      auto made_up = remedied({stand_in}, "stand_in");
      made_up.made_up = true;
      return verdict_on(claim_of(kind), {made_up, remedied({natural}, "natural")});
    };
    EXPECT_EQ(verdict(failing, cleared), "partly (made up)");
    EXPECT_EQ(verdict(cleared, failing), "partly (made up)");
    EXPECT_EQ(verdict(failing, failing), kind == claim_kind::remedy ? "refuted" : "confirmed");
    EXPECT_EQ(verdict(cleared, cleared), kind == claim_kind::remedy ? "confirmed" : "refuted");
  }
}

TEST(claims, that_are_untestable_stay_so) {
  auto what = of_fact;
  what.untestable = "the address of a page";
  EXPECT_EQ(verdict_on(what, std::vector<record>{}), "untestable");
  EXPECT_EQ(judge_claims({what}, {})[0].arms, "the address of a page");
}

TEST(claims, of_a_failure_are_confirmed_by_the_documented_status_from_the_documented_call) {
  EXPECT_EQ(verdict_on(of_failure, {faulty({trial({internal})})}), "confirmed");
  EXPECT_EQ(verdict_on(of_failure, {faulty({trial({internal}), trial({success})})}), "confirmed");
}

TEST(claims, of_a_failure_may_name_a_call_by_its_versioned_name) {
  auto versioned = of_failure;
  versioned.call = "cublasCreate_v2";
  EXPECT_EQ(verdict_on(versioned, {faulty({trial({internal})})}), "confirmed");
  EXPECT_EQ(verdict_on(versioned, {faulty({trial({no_memory})})}), "other status");
}

TEST(claims, of_a_failure_hold_for_every_variant_of_the_call) {
  auto o = trial({internal});
  o.calls[0].what.name.variant = "second";
  EXPECT_EQ(verdict_on(of_failure, {faulty({o})}), "confirmed");
}

TEST(claims, of_a_failure_are_tested_by_what_a_step_came_to_and_not_by_the_word_for_it) {
  auto o = trial({internal});
  o.calls[0].what.ok = true;  // it was to be refused
  EXPECT_EQ(verdict_on(of_failure, {faulty({o})}), "refuted");
}

TEST(claims, of_a_failure_are_tested_by_refined_levels_too) {
  EXPECT_EQ(
      verdict_on(of_failure, {faulty({at_level(602, trial({no_memory})), refined_at(603, trial({internal})),
                                      at_level(604, trial({success}))})}),
      "partly");
}

TEST(claims, of_a_failure_have_another_status_where_status_or_call_differ) {
  EXPECT_EQ(verdict_on(of_failure, {faulty({trial({no_memory})})}), "other status");
  EXPECT_EQ(verdict_on(of_failure, {faulty({crash({})})}), "other status");
  auto elsewhere = trial({success});
  elsewhere.calls.push_back(call("cublasSgemm", internal));
  EXPECT_EQ(verdict_on(of_failure, {faulty({elsewhere})}), "other status");
  auto later = trial({no_memory, internal});  // the first failure is the one that a caller meets
  EXPECT_EQ(verdict_on(of_failure, {faulty({later})}), "other status");
}

TEST(claims, of_a_failure_are_refuted_where_nothing_fails) {
  EXPECT_EQ(verdict_on(of_failure, {faulty({trial({success}), trial({success, right})})}), "refuted");
}

TEST(claims, of_a_failure_hold_partly_where_levels_fail_in_two_ways) {
  EXPECT_EQ(verdict_on(of_failure, {faulty({trial({no_memory}), trial({internal}), trial({success})})}),
            "partly");
}

TEST(claims, that_name_no_status_or_call_are_content_with_any) {
  EXPECT_EQ(verdict_on(of_any_failure, {faulty({crash({})})}), "confirmed");
  auto call_only = of_failure;
  call_only.status.clear();
  EXPECT_EQ(verdict_on(call_only, {faulty({trial({no_memory})})}), "confirmed");
  EXPECT_EQ(verdict_on(call_only, {faulty({crash({})})}), "other status");
  auto status_only = of_failure;
  status_only.call.clear();
  auto elsewhere = trial({});
  elsewhere.calls.push_back(call("cublasSgemm", internal));
  EXPECT_EQ(verdict_on(status_only, {faulty({elsewhere})}), "confirmed");
}

TEST(claims, of_a_failure_are_not_tested_by_controls_and_remedies) {
  EXPECT_EQ(verdict_on(of_failure, {testing(arm_kind::control, {trial({success})}),
                                    remedied({trial({internal}, {success, right})})}),
            "not measured yet");
}

TEST(claims, are_tested_by_sweeps_through_rules_alone) {
  auto swept = trial({internal});
  swept.calls[0].swept = swept_calls{};
  EXPECT_EQ(verdict_on(of_failure, {faulty({swept})}), "not measured yet");
  EXPECT_EQ(verdict_on(ruled(of_any_failure), {faulty({saying(false, swept)})}), "refuted");
}

TEST(claims, of_a_remedy_are_confirmed_where_it_clears_and_refuted_where_not) {
  for (const auto kind : {arm_kind::remedy, arm_kind::dead_end}) {
    EXPECT_EQ(verdict_on(of_remedy, {testing(kind, {trial({no_memory}, {success, right})})}), "confirmed");
    EXPECT_EQ(verdict_on(of_remedy, {testing(kind, {trial({no_memory}, {no_memory})})}), "refuted");
    EXPECT_EQ(verdict_on(of_remedy, {testing(kind, {trial({no_memory}, {success, wrong})})}), "refuted");
    EXPECT_EQ(
        verdict_on(of_remedy,
                   {testing(kind, {trial({no_memory}, {success, right}), trial({no_memory}, {no_memory})})}),
        "partly")
        << "it clears on some levels";
  }
}

TEST(claims, of_a_dead_end_are_confirmed_where_it_does_not_clear) {
  EXPECT_EQ(verdict_on(of_dead_end, {testing(arm_kind::dead_end, {trial({no_memory}, {no_memory})})}),
            "confirmed");
  EXPECT_EQ(verdict_on(of_dead_end, {testing(arm_kind::dead_end, {trial({no_memory}, {success, right})})}),
            "refuted");
}

TEST(claims, of_a_remedy_say_nothing_where_there_was_nothing_to_clear) {
  EXPECT_EQ(verdict_on(of_remedy, {remedied({trial({success}, {success, right})})}), "not measured yet");
  EXPECT_EQ(verdict_on(of_remedy, {remedied({trial({success, right})})}), "not measured yet");
  EXPECT_EQ(verdict_on(of_remedy, {remedied({trial({success, right})}),
                                   arm(arm_kind::fault, {trial({success})}, "fault")}),
            "not measured yet");
}

TEST(claims, of_a_remedy_in_place_from_the_start_count_against_the_fault_arm_it_answers) {
  auto saves = remedied({trial({}, {success, right})});
  auto does_not = remedied({trial({}, {no_memory})});
  for (auto* a : {&saves, &does_not}) a->against = "fault";
  const auto fault = arm(arm_kind::fault, {trial({no_memory})}, "fault");
  EXPECT_EQ(verdict_on(of_remedy, {saves, fault}), "confirmed");
  EXPECT_EQ(verdict_on(of_remedy, {does_not, fault}), "refuted");
  const auto works = arm(arm_kind::fault, {trial({success})}, "fault");
  saves.trials = {saying(true, saves.trials[0])};
  EXPECT_EQ(verdict_on(ruled(of_remedy), {saves, fault}), "confirmed");
  EXPECT_EQ(verdict_on(ruled(of_remedy), {saves, works}), "not measured yet")
      << "a rule says nothing of it either";
  saves.against = "another";
  EXPECT_EQ(verdict_on(of_remedy, {saves, fault, arm(arm_kind::fault, {trial({success})}, "another")}),
            "not measured yet");
}

TEST(claims, of_a_failure_look_at_the_documented_call_whatever_failed_before_it) {
  auto what = of_failure;
  what.call = "cublasCreate";
  const auto calls = [](const char* status) {
    auto o = trial({});
    o.calls = {call("cudaGetDeviceCount", "cudaErrorInsufficientDriver"), call("cublasCreate", status)};
    return o;
  };
  EXPECT_EQ(verdict_on(what, {faulty({calls(internal)})}), "confirmed");
  EXPECT_EQ(verdict_on(what, {faulty({calls(no_memory)})}), "other status");
  EXPECT_EQ(verdict_on(what, {faulty({calls(success)})}), "other status");
}

TEST(claims, of_fact_are_judged_by_rules_alone) {
  EXPECT_EQ(verdict_on(of_fact, {faulty({trial({internal})})}), "not measured yet");
  EXPECT_EQ(verdict_on(of_fact, {faulty({saying(true, trial({internal}))})}), "confirmed");
  EXPECT_EQ(verdict_on(of_fact, {faulty({saying(false, trial({internal}))})}), "refuted");
}

TEST(claims, are_judged_by_rules_alone_where_one_is_about_the_arm) {
  EXPECT_EQ(verdict_on(ruled(of_failure), {faulty({saying(false, trial({internal}))})}), "refuted");
  auto control = testing(arm_kind::control, {saying(true, trial({success}))});
  const auto fault = arm(arm_kind::fault, {trial({internal})}, "fault");
  EXPECT_EQ(verdict_on(ruled(of_failure), {control, fault}), "confirmed");
  control.claims.clear();
  EXPECT_EQ(verdict_on(ruled(of_failure), {control, fault}), "confirmed") << "rules name arms themselves";
  EXPECT_EQ(verdict_on(ruled(of_failure), {faulty({trial({internal})})}), "not measured yet")
      << "what the rule asks was not observed";
}

TEST(claims, are_not_judged_by_controls_that_ran_with_injected_counterparts_alone) {
  const auto control = testing(arm_kind::control, {saying(true, trial({success}))}, "control");
  auto counterpart = faulty({trial({internal})}, "full_injected");
  counterpart.counterpart_of = "full";
  EXPECT_EQ(verdict_on(of_fact, {control, counterpart}), "not measured yet");
  EXPECT_EQ(verdict_on(of_fact, {control}), "not measured yet");
  EXPECT_EQ(verdict_on(of_fact, {control, counterpart, arm(arm_kind::fault, {trial({internal})}, "full")}),
            "confirmed");
  const auto alone = with({control, arm(arm_kind::fault, {trial({internal})}, "full")});
  const auto beside_others =
      with({testing(arm_kind::control, {saying(false, trial({success}))}, "control"), counterpart});
  EXPECT_EQ(verdict_on(of_fact, {alone, beside_others}), "confirmed");
}

TEST(claims, hold_partly_where_trials_of_one_arm_disagree) {
  const auto v = judge_claims(
      {of_fact}, std::vector{with({faulty({saying(true, trial({}), 8), saying(true, trial({}), 8),
                                           saying(false, trial({}), 0)})})});
  EXPECT_EQ(v[0].verdict, "partly");
  EXPECT_EQ(v[0].evidence.at(0).why, "holds: 1; figure: 8 MiB; holds: 0");
}

TEST(claims, are_not_judged_by_the_trials_that_survived) {
  auto hung = crash({});
  hung.ended = outcome::timed_out;
  const auto survived = saying(false, trial({success}));
  for (const auto& lost : {crash({}), hung}) {
    EXPECT_EQ(verdict_on(of_fact, {faulty({survived, lost})}), "not measured yet");
    EXPECT_EQ(verdict_on(ruled(of_any_failure), {faulty({survived, lost})}), "not measured yet");
    EXPECT_EQ(verdict_on(of_fact, {faulty({survived, saying(true, lost)})}), "partly")
        << "what it found before it ended counts";
  }
  EXPECT_EQ(verdict_on(of_any_failure, {faulty({trial({success}), crash({})})}), "confirmed")
      << "an arm that no rule is about is judged by its failures";
}

TEST(claims, of_fact_show_an_arm_that_ended_before_it_could_tell) {
  const auto cut_off = faulty({crash({})}, "one");
  const auto v = judge_claims({of_fact}, std::vector{with({cut_off})});
  EXPECT_EQ(v[0].verdict, "not measured yet");
  EXPECT_EQ(v[0].evidence.at(0).says, "cut off");
  EXPECT_EQ(verdict_on(of_fact, {cut_off, faulty({saying(false, trial({success}))}, "two")}), "partly")
      << "the others do not speak for it";
}

TEST(claims, of_a_failure_have_another_status_if_nowhere_the_documented_one) {
  EXPECT_EQ(verdict_on(of_failure, {faulty({trial({no_memory})}, "one"), faulty({trial({success})}, "two")}),
            "other status");
}

TEST(claims, hold_partly_where_arms_or_stacks_disagree) {
  EXPECT_EQ(verdict_on(of_failure, {faulty({trial({internal})}, "one"), faulty({trial({success})}, "two")}),
            "partly");
  EXPECT_EQ(verdict_on(of_failure, std::vector{with({faulty({trial({internal})})}, "12.9"),
                                               with({faulty({trial({no_memory})})}, "13.1")}),
            "partly");
  EXPECT_EQ(verdict_on(of_failure, std::vector{with({faulty({trial({internal})})}, "12.9"),
                                               with({faulty({trial({internal})})}, "13.1")}),
            "confirmed");
}

TEST(claims, are_not_judged_by_arms_that_were_not_observed) {
  EXPECT_EQ(verdict_on(of_failure, {faulty({trial({internal}), not_provoked("no GPU")})}),
            "not measured yet");
  EXPECT_EQ(verdict_on(of_failure, {faulty({harness_failed("garbled")})}), "not measured yet");
  EXPECT_EQ(verdict_on(of_failure, {faulty({})}), "not measured yet");
}

TEST(claims, are_not_judged_by_a_case_whose_control_is_unresolved) {
  auto control = arm(arm_kind::control, {trial({no_memory})}, "control");
  control.judged = verdict::unresolved;
  EXPECT_EQ(verdict_on(of_failure, {control, faulty({trial({internal})})}), "not measured yet");
  control.judged = verdict::unrecorded;
  EXPECT_EQ(verdict_on(of_failure, {control, faulty({trial({internal})})}), "confirmed");
}

TEST(claims, name_the_evidence_by_what_it_says_and_on_which_stacks) {
  const auto cleared = trial({no_memory}, {success, right}), failing = trial({no_memory}, {no_memory});
  auto stand_in = remedied({cleared}, "stand_in");
  stand_in.made_up = true;
  auto here = with({stand_in, remedied({cleared}, "trim"), remedied({failing}, "retry")});
  here.cases.push_back({.name = "memory.more", .arms = {remedied({cleared}, "other")}});
  const auto there = with({remedied({cleared}, "trim"), remedied({cleared}, "wait")}, "12.4.5");
  const auto v =
      judge_claims({of_remedy}, std::array{here, there}, {{"cuBLAS 13.1.0", {{"trim", "costs 3.0 %"}}}});
  EXPECT_EQ(v[0].evidence.at(1),
            (claim_evidence{"memory.leak", "retry", "cuBLAS 13.1.0", "refuted",
                            "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; then cublasCreate: "
                            "CUBLAS_STATUS_ALLOC_FAILED; context usable"}));
  EXPECT_EQ(v[0].arms,
            "confirmed by memory.leak/wait (a)\nconfirmed by memory.leak/trim [costs 3.0 %] (a, b)\n"
            "confirmed by memory.more/other (b)\nrefuted by memory.leak/retry (b)\n"
            "made up: confirmed by memory.leak/stand_in (b)");
}

std::string claims_refusal(std::string_view claims) {
  const auto text = fmt::format(
      "{{\"schema\": 2, \"documents\": [{{\"id\": \"S0\", \"title\": \"t\", \"claims\": [\n{}]}}]}}", claims);
  return refusal([&] { return claims_from(cursor(text)); });
}

TEST(claims_file, that_is_malformed_is_refused_by_line_and_field) {
  EXPECT_EQ(claims_refusal(R"({"id": "S0-1", "kind": "failure", "text": "t"})"), "(nothing was refused)");
  constexpr auto kinds = ".kind: expected one of failure, remedy, dead_end, statement";
  for (const auto& [wrong, why] :
       {std::pair{R"({"id": "S0-1", "kind": "failure"})", ": \"text\" is missing"},
        {R"({"id": "S1-1", "kind": "failure", "text": "t"})", ".id: not in document S0"},
        {R"({"id": "S0-1", "kind": "Q", "text": "t"})", kinds},
        {R"({"id": "S0-1", "kind": "", "text": "t"})", kinds},
        {R"({"id": "S0-1", "kind": "remedy", "text": "t", "status": "s"})",
         ".status: belongs to claims of kind failure"},
        {R"({"id": "S0-1", "kind": "failure", "text": "t", "call": ""})",
         ".call: must not be empty; leave it out"},
        {R"({"id": "S0-1", "kind": "failure", "text": "t", "note": ""})", ".note: unknown key"}})
    EXPECT_EQ(claims_refusal(wrong), std::string("x.json:2: documents[0].claims[0]") + why);
  EXPECT_EQ(claims_refusal("{\"id\": \"S0-1\", \"kind\": \"failure\", \"text\": \"t\"},\n"
                           "{\"id\": \"S0-1\", \"kind\": \"statement\", \"text\": \"t\"}"),
            "x.json:3: documents[0].claims[1].id: \"S0-1\" twice");
  EXPECT_EQ(refusal([] { return claims_from(cursor("{\"schema\": 9}")); }),
            "x.json:1: schema: schema 9, but this build reads 2 only");
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
  const auto untestable = std::ranges::count_if(claims, [](const claim& c) { return !c.untestable.empty(); });
  EXPECT_EQ(untestable, 5);
  for (const auto* id : {"S0-15", "S0-17", "S1-2", "S2-6", "S2-14"})
    EXPECT_FALSE(by_id[id].untestable.empty()) << id;
}

TEST(claim_verdict, awaits_a_framework_beside_what_the_raw_arms_show) {
  const auto read = claims_from(cursor(R"({"schema": 2, "documents": [{"id": "S0", "title": "t", "claims":
    [{"id": "S0-5", "kind": "failure", "text": "t", "awaits": "a framework"}]}]})"));
  record r = with({faulty({trial({no_memory})})});
  const auto v = judge_claims(read, std::array{r}).at(0);
  EXPECT_EQ(v.verdict, "awaits a framework");
  EXPECT_EQ(v.evidence.size(), 1U);

  r.cases.push_back(r.cases[0]);
  r.cases[1].name = "pytorch.live_tensors";
  EXPECT_EQ(judge_claims(read, std::array{r})[0].verdict, "confirmed") << "a framework has spoken";
}

TEST(claims, about_a_call_are_tested_by_steps_of_a_framework_that_name_it) {
  auto documented = trial({});
  documented.calls.push_back(call("torch.matmul", internal));
  auto& facts = documented.calls.back().what.facts;
  facts["named_call"] = std::string("cublasLtCreate");
  EXPECT_EQ(verdict_on(of_failure, {faulty({documented})}), "other status");
  facts["named_call"] = std::string("cublasCreate");
  EXPECT_EQ(verdict_on(of_failure, {faulty({documented})}), "confirmed");
}

TEST(claims_file, may_not_call_a_claim_untestable_and_let_it_await_somebody) {
  EXPECT_THROW(claims_from(cursor(R"({"schema": 2, "documents": [{"id": "S0", "title": "t", "claims":
    [{"id": "S0-5", "kind": "failure", "text": "t", "untestable": "u", "awaits": "a"}]}]})")),
               input_error);
}

}  // namespace
}  // namespace cufault
