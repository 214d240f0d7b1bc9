// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/json_input.hpp"
#include "reports/matrix/tests/matrix_example.hpp"
#include "reports/printers/html_text.hpp"
#include "reports/printers/printers.hpp"

#include <fmt/format.h>
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
  return {print_as("html", all), print_as("markdown", all), print_as("junit", all), print_as("ctrf", all)};
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
  expect_golden(fs::path(CUFAULT_GOLDEN) / "report.html", all.html);
  expect_golden(fs::path(CUFAULT_GOLDEN) / "report.md", all.markdown);
  expect_golden(fs::path(CUFAULT_GOLDEN) / "report.junit.xml", all.junit);
  expect_golden(fs::path(CUFAULT_GOLDEN) / "report.ctrf.json", all.ctrf);
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
    return printed{print_as("html", all), {}, {}, print_as("ctrf", all)};
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
  record green = r;
  green.started = "2026-11-22T00:00:00Z";
  green.complete = true;
  green.exit_code = 0;
  (*green.stack)["keys"]["driver"] = "570.1" + attack;
  green.cases[0].arms[0].trials[0].calls[0].what.status = "CUBLAS_STATUS_SUCCESS" + attack;
  report_builder builder;
  builder.add(attack, r);
  builder.add_unread(attack);
  builder.add_green("<green>|" + attack, green);
  report all = builder.result({}, {{.id = attack, .kind = claim_kind::remedy, .text = attack}});
  ASSERT_TRUE(builder.last_green(all));
  all.change = builder.change_since(*builder.last_green(all), green, all);
  EXPECT_GT(all.change->changed, 0U);
  all.history = report_trends{
      .arms = {{.name = attack,
                .on = attack,
                .how = attack,
                .results = {{.seen = attack, .first = attack, .last = attack}, {.seen = "b" + attack}}}},
      .runs = 2};
  const std::string html = print_as("html", all);
  EXPECT_EQ(count_of(html, "<script"), 1U);
  EXPECT_EQ(count_of(html, "</script"), 1U);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("\"'>")));
  EXPECT_THAT(html, Not(HasSubstr("\xe2\x80\xae")));
  EXPECT_THAT(html, Not(HasSubstr("\x01")));
  EXPECT_THAT(html, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
  const std::string markdown = print_as("markdown", all);
  EXPECT_THAT(markdown, HasSubstr("### Changed since the last green run\n\n- "));
  for (const char* markup : {"<script", "<img", "<green>"}) EXPECT_THAT(markdown, Not(HasSubstr(markup)));
  EXPECT_THAT(markdown, HasSubstr("&lt;img src=x onerror=alert(1)>"));
}

/// A gate of two arms that ran on the day: the second came to this status.
record night(const char* day, const char* status, int exit_code, const char* driver = "580.1") {
  record r =
      matrix_record({{.name = "memory.leak",
                      .arms = {cell_arm("steady", {made({step_call("cublasSgemm", "square", internal)})}),
                               cell_arm("moves", {made({step_call("cublasCreate", "", status)})}),
                               cell_arm("moves_too", {made({step_call("cublasLtCreate", "", status)})})}}});
  r.started = r.ended = fmt::format("2026-11-{}T02:00:00Z", day);
  (*r.stack)["keys"]["driver"] = driver;
  r.commit = "c0ffee";
  r.mode = run_mode::gate;
  r.complete = true;
  r.exit_code = exit_code;
  for (arm_result& a : r.cases[0].arms)
    for (run_of_trials& of : a.runs) of.started = r.started;
  return r;
}

report report_since_green(const named_records& nights) {
  report_builder builder;
  for (const auto& [name, r] : nights) builder.add(name, r);
  report all = builder.result({}, {});
  if (const auto green = builder.last_green(all))
    for (const auto& [name, r] : nights)
      if (name == *green) all.change = builder.change_since(name, r, all);
  return all;
}

/// What stands above everything else.
std::string first_screen(const std::string& page) {
  const auto begin = page.find("<section id=\"changed\"");
  EXPECT_EQ(page.find("<section"), begin) << "the first section";
  return page.substr(begin, page.find("</section>") - begin);
}

