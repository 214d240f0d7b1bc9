// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/atlas.hpp"

#include "reports/base/files.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/tests/examples.hpp"
#include "reports/printers/causes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>
#include <string>

namespace cufault {
namespace {

using namespace examples;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

call_record row(const std::string& function, const std::string& status, swept_calls s = {}) {
  call_record c = call("cublasSgemm", status);
  s.function = function;
  s.caller = "libcublas";
  if (s.codes.empty()) s.codes = {"UNKNOWN"};
  s.once = true;
  s.calls = s.first = 1;
  if (c.what.ok && s.numbers.empty()) s.numbers = right;
  if (s.again.empty()) s.again = right;
  if (s.handle.empty()) s.handle = right;
  if (status == status_crashed) c.what.facts = {{"signal", std::string("SIGSEGV")}};
  c.swept = s;
  return c;
}

record sweep_record(const std::string& arm, std::vector<call_record> rows, const char* gpu = "NVIDIA H200") {
  observation o;
  o.ended = outcome::completed;
  o.calls = std::move(rows);
  o.measurements = {{"driver calls of a clean run", 24, ""}};
  arm_result a;
  a.name = arm;
  a.trials = {o};
  record r;
  *r.stack = {{"gpu", {{"name", gpu}}}, {"keys", {{"cublas", "13.1.0"}, {"driver", "580.1"}}}};
  r.cases = {{.name = "sweep.sgemm", .arms = {a}}};
  return r;
}

std::string atlas_of(const std::vector<record>& records) {
  std::ostringstream out;
  print_atlas(out, atlas_tables(records), table_style::text);
  return out.str();
}

record part(int which, int of, const std::string& arm, std::vector<call_record> rows) {
  record r = sweep_record(arm, std::move(rows));
  r.cases[0].arms[0].trials[0].measurements.push_back(
      {part_of_sweep, static_cast<double>(which), "of " + std::to_string(of)});
  return r;
}

TEST(atlas, keeps_the_deepest_sweep_that_is_whole_and_the_latest_of_these) {
  std::vector<record> records{sweep_record("thin", {row("cuA", internal)}),
                              sweep_record("grouped", {row("cuB", internal)}),
                              sweep_record("grouped", {row("cuC", internal), row("cuD", internal)}),
                              part(1, 2, "every", {row("cuE", internal)}),
                              part(0, 1, "every", {row("cuF", internal)}),
                              sweep_record("first_thin", {row("cuG", internal)})};
  records[2].started = "2026-11-22T00:00:00Z";
  const auto found = operations_in(records);
  ASSERT_THAT(found, SizeIs(1));
  const auto& all = found.begin()->second;
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].depth, "grouped");
  EXPECT_THAT(all[0].rows, SizeIs(2));
  EXPECT_FALSE(all[0].first);
  EXPECT_EQ(all[1].depth, "thin");
  EXPECT_TRUE(all[1].first);
}

TEST(atlas, puts_shards_together_each_once) {
  const auto first = part(1, 2, "every", {row("cuA", internal)}),
             second = part(2, 2, "every", {row("cuA", internal)});
  const std::vector<record> all{sweep_record("grouped", {row("cuB", internal)}), first, second, second};
  const auto found = operations_in(all);
  EXPECT_EQ(found.begin()->second.at(0).depth, "every");
  EXPECT_THAT(found.begin()->second[0].rows, SizeIs(2));

  const auto of_half = operations_in(std::vector<record>{second, second});
  EXPECT_EQ(of_half.begin()->second.at(0).depth, "every, 1 of 2 parts");
  EXPECT_TRUE(operations_in(std::vector<record>{part(0, 1, "every", {row("cuA", internal)})}).empty());
}

TEST(atlas, says_how_many_call_sites_were_left_out) {
  record r = sweep_record("every", {row("cuA", internal)});
  EXPECT_THAT(atlas_of({r}), Not(HasSubstr("not swept")));
  r.cases[0].arms[0].trials[0].measurements.push_back({unstable_sites, 2, ""});
  EXPECT_THAT(atlas_of({r}), HasSubstr("24, 2 call sites not swept"));
}

