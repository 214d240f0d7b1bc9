// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/json_input.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/model/tests/examples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;

bool everything(std::size_t /*record*/, const std::string& /*case_name*/, const std::string& /*arm*/) {
  return true;
}

const comparison_terms plain{.today = "2026-11-22", .asked = everything};

comparison compare(const record& before, const record& now, const comparison_terms& terms) {
  return cufault::compare(std::array{before, now}, terms);
}

record record_of(std::vector<arm_result> arms) {
  record r;
  *r.stack = {{"keys", {{"cublas", "13.1.0"}}}};
  r.cases = {{.name = "memory.leak", .arms = std::move(arms)}};
  return r;
}

arm_result named(std::string name, std::vector<observation> trials, arm_kind kind = arm_kind::fault) {
  return arm(kind, std::move(trials), std::move(name));
}

const record base = record_of({named("control", {trial({success})}, arm_kind::control),
                               named("fault", {trial({no_memory})}), named("other", {trial({no_memory})})});

int gate_code(const record& before, const record& after, const comparison_terms& terms = plain) {
  return exit_code(exit_reasons(compare(before, after, terms)));
}

record changed_to(observation fault) {
  record r = base;
  r.cases[0].arms[1].trials = {std::move(fault)};
  return r;
}

TEST(gate, passes_where_nothing_changed_and_where_an_arm_is_new) {
  EXPECT_EQ(gate_code(base, base), 0);
  record more = base;
  more.cases[0].arms.push_back(named("more", {trial({internal})}));
  EXPECT_EQ(gate_code(base, more), 0);
  EXPECT_EQ(compare(base, more, plain).arms.at(2).found.v, verdict::unrecorded);
}

TEST(gate, fails_on_each_change) {
  EXPECT_EQ(gate_code(base, changed_to(trial({internal}))), 1);
  EXPECT_EQ(gate_code(base, changed_to(trial({success}))), 1);
  EXPECT_EQ(gate_code(base, changed_to(crash({}))), 1);
  EXPECT_EQ(gate_code(base, changed_to(not_provoked("no memory"))), 1);
  record fewer = base;
  fewer.cases[0].arms.pop_back();
  EXPECT_EQ(gate_code(base, fewer), 1);
}

TEST(gate, counts_what_the_candidate_was_not_asked_for) {
  record fewer = base;
  fewer.cases[0].arms.pop_back();
  const auto asked_for_faults = [](std::size_t, const std::string&, const std::string& arm) {
    return arm == "fault";
  };
  const comparison all = compare(base, fewer, {.today = "2026-11-22", .asked = asked_for_faults});
  EXPECT_EQ(exit_code(exit_reasons(all)), 0);
  EXPECT_EQ(all.not_asked, 1U);
  fewer.cases[0].arms.pop_back();
  const comparison red = compare(base, fewer, {.today = "2026-11-22", .asked = asked_for_faults});
  EXPECT_EQ(exit_code(exit_reasons(red)), 1);
  EXPECT_EQ(red.arms.back().found.v, verdict::absent);
  EXPECT_EQ(red.arms.back().found.why, "asked for, and not in the record");
  EXPECT_EQ(gate_code(base, fewer, {.today = "2026-11-22"}), 0) << "a stack was asked for what it has";
}

TEST(gate, is_unresolved_where_an_arm_that_the_baseline_lacks_proves_nothing) {
  record more = base;
  more.cases[0].arms.push_back(named("more", {harness_failed("no pipe")}));
  EXPECT_EQ(gate_code(base, more), 2);
  EXPECT_EQ(gate_code(more, more), 0) << "it proved nothing before, either";
}

TEST(gate, is_unresolved_where_nothing_is_proved) {
  EXPECT_EQ(gate_code(base, changed_to(harness_failed("no pipe"))), 2);
  record broken = base;
  broken.cases[0].arms[0].trials = {trial({internal})};
  EXPECT_EQ(gate_code(base, broken), 2);
  EXPECT_THAT(compare(base, broken, plain).arms.at(1).found.why, HasSubstr("a control failed"));
  EXPECT_EQ(gate_code(base, {}), 2);
  EXPECT_EQ(gate_code({}, {}), 2);
  comparison unread = compare(base, base, plain);
  unread.unread = {"a.jsonl:1: no record"};
  EXPECT_EQ(exit_code(exit_reasons(unread)), 2);
  comparison incomplete = compare(base, base, plain);
  incomplete.incomplete = {"the baseline"};
  EXPECT_EQ(exit_code(exit_reasons(incomplete)), 2);
  EXPECT_THAT(exit_reasons(incomplete).front().why,
              HasSubstr("the run of the baseline did not come to its end"));
}