TEST(html, begins_with_what_changed_since_the_last_green_run_and_the_line_that_repeats_it) {
  const report all = report_since_green({{"a", night("20", internal, 0)},
                                         {"b", night("21", "CUBLAS_STATUS_ALLOC_FAILED", 0)},
                                         {"c", night("22", "CUBLAS_STATUS_NOT_INITIALIZED", 1)},
                                         {"d", night("23", internal, 1)}});
  const std::string first = first_screen(print_as("html", all));
  EXPECT_THAT(first, HasSubstr("✕ CHANGED</span> stack a: cuBLAS 13.1.0, NVIDIA H200, driver 580.1<"));
  EXPECT_THAT(first, HasSubstr("2 of 3 arms differ from the last green run, 2026-11-21T02:00:00Z (b)"));
  EXPECT_THAT(first, HasSubstr("<th scope=\"row\">memory.leak/<wbr>moves<small>"));
  EXPECT_THAT(first, HasSubstr("cublasCreate: ALLOC_FAILED → INTERNAL_ERROR"));
  EXPECT_THAT(first, HasSubstr("<code>cufault run memory.leak/moves --seed 0</code>"));
  EXPECT_THAT(first, HasSubstr("<small>and 1 alike</small>"));
  EXPECT_THAT(first, HasSubstr("alike: memory.leak/moves_too"));
  EXPECT_THAT(first, Not(HasSubstr("steady")));
  const std::string line =
      "2 arms CHANGED: ALLOC_FAILED → INTERNAL_ERROR: memory.leak/moves, memory.leak/moves_too; repeat: "
      "cufault run memory.leak/moves --seed 0";
  EXPECT_THAT(print_as("markdown", all), HasSubstr("\n- " + line + "\n"));
  EXPECT_THAT(print_as("text", all), HasSubstr("\n  " + line + "\n"));
  const nlohmann::json json = nlohmann::json::parse(print_as("report-json", all))["change"];
  EXPECT_EQ(json["changed"], 2);
  expect_golden(fs::path(CUFAULT_GOLDEN) / "report.json", print_as("report-json", all));
  EXPECT_EQ(json["groups"][0]["arms"].dump(), R"(["memory.leak/moves","memory.leak/moves_too"])");
  EXPECT_EQ(json["groups"][0]["change"], "ALLOC_FAILED → INTERNAL_ERROR");
  EXPECT_THAT(print_as("html", all), HasSubstr("<title>2026-11-22T02:00:00Z: exit code 1, 3 arms</title>"))
      << "trend";
}

TEST(html, says_once_of_an_arm_that_it_changed) {
  report all = report_since_green(
      {{"a", night("20", "CUBLAS_STATUS_ALLOC_FAILED", 0)}, {"b", night("21", internal, 1)}});
  for (report_arm& a : all.stacks[0].run.arms) {
    a.judged = verdict::changed;
    a.status = test_status::failed;
  }
  std::string red = print_as("html", all);
  red = red.substr(red.find("<section id=\"red\""));
  red = red.substr(0, red.find("</section>"));
  EXPECT_THAT(red, HasSubstr("<p>2 arms under what changed.</p>"));
  EXPECT_THAT(red, Not(HasSubstr("<wbr>moves")));
  EXPECT_THAT(red, HasSubstr("<wbr>steady<small>"));
}

TEST(html, says_of_a_green_night_that_nothing_changed) {
  report all = report_since_green({{"a", night("20", internal, 0)}, {"b", night("21", internal, 0)}});
  const std::string page = print_as("html", all), first = first_screen(page);
  EXPECT_THAT(first,
              HasSubstr("✓ NOTHING CHANGED</span> stack a: cuBLAS 13.1.0, NVIDIA H200, driver 580.1<"));
  EXPECT_THAT(first, HasSubstr("nothing changed: 3 arms as in the last green run, 2026-11-20T02:00:00Z (a)"));
  EXPECT_THAT(first, Not(HasSubstr("<table")));
  EXPECT_THAT(page, HasSubstr("? NOTHING IS RED</span> Nothing is recorded for the stack of 3 of 3 arms."));
  for (report_arm& a : all.stacks[0].run.arms) a.judged = verdict::ok;
  EXPECT_THAT(print_as("html", all), HasSubstr("✓ NOTHING IS RED</span> None of 3 arms differs"));
  EXPECT_THAT(first_screen(print_as("html", report_since_green({{"a", night("20", internal, 0)}}))),
              HasSubstr("? NO GREEN RUN"));
}