TEST(atlas, says_why_a_sweep_is_missing) {
  record failed = sweep_record("first_thin", {row("cuA", internal)});
  observation& trial = failed.cases[0].arms[0].trials[0];
  trial.ended = outcome::harness_failed;
  trial.why = "the device was full";
  EXPECT_THAT(atlas_of({failed}),
              testing::ContainsRegex("sgemm, the first of its process +thin +unresolved: the "
                                     "device was full"));
  const auto sweeps = [](const std::vector<record>& records) {
    return operations_in(records).begin()->second.size();
  };
  EXPECT_EQ(sweeps({failed, sweep_record("thin", {row("cuA", internal)})}), 2U) << "another sweep";
  EXPECT_EQ(sweeps({failed, sweep_record("first_thin", {row("cuA", internal)})}), 1U)
      << "it is there after all";
  EXPECT_EQ(sweeps({failed, sweep_record("first_every", {row("cuA", internal)})}), 1U)
      << "a deeper one is there";
  trial.ended = outcome::not_provoked;
  EXPECT_THAT(atlas_of({failed}), HasSubstr("not provoked: the device was full"));
  failed.cases[0].arms[0].name = "first_every";
  EXPECT_EQ(sweeps({failed, sweep_record("first_thin", {row("cuA", internal)})}), 2U) << "it would be deeper";
  trial.measurements.push_back({part_of_sweep, 0, "of 1"});
  EXPECT_TRUE(operations_in(std::vector<record>{failed}).empty()) << "a row that was named is no sweep";
}

TEST(atlas, explains_its_columns_where_it_is_whole) {
  const std::vector<record> records{sweep_record("thin", {row("cuA", internal)})};
  EXPECT_THAT(atlas_of(records), HasSubstr("- fails by a new handle too: "));
  std::ostringstream overview;
  print_atlas(overview, atlas_tables(records, atlas_extent::overview), table_style::text);
  EXPECT_THAT(overview.str(), Not(HasSubstr("- ")));
}

TEST(atlas, has_counts_for_programs_and_null_where_none_was_counted) {
  record r = sweep_record("thin", {row("cuA", internal), row("cuLeak", no_memory, {.left_bytes = 4096})});
  r.cases.push_back(r.cases[0]);
  r.cases[1].name = "sweep.trapped";
  r.cases[1].arms[0].trials[0].ended = outcome::timed_out;
  const auto stack = to_json(atlas_tables(std::vector{r}))["stacks"][0];
  ASSERT_EQ(stack["overview"].size(), 2U) << stack;
  const auto& whole = stack["overview"][0];
  EXPECT_EQ(whole["driver_calls"], 24);
  EXPECT_EQ(whole["runs"], 2);
  EXPECT_EQ(whole["most_bytes_left"], 4096);
  EXPECT_EQ(nlohmann::json(whole["statuses"]), (nlohmann::json{{"ALLOC_FAILED", 1}, {"INTERNAL_ERROR", 1}}));
  EXPECT_EQ(whole["right_with_nothing_failed"], false);
  EXPECT_TRUE(whole["unresolved"].is_null()) << whole;
  EXPECT_EQ(stack["leaves_memory"][0]["bytes_left"], 4096);
  const auto& unresolved = stack["overview"][1];
  EXPECT_TRUE(unresolved["unresolved"].is_string()) << unresolved;
  for (const char* count : {"driver_calls", "runs", "statuses", "swallowed", "right_with_nothing_failed"})
    EXPECT_TRUE(unresolved[count].is_null()) << count << unresolved;
}

TEST(atlas, tells_poison_of_the_process_from_that_of_the_handle) {
  swept_calls s;
  EXPECT_FALSE(poisons_process(s) || fails_again(s));
  s.again = s.afresh = internal;
  EXPECT_TRUE(poisons_process(s) && !fails_again(s));
  s.afresh = right;
  EXPECT_TRUE(fails_again(s) && !poisons_process(s));
  EXPECT_FALSE(spoils_another(s));
  s.again = right;
  s.handle = internal;
  EXPECT_TRUE(spoils_another(s) && !fails_again(s) && !poisons_process(s));
}