TEST(gate, names_each_reason_worst_first) {
  record now = changed_to(trial({internal}));
  now.cases[0].arms[2].trials = {harness_failed("no pipe")};
  const auto reasons = exit_reasons(compare(base, now, {.today = "2026-11-22", .at_least = 2}));
  ASSERT_EQ(reasons.size(), 3U);
  EXPECT_EQ(reasons[0].why, "1 arm is unresolved");
  EXPECT_THAT(reasons[0].arms, ElementsAre("memory.leak/other"));
  EXPECT_EQ(reasons[1].why, "1 case executed, and the floor is 2");
  EXPECT_EQ(reasons[2].why, "1 change that no allowance covers");
  EXPECT_THAT(reasons[2].arms, ElementsAre("memory.leak/fault"));
  EXPECT_EQ(exit_code(reasons), 2);
}

TEST(gate, takes_a_baseline_whose_control_failed_for_none) {
  record broken = base;
  broken.cases[0].arms[0].trials = {trial({internal})};
  const auto report = compare(broken, base, plain);
  for (const auto& a : report.arms) EXPECT_EQ(a.found.v, verdict::unrecorded);
  EXPECT_EQ(exit_code(exit_reasons(report)), 2);  // nothing is compared
}

TEST(gate, fails_where_fewer_cases_were_executed_than_must_be) {
  EXPECT_EQ(gate_code(base, base, {.today = "2026-11-22", .at_least = 1}), 0);
  EXPECT_EQ(gate_code(base, base, {.today = "2026-11-22", .at_least = 2}), 1);
}

TEST(gate, lets_pass_what_an_allowance_covers_until_it_expires) {
  const auto now = changed_to(trial({internal}));
  const auto allowing = [](verdict what, std::string arm) {
    return comparison_terms{.allowances = {{std::move(arm), what, "known", "2026-11-22"}},
                            .today = "2026-11-22"};
  };
  auto terms = allowing(verdict::changed, "memory.leak/fault");
  EXPECT_EQ(gate_code(base, now, terms), 0);
  EXPECT_EQ(gate_code(base, now, allowing(verdict::changed, "memory.*/f*")), 0);
  EXPECT_EQ(gate_code(base, now, allowing(verdict::gone, "memory.leak/fault")), 1);
  EXPECT_EQ(gate_code(base, now, allowing(verdict::changed, "memory.leak/other")), 1);
  EXPECT_TRUE(compare(base, now, terms).unused.empty());
  terms.today = "2026-11-23";
  EXPECT_EQ(gate_code(base, now, terms), 1);
  EXPECT_EQ(compare(base, now, terms).expired.size(), 1U);
  terms.today = "2026-11-22";
  EXPECT_EQ(compare(base, base, terms).unused.size(), 1U);
  EXPECT_EQ(gate_code(base, base, terms), 0);
}

TEST(gate, lets_a_change_pass_in_each_arm_that_it_rewrote_and_no_other_change) {
  record now = base;
  now.cases[0].arms[1].trials = {trial({internal})};
  now.cases[0].arms[2].trials = {trial({"CUBLAS_STATUS_INVALID_VALUE"})};
  const auto allowing = [](std::string change, std::string today = "2026-11-22") {
    return comparison_terms{
        .allowances = {{"*/*", verdict::changed, "known", "2026-11-22", "a.json:3", std::move(change)}},
        .today = std::move(today)};
  };
  const auto allowed_by = [&](const comparison_terms& terms) {
    std::vector<std::string> names;
    for (const compared_arm& a : compare(base, now, terms).arms)
      if (a.allowed_by) names.push_back(a.arm);
    return names;
  };
  EXPECT_THAT(allowed_by(allowing("ALLOC_FAILED → INTERNAL_ERROR")), ElementsAre("fault"));
  EXPECT_THAT(allowed_by(allowing("* → INVALID_VALUE")), ElementsAre("other"));
  EXPECT_THAT(allowed_by(allowing("")), ElementsAre("fault", "other"));
  EXPECT_THAT(allowed_by(allowing("ALLOC_FAILED → INTERNAL_ERROR", "2026-11-23")), ElementsAre());
  EXPECT_THAT(allowed_by(allowing("INTERNAL_ERROR")), ElementsAre()) << "it is no part of the words";
  EXPECT_EQ(gate_code(base, now, allowing("ALLOC_FAILED → INTERNAL_ERROR")), 1) << "the other change";
}

