// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/html.hpp"

#include "reports/base/json_input.hpp"
#include "reports/matrix/tests/matrix_example.hpp"
#include "reports/printers/ctrf.hpp"
#include "reports/printers/html_text.hpp"
#include "reports/printers/junit.hpp"
#include "reports/printers/summary.hpp"
#include "reports/printers/tests/golden.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

namespace {

namespace fs = std::filesystem;
using namespace examples;
using testing::HasSubstr;
using testing::Not;

using named_records = std::vector<std::pair<std::string, record>>;

struct printed {
  std::string html, markdown, junit, ctrf;
  friend bool operator==(const printed&, const printed&) = default;
};

printed print(const named_records& records) {
  report_builder builder;
  for (const auto& [name, r] : records) builder.add(name, r);
  const report all = builder.result({}, {});
  std::vector<run_report> runs;
  for (const report::stack& s : all.stacks) runs.push_back(s.run);
  return {html_page(all), summary_markdown(all), junit_xml(runs), ctrf_json(runs)};
}

record of_corpus(const char* name) {
  return record_from(name, read_text(fs::path(CUFAULT_CORPUS) / name));
}

record matrix_of_two_faults() {
  return matrix_record(example_cases());
}

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(html, is_what_it_was) {
  named_records records;
  for (const char* name : {"record.jsonl", "killed.jsonl", "matrix.jsonl"})
    records.emplace_back(name, of_corpus(name));
  records.emplace_back("example.jsonl", matrix_of_two_faults());
  const printed all = print(records);
  expect_golden("report.html", all.html);
  expect_golden("report.md", all.markdown);
  expect_golden("report.junit.xml", all.junit);
  expect_golden("report.ctrf.json", all.ctrf);
}

TEST(html, says_what_is_made_up_and_what_a_remedy_costs_that_cleared) {
  record r = matrix_record({});
  arm_result control = cell_arm("control", {trial({right})}),
             fault = cell_arm("stand_in", {trial({no_memory})}),
             remedy = cell_arm("trim", {trial({no_memory}, {right})});
  control.kind = arm_kind::control;
  remedy.kind = arm_kind::remedy;
  fault.made_up = true;
  remedy.claims = {"S0-9"};
  r.cases = {{.name = "memory.leak", .arms = {control, fault, remedy}}};
  const auto printed_with = [&](const cost_notes& costs) {
    report_builder builder;
    builder.add("a", r);
    const report all =
        builder.result({}, {{.id = "S0-9", .kind = claim_kind::remedy, .text = "free memory"}}, costs);
    std::vector<run_report> runs{all.stacks.at(0).run};
    return printed{html_page(all), {}, {}, ctrf_json(runs)};
  };
  const printed all = printed_with({{stack_label(r), {{"trim", "costs 3.0 %; 64 MiB"}}}});
  EXPECT_THAT(all.html, HasSubstr("<small>fault, made up</small>"));
  EXPECT_THAT(all.html, HasSubstr("<small>costs 3.0 %; 64 MiB</small>"));
  EXPECT_THAT(all.html, HasSubstr("memory.leak/trim [costs 3.0 %; 64 MiB] ("));
  EXPECT_THAT(all.ctrf, HasSubstr(R"("made_up":true)"));
  EXPECT_THAT(all.ctrf, HasSubstr(R"("cost":"costs 3.0 %; 64 MiB")"));
  EXPECT_THAT(printed_with({}).html, Not(HasSubstr("costs 3.0 %")));
}

TEST(html, does_not_depend_on_the_order_of_records) {
  named_records records;
  for (const char* cublas : {"13.1.0", "12.4.5"})
    for (int run = 0; run < 4; ++run) {
      record r = matrix_record(example_cases(), cublas);
      // Two of the runs began in the same second.
      r.started = "2026-11-22T00:00:0" + std::to_string(run / 2) + "Z";
      for (case_result& c : r.cases)
        for (arm_result& a : c.arms) {
          for (run_of_trials& of : a.runs) of.started = r.started;
          if (run % 2 == 1 && a.name.starts_with("sgemm_split_k.cold"))
            a.trials = {made({step_call("cublasSgemm", "split_k", right)})};
        }
      records.emplace_back(std::string(cublas) + "/" + std::to_string(run), std::move(r));
    }
  const printed first = print(records);
  EXPECT_THAT(first.html, HasSubstr("something else in 2 of 4 runs"));
  std::mt19937 random(7);
  for (int i = 0; i < 10; ++i) {
    std::shuffle(records.begin(), records.end(), random);
    EXPECT_TRUE(print(records) == first);
  }
}

TEST(html, takes_a_record_that_is_named_twice_once) {
  const named_records once{{"a", matrix_of_two_faults()}};
  EXPECT_TRUE(print({once[0], once[0]}) == print(once));
}

TEST(html, shows_nothing_of_a_hostile_record_as_markup) {
  const std::string attack =
      "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\xe2\x80\xae\x01";
  record r;
  r.version = r.started = attack;
  *r.stack = {{"gpu", {{"name", attack}}},
              {"keys", {{"cublas", attack}, {"driver", attack}, {attack, attack}}}};
  arm_result a = cell_arm("arm", {made({step_call("cublasSgemm", "", attack)})});
  a.trials[0].applied = a.trials[0].context = attack;
  a.trials[0].measurements = {{"largest failing", 1, attack},
                              {"smallest succeeding", 2, attack},
                              {"handles created", 3, attack},
                              {"device memory per handle" + attack, 4, "bytes"}};
  a.summary = a.against = a.source = attack;
  for (run_of_trials& run : a.runs) run.commit = attack;
  arm_result cell = cell_arm("o.cold", {not_provoked(attack)});
  arm_result row = cell_arm("every", {made({call("cublasSgemm", attack)})});
  row.trials[0].calls[0].swept = {
      .function = attack, .caller = attack, .phase = attack, .codes = {attack}, .once = true, .calls = 1};
  r.cases = {{.name = "memory.attack", .arms = {a}},
             {.name = "matrix.attack", .arms = {matrix_control(), cell, cell_arm("p.cold", a.trials)}},
             {.name = "sweep.attack", .arms = {row}}};
  report_builder builder;
  builder.add(attack, r);
  builder.add_unread(attack);
  report all = builder.result({}, {});
  all.claims = {{.what = {.id = attack, .text = attack},
                 .verdict = attack,
                 .evidence = {{"c", "a", attack, attack, attack}}}};
  const std::string html = html_page(all);
  EXPECT_EQ(count_of(html, "<script"), 1U);
  EXPECT_EQ(count_of(html, "</script"), 1U);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("\"'>")));
  EXPECT_THAT(html, Not(HasSubstr("\xe2\x80\xae")));
  EXPECT_THAT(html, Not(HasSubstr("\x01")));
  EXPECT_THAT(html, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
  const std::string markdown = summary_markdown(all);
  EXPECT_THAT(markdown, Not(HasSubstr("<script")));
}