TEST(html, compares_with_a_green_run_of_the_same_stack_or_else_of_the_same_gpu) {
  const record tonight = night("23", internal, 1);
  const auto green_of = [&](const named_records& nights) {
    named_records all = nights;
    all.emplace_back("tonight", tonight);
    const auto change = report_since_green(all).change;
    return change ? change->green : std::string("none");
  };
  record cut = night("22", internal, 0), observed_only = cut, other_gpu = cut;
  cut.complete = false;
  observed_only.mode = run_mode::observe;
  (*other_gpu.stack)["gpu"]["name"] = "NVIDIA L4";
  EXPECT_EQ(green_of({{"cut", cut}, {"observed", observed_only}, {"red", night("22", internal, 1)}}), "none");
  EXPECT_EQ(green_of({{"gpu", other_gpu}, {"driver", night("21", internal, 0, "570.1")}}), "driver");
  EXPECT_EQ(green_of({{"gpu", other_gpu}}), "none");
  EXPECT_EQ(green_of({{"driver", night("22", internal, 0, "570.1")}, {"same", night("20", internal, 0)}}),
            "same");
  const report all =
      report_since_green({{"driver", night("22", internal, 0, "570.1")}, {"tonight", tonight}});
  EXPECT_THAT(print_as("html", all), HasSubstr("; the stack differs: driver 570.1 → 580.1"));
}

TEST(html, draws_the_results_of_a_history) {
  report all = report_since_green({{"a", night("20", internal, 0)}});
  all.history = report_trends{
      .arms = {{.name = "memory.leak/moves",
                .on = "cuBLAS 13.1.0",
                .how = "1 of 3 runs differ",
                .results = {{"ALLOC_FAILED", "2026-11-20T02:00:00Z", "2026-11-21T02:00:00Z", 2},
                            {"INTERNAL_ERROR", "2026-11-22T02:00:00Z", "2026-11-22T02:00:00Z", 1}}},
               {.name = "memory.leak/over_all",
                .on_all = true,
                .results = {{"A", "2026-11-20T02:00:00Z", "2026-11-20T02:00:00Z", 1}, {"B", "", "", 1}}}},
      .runs = 3,
      .first = "2026-11-20T02:00:00Z",
      .last = "2026-11-22T02:00:00Z"};
  const std::string page = print_as("html", all);
  EXPECT_THAT(page,
              HasSubstr("<title>2026-11-20T02:00:00Z to 2026-11-21T02:00:00Z, 2 runs: ALLOC_FAILED</title>"));
  EXPECT_THAT(page, HasSubstr("<td>1 of 3 runs differ</td>"));
  EXPECT_THAT(page, Not(HasSubstr("memory.leak/<wbr>over_all"))) << "it did not change";
}

/// An arm that came to the same in each run on its stack, and to something else on the next one.
TEST(html, draws_over_all_stacks_what_changed_since_the_last_green_run) {
  report all = report_since_green({{"a", night("20", "CUBLAS_STATUS_ALLOC_FAILED", 0, "570.1")},
                                   {"b", night("21", "CUBLAS_STATUS_NOT_INITIALIZED", 1)}});
  ASSERT_TRUE(all.change);
  const char *before = "2026-11-20T02:00:00Z", *now = "2026-11-21T02:00:00Z";
  report_trends::arm over_all{.name = "memory.leak/moves",
                              .on = "2 stacks",
                              .how = "changed since the last green run",
                              .on_all = true,
                              .results = {{"ALLOC_FAILED", before, before, 1}, {"INIT", now, now, 1}}};
  report_trends::arm on_one = over_all;
  on_one.on_all = false;
  on_one.on = "driver 570.1";
  all.history = report_trends{.arms = {over_all, on_one}, .runs = 2, .first = before, .last = now};
  const std::string page = print_as("html", all);
  EXPECT_THAT(page,
              HasSubstr("memory.leak/<wbr>moves<small>2 stacks</small></th><td>changed since the last"));
  EXPECT_THAT(page,
              HasSubstr("width=\"14.4\" height=\"8.0\"><title>2026-11-21T02:00:00Z to 2026-11-21T02:00:00Z, "
                        "1 run: INIT</title>"));
  EXPECT_THAT(page, Not(HasSubstr("memory.leak/<wbr>moves<small>driver")));
}

TEST(html, has_a_line_a_step_of_what_changed_and_few_of_them) {
  report all =
      report_since_green({{"a", night("20", internal, 0)}, {"b", night("21", "CUBLAS_STATUS_X", 1)}});
  ASSERT_TRUE(all.change);
  all.change->groups[0].what.found.why = "a: X (tried 2; right) → Y; b: Y → Z; c; d; e; f";
  EXPECT_THAT(first_screen(print_as("html", all)),
              HasSubstr("a: X (tried 2; right) → Y\nb: Y → Z\nc\nd\nand 2 more<small>"));
}