TEST(gate, lets_pass_what_has_the_words_of_an_allowance_whatever_their_characters) {
  record before = record_of({named("fault", {not_provoked("")}), named("other", {trial({no_memory})})}),
         now = before;
  now.cases[0].arms[1].trials = {not_provoked("cells [0, 1] of a? \\x * y")};
  const auto passes = [&](std::string words) {
    const comparison_terms terms{
        .allowances = {{"*/*", verdict::absent, "known", "2026-11-22", "", std::move(words)}},
        .today = "2026-11-22"};
    return compare(before, now, terms).arms.at(0).allowed_by.has_value();
  };
  EXPECT_TRUE(passes("cells [0, 1] of a? \\x * y"));
  EXPECT_TRUE(passes("cells [0*"));
  EXPECT_FALSE(passes("cells [0, 1] of ab \\x * y")) << "a question mark is itself";
  EXPECT_FALSE(passes("cells ? of*"));
}

TEST(allowances, need_a_reason_a_day_and_a_change_that_can_be_allowed) {
  const auto error_of = [](const std::string& entry) {
    try {
      allowances_from(json_cursor{parse_json("a.json", R"({"schema": 1, "allowances": [)" + entry + "]}")});
    } catch (const input_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto entry = [](const char* change, const char* reason, const char* expires,
                        const char* arm = "a.b/c") {
    return nlohmann::json{{"arm", arm}, {"change", change}, {"reason", reason}, {"expires", expires}}.dump();
  };
  EXPECT_EQ(error_of(entry("gone", "known", "2026-12-31")), "");
  EXPECT_EQ(error_of(entry("gone", " ", "2026-12-31")), "a.json:1: allowances[0].reason: is empty; say why");
  EXPECT_THAT(error_of(entry("gone", "known", "2026-02-30")), HasSubstr("expected a date: YYYY-MM-DD"));
  EXPECT_THAT(error_of(entry("gone", "known", "2026-12-3a")), HasSubstr("expected a date"));
  EXPECT_THAT(error_of(entry("gone", "known", "")), HasSubstr("expected a date"));
  EXPECT_THAT(error_of(entry("new", "known", "2026-12-31")), HasSubstr("only changed, gone"));
  EXPECT_THAT(error_of(entry("unresolved", "known", "2026-12-31")), HasSubstr("only changed, gone"));
  EXPECT_THAT(error_of(entry("better", "known", "2026-12-31")), HasSubstr("only changed, gone"));
  EXPECT_THAT(error_of(entry("gone", "known", "2026-12-31", "a.b")), HasSubstr("expected CASE/ARM"));
  EXPECT_THAT(error_of(R"({"arm": "a/b", "change": "gone", "reason": "known"})"), HasSubstr("expires"));
  EXPECT_THAT(
      error_of(R"({"arm": "a/b", "change": "gone", "what": "", "reason": "known", "expires": "2026-12-31"})"),
      HasSubstr("what: is empty"));
  EXPECT_EQ(
      error_of(
          R"({"arm": "a/b", "change": "gone", "what": "A → B", "reason": "known", "expires": "2026-12-31"})"),
      "");
  EXPECT_THROW(allowances_from(json_cursor{parse_json("a.json", R"({"schema": 2, "allowances": []})")}),
               input_error);
  EXPECT_THROW(allowances_from(json_cursor{parse_json("a.json", R"({"allowances": []})")}), input_error);
}

/// "259 as before, 55 CHANGED, 16 not asked for".
std::string counts_of(const comparison& all) {
  std::string text = std::to_string(same_in(all)) + " as before";
  for (const verdict v : {verdict::changed, verdict::gone, verdict::worsened, verdict::remedy_broken,
                          verdict::absent, verdict::unresolved, verdict::unrecorded}) {
    const auto count = std::count_if(all.arms.begin(), all.arms.end(),
                                     [&](const compared_arm& a) { return a.found.v == v; });
    if (count > 0) text += ", " + std::to_string(count) + " " + to_string(v);
  }
  return text + ", " + std::to_string(all.not_asked) + " not asked for";
}

TEST(gate, takes_an_allowance_that_calls_undefined_behaviour_worsened) {
  record before, now;
  before.cases = {{.name = "x.a", .arms = {arm(arm_kind::fault, {trial({success})})}}};
  now.cases = {{.name = "x.a", .arms = {arm(arm_kind::fault, {crash({})})}}};
  for (const bool undefined : {true, false}) {
    now.cases[0].arms[0].undefined = undefined;
    for (const verdict what : {verdict::worsened, verdict::changed}) {
      const comparison_terms terms{.allowances = {{"x.a/*", what, "known", "2026-12-31", {}, {}}},
                                   .today = "2026-11-29"};
      const auto all = compare(before, now, terms);
      ASSERT_EQ(all.arms.size(), 1U);
      EXPECT_EQ(all.arms[0].allowed_by.has_value(), undefined || what == verdict::worsened);
    }
  }
}

TEST(gate, of_committed_records_tells_versions_of_cublas_apart) {
  const std::filesystem::path recorded{CUFAULT_RECORDED};
  const auto gate = [&](const char* before, const char* after) {
    return compare(load_record(recorded / before), load_record(recorded / after), {.today = "2026-11-22"});
  };
  const char* const last = "h200-580.159.04-cublas-13.10.0-other-12.0.1";
  EXPECT_EQ(counts_of(gate("h200-580.159.04-cublas-12.0.1-other-13.10.0", last)),
            "230 as before, 50 CHANGED, 4 GONE, 19 NEW, 2 not asked for");
  const auto upgrade = gate("h200-580.159.04-cublas-12.4.5", "h200-580.159.04-cublas-12.8.4");
  EXPECT_EQ(counts_of(upgrade), "527 as before, 32 CHANGED, 2 GONE, 26 NEW, 2078 not asked for");
  EXPECT_EQ(exit_code(exit_reasons(upgrade)), 1);
  std::vector<std::string> gone;
  for (const auto& a : upgrade.arms)
    if (a.found.v == verdict::gone) gone.push_back(a.case_name + "/" + a.arm);
  EXPECT_THAT(gone,
              ElementsAre("capture.workspace/per_thread_stream", "numbers.reduced_precision/as_proposed"));
  EXPECT_EQ(upgrade.stacks[0].name, "files of the libraries");  // one has none
  EXPECT_EQ(upgrade.stacks[1].name, "cublas");
}

TEST(gate, of_every_committed_stack_with_itself_finds_nothing_changed) {
  int stacks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CUFAULT_RECORDED)) {
    if (!entry.is_directory()) continue;
    const record r = load_record(entry.path());
    const auto report = compare(r, r, plain);
    EXPECT_EQ(exit_code(exit_reasons(report)), 0) << entry.path();
    EXPECT_TRUE(report.stacks.empty()) << entry.path();
    for (const auto& a : report.arms)
      EXPECT_TRUE(is_same(a.found.v)) << entry.path() << ": " << a.case_name << "/" << a.arm;
    ++stacks;
  }
  EXPECT_GE(stacks, 7);
}

