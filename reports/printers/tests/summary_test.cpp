// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/summary.hpp"

#include "reports/base/tests/input_examples.hpp"
#include "reports/judge/judge.hpp"
#include "reports/printers/printers.hpp"
#include "reports/printers/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <utility>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

arm_result arm_of(std::string name, verdict v, std::string why = "") {
  arm_result a;
  a.name = std::move(name);
  a.judged = v;
  a.why = std::move(why);
  observation o;
  o.ended = outcome::not_provoked;
  o.why = a.why;
  o.milliseconds = 250;
  a.trials.push_back(o);
  return a;
}

record a_record() {
  record r;
  r.complete = true;
  r.seed = 7;
  r.cases.push_back(
      {"types.int8",
       {arm_of("control", verdict::ok), arm_of("new", verdict::unrecorded, "no recorded stack has it"),
        arm_of("other", verdict::changed, "expected A <1>; seen \"B\" & \x01")}});
  r.cases.push_back({"types.fp8", {arm_of("crash", verdict::worsened, "expected A; seen SIGSEGV")}});
  r.cases.push_back({"memory.leak", {arm_of("control", verdict::unresolved, "no kernels")}});
  return r;
}

std::string printed(const char* format, run_report run, const char* file = "records/a.json") {
  return print_as(format, report_of_run(std::move(run), file));
}

std::string summary_of(const record& r) {
  return printed("text", report_of(r));
}

TEST(summary, is_what_it_was_in_each_format) {
  record r = a_record();
  r.version = "0.1.0";
  r.started = "2026-11-21T07:27:40Z";
  r.ended = "2026-11-21T07:27:41Z";
  for (const auto& [format, file] : {std::pair{"text", "run.txt"},
                                     {"markdown", "run.md"},
                                     {"junit", "run.junit.xml"},
                                     {"ctrf", "run.ctrf.json"},
                                     {"report-json", "run.json"}})
    examples::expect_golden(fs::path(CUFAULT_GOLDEN) / file, printed(format, report_of(r)));
}

TEST(summary, begins_with_what_was_predicted) {
  record r = a_record();
  r.cases[0].arms[0].judged = verdict::as_predicted;
  r.cases[0].arms[0].compared_with = "H200, cuBLAS 13.1.0";
  r.cases[1].arms[0].judged = verdict::differs;
  r.cases[1].arms[0].compared_with = "H200, cuBLAS 13.1.0";
  const std::string line =
      "not in the record of this stack: 1 of 3 arms as on H200, cuBLAS 13.1.0; 1 differs; 1 new\n";
  EXPECT_TRUE(summary_of(r).starts_with(line)) << summary_of(r);
  EXPECT_THAT(summary_of(r),
              HasSubstr("DIFFERS: not as on the nearest recorded stack: read what was seen.\n"));
  EXPECT_THAT(printed("markdown", report_of(r)), HasSubstr("\n- " + line));
}

TEST(summary, has_one_line_for_all_that_wants_a_gpu) {
  record r;
  r.complete = true;
  r.cases.push_back({"host.only", {arm_of("control", verdict::ok)}});
  for (int i = 0; i < 100; ++i) {
    r.cases.push_back({"gpu.case" + std::to_string(i), {}});
    for (int j = 0; j < 10; ++j)
      r.cases.back().arms.push_back(
          arm_of("arm" + std::to_string(j), verdict::not_provoked, "no GPU: there is no driver"));
  }
  const std::string text = summary_of(r);
  EXPECT_EQ(std::ranges::count(text, '\n'), 3) << text;
  EXPECT_THAT(text,
              HasSubstr("1000 arms of 100 cases need a GPU and were not run: no GPU: there is no driver\n"));
}

TEST(summary, of_a_gate_ends_with_each_reason_and_at_most_a_screen_of_names) {
  run_report report = report_of(a_record());
  report.reasons = exit_reasons(a_record().cases, run_mode::observe, 0);
  const auto text_of_it = [&] { return printed("text", report); };
  EXPECT_THAT(text_of_it(), Not(HasSubstr("gate: ")));
  report.mode = run_mode::gate;
  report.reasons = exit_reasons(a_record().cases, run_mode::gate, 0);
  EXPECT_TRUE(
      text_of_it().ends_with("gate: UNRESOLVED: 1 arm UNRESOLVED: memory.leak/control; 1 arm CHANGED: "
                             "types.int8/other; 1 arm WORSENED: "
                             "types.fp8/crash\n"))
      << text_of_it();
  EXPECT_THAT(printed("markdown", report),
              HasSubstr("\n- gate: UNRESOLVED: 1 arm UNRESOLVED: memory.leak/control; "));
  const auto json = summary_json(report, "a")["reasons"];
  ASSERT_EQ(json.size(), 3U);
  EXPECT_EQ(json[0].dump(), R"({"arms":["memory.leak/control"],"exit_code":2,"why":"1 arm UNRESOLVED"})");
  report.reasons = {{1, "30 arms CHANGED", std::vector<std::string>(30, "a/b")}};
  EXPECT_THAT(text_of_it(), HasSubstr(", a/b, a/b and 10 more\n"));
  report.reasons.clear();
  EXPECT_TRUE(text_of_it().ends_with("gate: passed\n"));
}

TEST(summary, does_not_list_more_than_fits_a_screen) {
  record r;
  r.complete = true;
  r.cases.push_back({"a.b", {}});
  for (int i = 0; i < 100; ++i)
    r.cases[0].arms.push_back(
        arm_of("arm" + std::to_string(i), verdict::changed, "change " + std::to_string(i / 2)));
  const std::string text = summary_of(r);
  EXPECT_LT(std::ranges::count(text, '\n'), 15);
  EXPECT_THAT(text, HasSubstr("\n  2 arms: change 6: a.b/arm12, a.b/arm13\n"
                              "  and 43 further changes of 86 arms: cufault show records/a.json\n"));
}

TEST(case_line, counts_verdicts) {
  EXPECT_EQ(case_line(a_record().cases[0]), "types.int8: 1 CHANGED, 1 NEW, 1 OK");
}

TEST(junit, skips_in_a_gate_what_no_record_of_this_stack_judges) {
  record r = a_record();
  r.mode = run_mode::gate;
  for (const auto v : {verdict::unrecorded, verdict::as_predicted, verdict::differs, verdict::undefined}) {
    r.cases[0].arms[1] = arm_of("new", v, "the reason");
    const std::string xml = printed("junit", report_of(r));
    EXPECT_THAT(xml, HasSubstr("<skipped type=\"" + to_string(v) + "\" message=\"the reason\""));
    EXPECT_THAT(xml, HasSubstr("recorded: not on this stack\n"));
  }
  r.cases[0].arms[1].judged = verdict::reproduced;
  EXPECT_THAT(printed("junit", report_of(r)), Not(HasSubstr("<skipped")));
}

TEST(markdown_summary, fits_a_step_summary) {
  record r;
  r.cases.push_back({"a.b", {}});
  for (int i = 0; i < 2000; ++i)
    r.cases[0].arms.push_back(
        arm_of(std::string(1000, 'a'), verdict::changed, std::to_string(i) + std::string(100'000, '|')));
  const auto text = printed("markdown", report_of(r));
  EXPECT_LT(text.size(), markdown_limit);
  EXPECT_THAT(text, HasSubstr(" more do not fit here.\n"));
}

}  // namespace
}  // namespace cufault