TEST(html, says_what_was_not_measured_and_what_was_not_read) {
  report_builder builder;
  builder.add("a", record{});
  builder.add_unread("b.jsonl:2: arm: expected a string, found null");
  const std::string html = html_page(builder.result({}, {}));
  EXPECT_THAT(html, HasSubstr("Not measured: these records have no cell of the matrix"));
  EXPECT_THAT(html, HasSubstr("Not measured: no arm of these records has an edge"));
  EXPECT_THAT(html, HasSubstr("Not measured: these records have no sweep"));
  EXPECT_THAT(html, HasSubstr("a run in which nothing ran is not green"));
  EXPECT_THAT(html, HasSubstr("<li>b.jsonl:2: arm: expected a string, found null</li>"));
  EXPECT_THAT(html, HasSubstr("<h3>Runs that did not come to their end</h3>"));
}

TEST(html, has_a_word_the_evidence_and_the_line_that_repeats_it_in_each_cell) {
  const std::string html = print({{"a", matrix_of_two_faults()}}).html;
  EXPECT_THAT(html, HasSubstr("<summary>✕ INTERNAL_ERROR</summary>"));
  EXPECT_THAT(html, HasSubstr("<summary>≈ INTERNAL_ERROR or SUCCESS, then cudaErrorLaunchFailure</summary>"));
  EXPECT_THAT(html, HasSubstr("<summary>‼ SIGSEGV</summary>"));
  EXPECT_THAT(
      html,
      HasSubstr(
          "<summary>? not observed</summary><small>why: not provoked: another process moved memory, by 2 "
          "MiB</small>"));
  EXPECT_THAT(html, HasSubstr("<code>cufault run &#39;matrix.kernel_trap/sgemm_64.cold.arrived&#39;</code>"));
  EXPECT_THAT(html, HasSubstr("remedy new_process: cleared"));
  EXPECT_THAT(html, HasSubstr("</td><td>-</td>")) << "not measured";
  EXPECT_THAT(html, HasSubstr(".matrix td:not([class])")) << "what the style sheet knows it by";
}