std::vector<std::string> lines_of(const comparison& report, const std::string& family) {
  std::vector<std::string> lines;
  for (const auto& a : report.arms)
    if (a.case_name.starts_with(family))
      lines.push_back(a.case_name + "/" + a.arm + " " + to_string(a.found.v) + " " + a.found.why);
  return lines;
}

// Neither the order of cases and arms nor what else is in the records makes a difference.
TEST(gate, of_committed_records_depends_on_no_order_and_on_no_other_family) {
  const std::filesystem::path recorded{CUFAULT_RECORDED};
  record before = load_record(recorded / "h200-580.159.04-cublas-12.0.1-other-13.10.0");
  record after = load_record(recorded / "h200-580.159.04-cublas-13.10.0-other-12.0.1");
  const auto straight = compare(before, after, plain);
  EXPECT_EQ(exit_code(exit_reasons(straight)), 1);
  EXPECT_EQ(exit_code(exit_reasons(compare(before, before, plain))), 0);
  std::mt19937 random(7);
  for (record* r : {&before, &after}) {
    std::shuffle(r->cases.begin(), r->cases.end(), random);
    for (case_result& c : r->cases) std::shuffle(c.arms.begin(), c.arms.end(), random);
  }
  EXPECT_EQ(lines_of(compare(before, after, plain), ""), lines_of(straight, ""));
  for (record* r : {&before, &after})
    std::erase_if(r->cases, [](const case_result& c) { return !c.name.starts_with("memory."); });
  EXPECT_EQ(lines_of(compare(before, after, plain), ""), lines_of(straight, "memory."));
  EXPECT_FALSE(lines_of(straight, "memory.").empty());
}

}  // namespace
}  // namespace cufault