TEST(atlas, says_what_a_failure_leads_to) {
  const std::string text = atlas_of(
      {sweep_record("every", {row("cuStatus", internal), row("cuLeak", no_memory, {.left_bytes = 4096}),
                              row("cuPoison", internal, {.again = internal, .afresh = internal}),
                              row("cuSwallow", success), row("cuWrong", success, {.numbers = wrong}),
                              row("cuCrash", status_crashed, {.reached = false}),
                              row("cuLater", no_memory, {.ended = "timed out", .ended_in = "a product"})})});
  const auto section = [&](const std::string& title) {
    const auto at = text.find(title);
    if (at == std::string::npos) return std::string();
    return text.substr(at, text.find("\n\nWhat ", at + 1) - at);
  };
  EXPECT_THAT(section("What the failure of a driver call leads to"),
              testing::ContainsRegex("cuPoison, cuStatus of libcublas +INTERNAL_ERROR"));
  EXPECT_THAT(section("What the failure of a driver call leads to"), Not(HasSubstr("cuSwallow")))
      << "it leads to no status";
  EXPECT_THAT(section("What poisons the process"), HasSubstr("cuPoison"));
  EXPECT_THAT(section("What fails again"), HasSubstr("None."));
  EXPECT_THAT(section("What leaves device memory"),
              HasSubstr("4096        cufault sweep sgemm/further --row libcublas:cuLeak:1=UNKNOWN"));
  EXPECT_THAT(section("What is swallowed"), HasSubstr("cuSwallow"));
  EXPECT_THAT(section("What is swallowed"), Not(HasSubstr("cuWrong")));
  EXPECT_THAT(section("What ends in SUCCESS, and"), HasSubstr("cuWrong"));
  EXPECT_THAT(section("What crashes"), HasSubstr("CRASHED (signal SIGSEGV) in the operation"));
  EXPECT_THAT(section("What crashes"), testing::ContainsRegex("ALLOC_FAILED +timed out in a product"));
}

TEST(atlas, says_on_what_a_status_depends) {
  const auto failures_of = [](const std::vector<call_record>& rows) {
    const std::vector<record> records{sweep_record("every", rows)};
    std::vector<std::string> lines;
    for (const driver_failure& f : driver_failures_of(operations_in(records).begin()->second))
      lines.push_back(f.functions + ": " + f.leads_to);
    return lines;
  };
  EXPECT_THAT(failures_of({row("cuMemAlloc_v2", no_memory, {.codes = {"OUT_OF_MEMORY"}, .persistent = true}),
                           row("cuMemAlloc_v2", internal,
                               {.codes = {"INVALID_VALUE", "UNKNOWN"}, .persistent = true})}),
              testing::ElementsAre(
                  "cuMemAlloc_v2 of libcublas: ALLOC_FAILED where code OUT_OF_MEMORY; else INTERNAL_ERROR"));
  auto persistent = row("cuInit", internal);
  persistent.swept->once = false;
  persistent.swept->persistent = true;
  EXPECT_THAT(failures_of({row("cuInit", success), persistent}),
              testing::ElementsAre("cuInit of libcublas: SUCCESS where once; else INTERNAL_ERROR"));
  EXPECT_THAT(failures_of({row("cuInit", no_memory, {.phase = "after cuA", .calls = 2}),
                           row("cuInit", internal, {.phase = "after cuB"})}),
              testing::ElementsAre("cuInit of libcublas: ALLOC_FAILED where after cuA; else INTERNAL_ERROR"));
}

// What the sweep of 2026-11-22 saw: which code fails an allocation inside of cublasCreate decides the status.
TEST(atlas, keeps_the_code_that_decides_the_status) {
  std::vector<record> records{
      load_record(std::filesystem::path(CUFAULT_RECORDED) / "h200-580.159.04-cublas-13.1.0")};
  for (case_result& c : records[0].cases) judge(c, {}, keys_of(records[0]));
  std::ostringstream atlas, causes;
  print_atlas(atlas, atlas_tables(records), table_style::markdown);
  EXPECT_THAT(atlas.str(), HasSubstr("| cublas_create | cuMemAlloc_v2 of libcublas | ALLOC_FAILED where code "
                                     "OUT_OF_MEMORY; else INTERNAL_ERROR |\n"));
  print_causes(causes, internal, records, table_style::markdown);
  EXPECT_THAT(causes.str(), HasSubstr("| cublas_create | cuMemAlloc_v2 of libcublas | ALLOC_FAILED where "
                                      "code OUT_OF_MEMORY; else INTERNAL_ERROR |\n"));
  EXPECT_LT(causes.str().find("ways by"), causes.str().find("Made up, by failing a driver call"))
      << "what is natural comes first";
}

TEST(atlas, names_a_call_by_its_site_or_as_records_from_before_sites_do) {
  const swept_operation o{.name = "sgemm", .first = true, .depth = "every"};
  EXPECT_EQ(repeats(o, {.function = "cuInit",
                        .caller = "libcublas",
                        .codes = {"UNKNOWN"},
                        .once = true,
                        .site = "0f3a97c1",
                        .first = 2}),
            "cufault sweep sgemm/first --row libcublas:cuInit@0f3a97c1:2=UNKNOWN");
  EXPECT_EQ(repeats(o, {.function = "cuInit",
                        .caller = "libcublas",
                        .codes = {"UNKNOWN"},
                        .persistent = true,
                        .first = 2}),
            "cufault sweep sgemm/first --row libcublas:cuInit:2+=UNKNOWN");
}