TEST(html, of_all_kept_records_is_small_and_asks_for_nothing_from_elsewhere) {
  report_builder builder;
  each_record(
      {CUFAULT_RECORDED}, [&](const fs::path& file, record r) { builder.add(file.string(), std::move(r)); },
      [](const std::string& why) { FAIL() << why; });
  const report all = builder.result(baselines({CUFAULT_RECORDED}), load_claims(CUFAULT_CLAIMS_FILE));
  const std::string html = html_page(all);
  EXPECT_LE(html.size(), html_limit);
  EXPECT_THAT(html, Not(HasSubstr("do not fit here"))) << "no arm and no row of the matrix is left out";
  EXPECT_THAT(html, HasSubstr("The evidence of each cell does not fit here"));
  EXPECT_THAT(html, HasSubstr("memory.create_under_pressure/held_here_lazy"));
  for (const char* request : {" src=", "href=\"http", "url(", "@import", "fetch("})
    EXPECT_THAT(html, Not(HasSubstr(request)));
  EXPECT_LT(summary_markdown(all).size(), std::size_t{1} << 20);
}

TEST(html, counts_cells_that_nothing_is_expected_of_and_shows_other_arms_of_the_matrix) {
  const printed all = print(
      {{"a", matrix_record(
                 {{.name = "matrix.made",
                   .arms = {cell_arm("sgemm.cold", {made({step_call("cublasSgemm", "square", internal)})}),
                            cell_arm("odd_arm", {made({step_call("cublasSgemm", "square", internal)})})}}},
                 "13.1.0")}});
  EXPECT_THAT(all.html, HasSubstr("matrix</a>: matrix.made (1). "));
  EXPECT_THAT(all.html, HasSubstr("<th scope=\"row\">matrix.made/odd_arm<small>"));
  EXPECT_THAT(all.html, Not(HasSubstr("<th scope=\"row\">matrix.made/sgemm.cold<small>")));
}

TEST(html, of_far_too_much_keeps_its_limit_and_counts_the_rest) {
  named_records records;
  for (int stack = 0; stack < 12; ++stack) {
    std::vector<case_result> cases = example_cases();
    for (int i = 0; i < 100; ++i) {
      cases.push_back({.name = "family.case" + std::to_string(i)});
      for (int j = 0; j < 20; ++j)
        cases.back().arms.push_back(cell_arm("arm" + std::to_string(j) + "_" + std::to_string(stack),
                                             {made({step_call("cublasSgemm", "one_kernel", internal)})}));
    }
    for (int i = 0; i < 2000; ++i)
      cases.push_back(
          {.name = "matrix.fault_" + std::to_string(stack) + "_" + std::to_string(i),
           .arms = {cell_arm("sgemm.cold", {made({step_call("cublasSgemm", "square", internal)})})}});
    records.emplace_back(std::to_string(stack),
                         matrix_record(std::move(cases), ("13." + std::to_string(stack)).c_str()));
  }
  const printed all = print(records);
  EXPECT_LE(all.html.size(), html_limit);
  EXPECT_THAT(all.html, HasSubstr("do not fit here"));
  EXPECT_LT(all.markdown.size(), std::size_t{1} << 20);
}

TEST(html_text, is_escaped_and_cut_between_characters) {
  EXPECT_EQ(html_escaped("a<b>&\"'\n"), "a&lt;b&gt;&amp;&quot;&#39;\n");
  EXPECT_EQ(html_escaped("\xc3\xa9\xc3(\xed\xa0\x80\xff"),
            "\xc3\xa9\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(html_shortened("a\xc3\xa9z", 2), "a\xe2\x80\xa6");
  EXPECT_EQ(html_shortened("az", 2), "az");
}

}  // namespace
}  // namespace cufault