TEST(html, says_what_was_not_measured_and_what_was_not_read) {
  report_builder builder;
  builder.add("a", record{});
  builder.add_unread("b.jsonl:2: arm: expected a string, found null");
  const std::string html = print_as("html", builder.result({}, {}));
  EXPECT_THAT(html, HasSubstr("Not measured: these records have no cell of the matrix"));
  EXPECT_THAT(html, HasSubstr("Not measured: no arm of these records has an edge"));
  EXPECT_THAT(html, HasSubstr("Not measured: these records have no sweep"));
  EXPECT_THAT(html, HasSubstr("a run in which nothing ran is not green"));
  EXPECT_THAT(html, HasSubstr("<li>b.jsonl:2: arm: expected a string, found null</li>"));
  EXPECT_THAT(html, HasSubstr("<h3>Runs that did not come to their end</h3>"));
}

TEST(html, of_all_kept_records_is_small_and_asks_for_nothing_from_elsewhere) {
  report_builder builder;
  each_record(
      {CUFAULT_RECORDED}, [&](const fs::path& file, record r) { builder.add(file.string(), std::move(r)); },
      [](const std::string& why) { FAIL() << why; });
  const report all = builder.result(baselines({CUFAULT_RECORDED}), load_claims(CUFAULT_CLAIMS_FILE));
  const std::string html = print_as("html", all);
  EXPECT_LE(html.size(), html_limit);
  EXPECT_THAT(html, HasSubstr("The evidence of each cell does not fit here"));
  EXPECT_THAT(html, HasSubstr("memory.create_under_pressure/held_here_lazy"));
  for (const char* request : {" src=", "href=\"http", "url(", "@import", "fetch("})
    EXPECT_THAT(html, Not(HasSubstr(request)));
  EXPECT_LT(print_as("markdown", all).size(), std::size_t{1} << 20);
}

TEST(html, counts_cells_that_nothing_is_expected_of_and_shows_other_arms_of_the_matrix) {
  const printed all = print(
      {{"a", matrix_record(
                 {{.name = "matrix.made",
                   .arms = {cell_arm("sgemm.cold", {made({step_call("cublasSgemm", "square", internal)})}),
                            cell_arm("odd_arm", {made({step_call("cublasSgemm", "square", internal)})})}}},
                 "13.1.0")}});
  EXPECT_THAT(all.html, HasSubstr("Cells of the matrix: matrix.made (1). "));
  EXPECT_THAT(all.html, HasSubstr("<th scope=\"row\">matrix.made/<wbr>odd_arm<small>"));
  EXPECT_THAT(all.html, Not(HasSubstr("<th scope=\"row\">matrix.made/<wbr>sgemm.cold<small>")));
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
  EXPECT_GT(all.html.size(), html_limit - html_limit / 10) << "the arms get what is left";
  EXPECT_THAT(all.html, HasSubstr("do not fit here"));
  EXPECT_LT(all.markdown.size(), std::size_t{1} << 20);
}

TEST(html, leaves_out_the_last_sections_where_they_are_above_the_limit) {
  report all;
  for (int i = 0; i < 18; ++i) {
    report_part part{.id = "part", .title = i < 17 ? "Part" : "The last part"};
    part.tables.assign(300, {std::string(400, 'a'), {"head"}, {{"cell"}}});
    all.parts.push_back(std::move(part));
  }
  const std::string html = print_as("html", all);
  EXPECT_LE(html.size(), html_limit);
  EXPECT_THAT(html, HasSubstr("Left out, to keep the page small"));
  EXPECT_THAT(html, HasSubstr("<li>The last part</li>"));
  EXPECT_THAT(html, HasSubstr(">Part</h2>"));
  EXPECT_THAT(html, Not(HasSubstr(">The last part</h2>")));
  all.parts.resize(1);
  EXPECT_THAT(print_as("html", all), Not(HasSubstr("Left out")));
}

TEST(html_text, is_escaped_and_cut_between_characters) {
  EXPECT_EQ(html_escaped("a<b>&\"'\n"), "a&lt;b&gt;&amp;&quot;&#39;\n");
  EXPECT_EQ(html_escaped("\xc3\xa9\xc3(\xed\xa0\x80\xff"),
            "\xc3\xa9\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(beginning_of("a\xc3\xa9z", 2), "a\xe2\x80\xa6");
  EXPECT_EQ(beginning_of("az", 2), "az");
}

}  // namespace
}  // namespace cufault