TEST(atlas, says_at_which_site_a_call_leads_to_a_status) {
  const std::vector<record> records{sweep_record(
      "every", {row("cuInit", internal, {.site = "aaaaaaaa"}), row("cuInit", success, {.site = "bbbbbbbb"}),
                row("cuInit", success, {.site = "cccccccc"})})};
  const auto failures = driver_failures_of(operations_in(records).begin()->second);
  ASSERT_THAT(failures, SizeIs(1));
  EXPECT_EQ(failures[0].leads_to, "INTERNAL_ERROR where site aaaaaaaa; else SUCCESS");
}

TEST(atlas, says_nothing_of_what_was_not_reached) {
  swept_calls s;
  s.reached = false;
  EXPECT_THAT(atlas_of({sweep_record("every", {row("cuNever", internal, s)})}), Not(HasSubstr("cuNever")));
}

TEST(atlas, keeps_stacks_apart) {
  const auto text = atlas_of({sweep_record("thin", {row("cuA", internal)}),
                              sweep_record("thin", {row("cuA", internal)}, "NVIDIA B200")});
  EXPECT_THAT(text, HasSubstr("H200"));
  EXPECT_THAT(text, HasSubstr("B200"));
}

TEST(atlas, counts_what_did_its_work_whatever_its_status_is_called) {
  auto refused = row("cuRefused", internal);
  refused.what.ok = true;
  refused.swept->numbers = right;
  const std::string text = atlas_of({sweep_record("thin", {refused})});
  const auto swallowed = text.find("What is swallowed");
  ASSERT_NE(swallowed, std::string::npos);
  EXPECT_GT(text.find("cuRefused"), swallowed);
}

TEST(atlas, rows_survive_the_way_through_a_record) {
  const record r =
      sweep_record("every", {row("cuLeak", no_memory, {.site = "0f3a97c1", .left_bytes = 4096})});
  const observation& o = r.cases[0].arms[0].trials[0];
  auto j = observation_json(o);
  const auto read = [&] { return observation_from(cursor(dump_json(j))); };
  const observation back = read();
  ASSERT_TRUE(back.calls.at(0).swept.has_value());
  EXPECT_EQ(*back.calls[0].swept, *o.calls[0].swept);
  EXPECT_EQ(back.calls[0].what, o.calls[0].what);
  EXPECT_EQ(signature_of(back), signature_of(o));
  j["calls"][0]["swept"]["calls"] = -1;
  EXPECT_EQ(refusal(read), "x.json:1: calls[0].swept.calls: expected no negative number, found -1");
  j["calls"][0]["swept"]["calls"] = 1;
  j["calls"][0]["swept"]["call"] = 1;
  EXPECT_EQ(refusal(read), "x.json:1: calls[0].swept.call: unknown key");
  j["calls"][0]["swept"].erase("call");
  j["calls"][0]["swept"].erase("function");
  EXPECT_EQ(refusal(read), "x.json:1: calls[0].swept: \"function\" is missing");
}

TEST(atlas, rows_are_compared_by_what_was_made_to_fail_and_what_came_of_it) {
  const auto signature = [](const call_record& one) {
    observation o;
    o.ended = outcome::completed;
    o.calls = {one};
    return signature_of(o);
  };
  const auto one = row("cuA", internal);
  EXPECT_EQ(describe(signature(one)),
            "cublasSgemm cuA of libcublas: UNKNOWN once: CUBLAS_STATUS_INTERNAL_ERROR");
  EXPECT_NE(signature(row("cuB", internal)), signature(one));
  EXPECT_NE(signature(row("cuA", internal, {.again = internal})), signature(one));
  EXPECT_NE(signature(row("cuA", internal, {.left_bytes = 1})), signature(one));
  EXPECT_EQ(signature(row("cuA", internal, {.site = "0f3a97c1"})), signature(one))
      << "a site is another in each build";
  EXPECT_EQ(signature(row("cuA", internal, {.left_bytes = 1})),
            signature(row("cuA", internal, {.left_bytes = 2})));
}

}  // namespace
}  // namespace cufault
