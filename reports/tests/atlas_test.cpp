// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/atlas.hpp"

#include "reports/tests/examples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

namespace cufault {
namespace {

using namespace examples;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

call_record row(const std::string& function, const std::string& status, swept_calls s = {}) {
  call_record c = call(function + " of libcublas: UNKNOWN once", status);
  s.function = function;
  s.caller = "libcublas";
  s.codes = {"UNKNOWN"};
  s.once = true;
  s.calls = s.first = 1;
  if (is_success(status) && s.numbers.empty()) s.numbers = right;
  if (s.again.empty()) s.again = right;
  if (s.handle.empty()) s.handle = right;
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
  r.stack = {{"gpu", {{"name", gpu}}}, {"keys", {{"cublas", "13.1.0"}, {"driver", "580.1"}}}};
  r.cases = {{"sweep.sgemm", "", {a}}};
  return r;
}

std::string atlas_of(const std::vector<record>& records) {
  std::ostringstream out;
  print_atlas(out, records, table_style::text);
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
  print_atlas(overview, records, table_style::text, atlas_extent::overview);
  EXPECT_THAT(overview.str(), Not(HasSubstr("- ")));
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
                              row("cuCrash", "crashed: SIGSEGV", {.reached = false}),
                              row("cuLater", no_memory, {.ended = "timed out", .ended_in = "a product"})})});
  const auto section = [&](const std::string& title) {
    const auto at = text.find(title);
    if (at == std::string::npos) return std::string();
    return text.substr(at, text.find("\n\nWhat ", at + 1) - at);
  };
  EXPECT_THAT(section("What a status means"), HasSubstr("cuPoison, cuStatus of libcublas"));
  EXPECT_THAT(section("What poisons the process"), HasSubstr("cuPoison"));
  EXPECT_THAT(section("What fails again"), HasSubstr("None."));
  EXPECT_THAT(section("What leaves device memory"),
              HasSubstr("4096        cufault sweep sgemm/further --row libcublas:cuLeak:1=UNKNOWN"));
  EXPECT_THAT(section("What is swallowed"), HasSubstr("cuSwallow"));
  EXPECT_THAT(section("What is swallowed"), Not(HasSubstr("cuWrong")));
  EXPECT_THAT(section("What ends in SUCCESS, and"), HasSubstr("cuWrong"));
  EXPECT_THAT(section("What crashes"), HasSubstr("crashed: SIGSEGV in the operation"));
  EXPECT_THAT(section("What crashes"), testing::ContainsRegex("ALLOC_FAILED +timed out in a product"));
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

TEST(atlas, rows_survive_the_way_through_a_record) {
  const record r = sweep_record("every", {row("cuLeak", no_memory, {.left_bytes = 4096})});
  nlohmann::json j = r.cases[0].arms[0].trials[0];
  const observation back = observation_from(json_cursor{parse_json("test", j.dump())});
  ASSERT_TRUE(back.calls.at(0).swept.has_value());
  EXPECT_EQ(nlohmann::json(*back.calls[0].swept),
            nlohmann::json(*r.cases[0].arms[0].trials[0].calls[0].swept));
  j["calls"][0]["swept"]["calls"] = -1;
  EXPECT_THROW(observation_from(json_cursor{parse_json("test", j.dump())}), input_error);
  j["calls"][0]["swept"]["calls"] = 1;
  j["calls"][0]["swept"]["call"] = 1;
  EXPECT_THROW(observation_from(json_cursor{parse_json("test", j.dump())}), input_error);
}

}  // namespace
}  // namespace cufault
