// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/summary.hpp"

#include "reports/judge/judge.hpp"
#include "reports/printers/printers.hpp"
#include "reports/printers/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace cufault {
namespace {

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

TEST(summary, says_the_worst_first_and_ends_with_families_and_totals) {
  const std::string text = summary_of(a_record());
  EXPECT_LT(text.find("UNRESOLVED: "), text.find("WORSENED: "));
  EXPECT_LT(text.find("WORSENED: "), text.find("CHANGED: "));
  EXPECT_LT(text.find("CHANGED: "), text.find("NEW: "));
  EXPECT_THAT(text, HasSubstr("  types.fp8/crash: expected A; seen SIGSEGV\n"));
  EXPECT_THAT(text, HasSubstr("memory  1 UNRESOLVED\ntypes   1 WORSENED, 1 CHANGED, 1 NEW, 1 OK\n"));
  EXPECT_TRUE(text.ends_with("5 arms: 1 UNRESOLVED, 1 WORSENED, 1 CHANGED, 1 NEW, 1 OK\n")) << text;
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

TEST(summary, as_json_counts_verdicts_and_names_what_is_unexpected) {
  const nlohmann::json j = summary_json(report_of(a_record()), "records/a.json");
  EXPECT_EQ(j["counts"]["CHANGED"], 1);
  ASSERT_EQ(j["unexpected"].size(), 4U);
  EXPECT_EQ(j["unexpected"][1]["arm"], "other");
  ASSERT_EQ(j["groups"].size(), 4U);
  EXPECT_EQ(j["groups"][1].dump(),
            R"({"allowed":false,"arms":1,"change":"expected A; seen SIGSEGV","examples":["types.fp8/crash"],)"
            R"("verdict":"WORSENED"})");
  EXPECT_EQ(j["record"], "records/a.json");
}

TEST(case_line, counts_verdicts) {
  EXPECT_EQ(case_line(a_record().cases[0]), "types.int8: 1 CHANGED, 1 NEW, 1 OK");
}

TEST(junit, says_what_was_expected_and_what_was_seen) {
  const std::string xml = printed("junit", report_of(a_record()));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"types.int8\""));
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0.750\""));
  EXPECT_THAT(xml, HasSubstr("<failure type=\"CHANGED\" message=\"expected A &lt;1"));
  EXPECT_THAT(xml, HasSubstr("<error type=\"UNRESOLVED\" message=\"no kernels\""));
  EXPECT_THAT(xml, HasSubstr("cufault run types.fp8/crash --seed 7"));
  EXPECT_THAT(xml, Not(HasSubstr("\x01"))) << "XML cannot hold it";
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

TEST(ctrf, has_a_test_for_each_arm_and_sums_that_fit) {
  record r = a_record();
  r.version = "0.1.0";
  r.started = "2026-11-21T07:27:40Z";
  r.ended = "2026-11-21T07:27:41Z";
  EXPECT_EQ(
      printed("ctrf", report_of(r)),
      R"({"reportFormat":"CTRF","specVersion":"0.0.0","results":{"tool":{"name":"cufault","version":"0.1.0"},"summary":)"
      R"({"tests":5,"passed":1,"failed":3,"pending":0,"skipped":1,"other":0,"start":1795246060000,"stop":1795246061000},)"
      R"("tests":[{"name":"types.int8/control","status":"passed","duration":250,"rawStatus":"OK","extra":{"case":)"
      R"("types.int8","kind":"fault","seen":"not_provoked: no reason was given","expectation":"","repeat":)"
      R"("cufault run types.int8/control --seed 7"}},{"name":"types.int8/new","status":"skipped","duration":250,)"
      R"("rawStatus":"NEW","message":"no recorded stack has it","extra":{"case":"types.int8","kind":"fault","seen":)"
      R"("not_provoked: no recorded stack has it","expectation":"","repeat":"cufault run types.int8/new --seed 7"}},)"
      R"({"name":"types.int8/other","status":"failed","duration":250,"rawStatus":"CHANGED","message":)"
      R"("expected A <1>; seen \"B\" & \u0001","extra":{"case":"types.int8","kind":"fault","seen":)"
      R"("not_provoked: expected A <1>; seen \"B\" & \u0001","expectation":"","repeat":)"
      R"("cufault run types.int8/other --seed 7"}},{"name":"types.fp8/crash","status":"failed","duration":250,)"
      R"("rawStatus":"WORSENED","message":"expected A; seen SIGSEGV","extra":{"case":"types.fp8","kind":"fault","seen":)"
      R"("not_provoked: expected A; seen SIGSEGV","expectation":"","repeat":"cufault run types.fp8/crash --seed 7"}},)"
      R"({"name":"memory.leak/control","status":"failed","duration":250,"rawStatus":"UNRESOLVED","message":)"
      R"("no kernels","extra":{"case":"memory.leak","kind":"fault","seen":"not_provoked: no kernels","expectation":"",)"
      R"("repeat":"cufault run memory.leak/control --seed 7"}}],"extra":{"stack":"unknown stack","complete":true,)"
      R"("exit_code":2}}})"
      "\n");
}

TEST(markdown_summary, is_a_page_with_the_worst_first) {
  EXPECT_EQ(printed("markdown", report_of(a_record())),
            "## cufault run: 1 UNRESOLVED, 1 WORSENED, 1 CHANGED, 1 NEW, 1 OK\n\n"
            "- stack: unknown stack\n"
            "- exit code 2 in mode observe; seed 7; record records/a.json\n"
            "- not in the record of this stack: 0 of 1 arm as predicted; 1 new\n"
            "\n### UNRESOLVED: nothing was proved: repair the harness, the control or the machine, and run "
            "again\n\n"
            "- memory.leak/control: no kernels\n"
            "\n### WORSENED: a status became a crash, a hang, wrong numbers or a damaged context: do not "
            "upgrade; send "
            "the maker of the driver or library what cufault report RECORD --since OLD -o DIR writes\n\n"
            "- types.fp8/crash: expected A; seen SIGSEGV\n"
            "\n### CHANGED: it fails in another way: check what code relies on the old status, then accept "
            "it (cufault "
            "baseline add)\n\n"
            "- types.int8/other: expected A &lt;1>; seen \"B\" &  \n"
            "\n### NEW: nothing is recorded to compare it with: read what was seen\n\n"
            "- types.int8/new: no recorded stack has it\n"
            "\n### By family\n\n"
            "| family | verdicts |\n"
            "| --- | --- |\n"
            "| memory | 1 UNRESOLVED |\n"
            "| types | 1 WORSENED, 1 CHANGED, 1 NEW, 1 OK |\n\n");
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
