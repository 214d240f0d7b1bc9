// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/sweep.hpp"

#include "harness/injection/operation_facts.hpp"
#include "harness/system/process.hpp"
#include "harness/trial/observe.hpp"
#include "reports/printers/atlas.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cufault::sweeping {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using program_sweep::run_log;

constexpr const char *cublas = "libcublas.so.13", *lt = "libcublasLt.so.13";

struct logged_call {
  const char *function, *library;
  char site;  ///< each digit of its hash
};
/// Of a run that makes these calls, in one process.
run_log log_of(const std::vector<logged_call>& calls) {
  run_log log;
  for (const logged_call& call : calls) {
    const program_sweep::call_site site{call.library, "0x1", call.function, std::string(16, call.site)};
    const auto found =
        std::find_if(log.sites.begin(), log.sites.end(), [&](const auto& each) { return each.site == site; });
    log.order.push_back(static_cast<std::size_t>(found - log.sites.begin()));
    if (found == log.sites.end()) log.sites.push_back({site, {0, 1}});
    ++log.sites[log.order.back()].count.calls;
  }
  return log;
}

std::vector<driver_call> calls_of(const std::vector<logged_call>& calls) {
  const run_log log = log_of(calls);
  return calls_from(log, compare(log.sites, log.sites));
}

std::vector<driver_call> some_calls() {
  return calls_of({{"cuCtxGetCurrent", cublas, 'a'},
                   {"cuMemAlloc_v2", cublas, 'b'},
                   {"cuEventCreate", cublas, 'c'},
                   {"cuEventCreate", cublas, 'c'},
                   {"cuCtxGetCurrent", cublas, 'd'},
                   {"cuCtxGetCurrent", lt, 'e'},
                   {"cuMemAlloc_v2", "cufault", 'f'}});
}

std::vector<std::string> names_of(const std::vector<driver_call>& calls) {
  std::vector<std::string> names;
  for (const driver_call& c : calls)
    names.push_back(c.caller + ":" + c.function + "@" + c.site.substr(0, 1) + ":" +
                    std::to_string(c.ordinal));
  return names;
}

TEST(sweep, numbers_the_calls_of_each_call_site) {
  EXPECT_THAT(names_of(some_calls()),
              ElementsAre("libcublas:cuCtxGetCurrent@a:1", "libcublas:cuMemAlloc_v2@b:1",
                          "libcublas:cuEventCreate@c:1", "libcublas:cuEventCreate@c:2",
                          "libcublas:cuCtxGetCurrent@d:1", "libcublasLt:cuCtxGetCurrent@e:1",
                          "application:cuMemAlloc_v2@f:1"));
}

TEST(sweep, leaves_out_sites_that_two_clean_runs_do_not_call_equally_often) {
  const run_log first = log_of(
                    {{"cuInit", cublas, 'a'}, {"cuMemAlloc_v2", cublas, 'b'}, {"cuInit", cublas, 'c'}}),
                second = log_of({{"cuInit", cublas, 'a'}, {"cuInit", cublas, 'c'}, {"cuInit", lt, 'd'}});
  const auto calls = calls_from(first, compare(first.sites, second.sites));
  EXPECT_THAT(names_of(calls), ElementsAre("libcublas:cuInit@a:1", "libcublas:cuInit@c:1"));
  EXPECT_EQ(calls[1].phase, "") << "what a run may lack parts no phases";
}

TEST(sweep, calls_that_change_something_part_the_phases_and_their_repetition_is_one) {
  std::vector<std::string> phases;
  for (const driver_call& c : some_calls()) phases.push_back(c.phase);
  EXPECT_THAT(phases, ElementsAre("", "", "after cuMemAlloc_v2", "after cuMemAlloc_v2", "after cuEventCreate",
                                  "after cuEventCreate", "after cuEventCreate"));
}

TEST(facts_of_an_operation, count_its_driver_calls_and_the_kernels_that_it_launched) {
  const run_log log = log_of({{"cuCtxGetCurrent", cublas, 'a'},
                              {"cuLaunchKernelEx_ptsz", cublas, 'a'},
                              {"cuLaunchHostFunc", cublas, 'a'},
                              {"cuLaunchCooperativeKernel", lt, 'b'},
                              {"cuGraphLaunch", "cufault", 'c'}});
  EXPECT_EQ(facts_of(log, 1024), (fact_map{{"driver_calls", std::int64_t{5}},
                                           {"kernels", std::int64_t{2}},
                                           {"memory_taken", std::int64_t{1024}}}));
  for (const auto& [name, value] : facts_of({}, 0)) EXPECT_EQ(defect_of(name, value), "");
}

TEST(sweep, knows_what_only_asks) {
  for (const char* asks : {"cuCtxGetDevice_v2", "cuEventQuery", "cuStreamIsCapturing", "cuCtxPushCurrent_v2",
                           "cuOccupancyMaxActiveClusters", "cuDriverGetVersion"})
    EXPECT_TRUE(only_asks(asks)) << asks;
  for (const char* changes :
       {"cuMemAlloc_v2", "cuInit", "cuLibraryLoadData", "cuLaunchKernel", "cuMemFree_v2"})
    EXPECT_FALSE(only_asks(changes)) << changes;
}

TEST(sweep, fails_a_function_with_what_it_can_return_and_the_most_telling_first) {
  EXPECT_EQ(codes_for("cuMemAlloc_v2").front(), "OUT_OF_MEMORY");
  EXPECT_THAT(codes_for("cuCtxGetDevice_v2"), testing::Not(Contains("OUT_OF_MEMORY")));
  EXPECT_THAT(codes_for("cuOfALaterDriver"), SizeIs(5)) << "what cuda.h does not know can return anything";
}

std::vector<planned_row> planned(const std::vector<driver_call>& calls, depth deep) {
  return plan(calls, groups_of(calls, deep), deep);
}

TEST(sweep, runs_the_first_call_of_a_group_or_also_its_last_or_all) {
  const auto calls = calls_of({{"cuEventCreate", cublas, 'a'},
                               {"cuEventCreate", cublas, 'b'},
                               {"cuEventCreate", cublas, 'b'},
                               {"cuCtxGetCurrent", cublas, 'c'}});
  EXPECT_THAT(groups_of(calls, depth::grouped), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3)));
  EXPECT_THAT(groups_of(calls, depth::every), SizeIs(4));
  const auto called = [&](depth deep) {
    std::map<std::size_t, std::size_t> rows;
    for (const planned_row& row : planned(calls, deep)) ++rows[row.call];
    return rows;
  };
  const std::size_t create = 2 * codes_for("cuEventCreate").size(),
                    get = 2 * codes_for("cuCtxGetCurrent").size();
  using rows_of_calls = std::map<std::size_t, std::size_t>;
  EXPECT_EQ(called(depth::thin), (rows_of_calls{{0, 1}, {3, 1}}));
  EXPECT_EQ(called(depth::grouped), (rows_of_calls{{0, create}, {2, create}, {3, get}}));
  EXPECT_EQ(called(depth::every), (rows_of_calls{{0, create}, {1, create}, {2, create}, {3, get}}));
  EXPECT_FALSE(planned(calls, depth::thin)[0].persistent);
  EXPECT_THAT(planned({}, depth::every), SizeIs(0));
}

void fill(char (&text)[48], const char* with) {
  text[std::string_view(with).copy(text, sizeof text - 1)] = '\0';
}

row_result came_to(const char* status, bool ok, const char* again = "RIGHT_NUMBERS") {
  row_result r;
  r.over = r.reached = true;
  r.ok = ok;
  fill(r.end, "returned");
  fill(r.status, status);
  fill(r.again, again);
  fill(r.handle, "RIGHT_NUMBERS");
  if (ok) fill(r.numbers, "RIGHT_NUMBERS");
  return r;
}

TEST(sweep, finds_groups_whose_calls_differ) {
  const auto calls = calls_of({{"cuEventCreate", cublas, 'a'},
                               {"cuEventCreate", cublas, 'a'},
                               {"cuEventCreate", cublas, 'a'},
                               {"cuCtxGetCurrent", cublas, 'b'}});
  const auto groups = groups_of(calls, depth::grouped);
  const auto rows = plan(calls, groups, depth::grouped);
  std::vector<row_result> results(rows.size(), came_to("CUBLAS_STATUS_ALLOC_FAILED", false));
  const auto differ = [&] { return count_differing_groups(groups, rows, results); };
  const auto last = static_cast<std::size_t>(
      std::find_if(rows.begin(), rows.end(), [](const planned_row& r) { return r.call == 2; }) -
      rows.begin());
  EXPECT_EQ(differ(), 0U);
  EXPECT_THAT(rows_between(groups, rows, results), SizeIs(0));
  const row_result same = results[last];
  results[last].milliseconds = 5;
  results[last].left_bytes = 4096;
  EXPECT_EQ(differ(), 0U) << "times and bytes do not count";
  for (char(row_result::*text)[48] :
       {&row_result::end, &row_result::in, &row_result::status, &row_result::numbers, &row_result::again,
        &row_result::handle, &row_result::later, &row_result::afresh}) {
    results[last] = same;
    fill(results[last].*text, "other");
    EXPECT_EQ(differ(), 1U);
  }
  results[last] = same;
  results[last].reached = false;
  EXPECT_EQ(differ(), 1U);
  EXPECT_THAT(rows_between(groups, rows, results),
              ElementsAre(planned_row{1, rows[last].code, rows[last].persistent}))
      << "by the code and mode that differ alone";
  auto more = rows;
  auto results_of_more = results;
  more.push_back(rows_between(groups, rows, results)[0]);
  results_of_more.emplace_back();
  EXPECT_THAT(rows_between(groups, more, results_of_more), SizeIs(0)) << "it did not run: not again";
  results[last].over = false;
  EXPECT_EQ(differ(), 0U) << "for this row time ran out";
}

TEST(sweep, halves_a_group_until_calls_that_differ_are_neighbours) {
  std::vector<driver_call> calls(1000);
  for (driver_call& c : calls) {
    c.function = "cuEventCreate";
    c.caller = cublas;
  }
  const auto groups = groups_of(calls, depth::grouped);
  ASSERT_THAT(groups, SizeIs(1));
  std::vector<planned_row> rows, next = plan(calls, groups, depth::grouped);
  const std::size_t at_first = next.size();
  const std::string code = next[0].code;
  const auto fails = [&](const planned_row& r) {
    return r.code == code && !r.persistent && (r.call < 3 || (r.call > 700 && r.call < 710));
  };
  std::vector<row_result> results;
  while (!next.empty()) {
    for (const planned_row& row : next) {
      results.push_back(fails(row) ? came_to("CUBLAS_STATUS_ALLOC_FAILED", false)
                                   : came_to("CUBLAS_STATUS_SUCCESS", true));
      rows.push_back(row);
    }
    next = rows_between(groups, rows, results);
  }
  std::set<std::size_t> ran;
  for (std::size_t i = at_first; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].code, code);
    EXPECT_FALSE(rows[i].persistent);
    EXPECT_TRUE(ran.insert(rows[i].call).second) << "once";
  }
  EXPECT_TRUE(ran.contains(2) && ran.contains(3)) << "neighbours that differ";
  EXPECT_LE(ran.size(), 10U) << "1000 calls are halved ten times";
  EXPECT_FALSE(ran.contains(705)) << "calls that differ between two with equal results are not found";
}

TEST(sweep, finds_the_call_that_a_row_names) {
  const auto calls = some_calls();
  const auto named = [&](const char* row) { return call_named(row_named(row), calls, {}); };
  EXPECT_EQ(named("libcublas:cuEventCreate@cccccccc:2=UNKNOWN"), 3U);
  EXPECT_EQ(named("libcublas:cuCtxGetCurrent@dddddddddddddddd:1+=UNKNOWN"), 4U);
  EXPECT_EQ(named("libcublas:cuCtxGetCurrent:2=UNKNOWN"), 4U) << "as records from before sites name it";
  EXPECT_EQ(named("application:cuMemAlloc_v2@ffffffff:1=UNKNOWN"), 6U);
  for (const char* none :
       {"libcublas:cuEventCreate@cccccccc:3=UNKNOWN", "libcublas:cuEventCreate@dddddddd:1=UNKNOWN",
        "libcublasLt:cuEventCreate@cccccccc:1=UNKNOWN", "libcublas:cuCtxGetCurrent:3=UNKNOWN"})
    EXPECT_THROW(static_cast<void>(named(none)), setup_failed) << none;
}

TEST(sweep, refuses_a_row_that_names_two_call_sites) {
  auto calls = calls_of({{"cuInit", cublas, 'a'}, {"cuInit", cublas, 'b'}});
  calls[0].site = "0123456700000000";
  calls[1].site = "0123456711111111";
  EXPECT_THROW(static_cast<void>(call_named(row_named("libcublas:cuInit@01234567:1=UNKNOWN"), calls, {})),
               setup_failed);
  EXPECT_EQ(call_named(row_named("libcublas:cuInit@012345671:1=UNKNOWN"), calls, {}), 1U);
}

TEST(sweep, refuses_a_row_without_a_call_site_where_calls_of_the_function_were_left_out) {
  const run_log first = log_of({{"cuInit", cublas, 'a'},
                                {"cuInit", cublas, 'b'},
                                {"cuMemAlloc_v2", cublas, 'c'},
                                {"cuInit", lt, 'd'}}),
                second =
                    log_of({{"cuInit", cublas, 'b'}, {"cuMemAlloc_v2", cublas, 'c'}, {"cuInit", lt, 'd'}});
  const auto sites = compare(first.sites, second.sites);
  const auto calls = calls_from(first, sites);
  const auto named = [&](const char* row) { return call_named(row_named(row), calls, sites); };
  try {
    named("libcublas:cuInit:1=UNKNOWN");
    ADD_FAILURE() << "its first call is of the site that was left out";
  } catch (const setup_failed& refused) {
    EXPECT_STREQ(refused.what(),
                 "libcublas:cuInit:1: this row has no call site, and 1 call site of cuInit was left out: "
                 "name the site");
  }
  EXPECT_EQ(named("libcublas:cuInit@bbbbbbbb:1=UNKNOWN"), 0U);
  EXPECT_EQ(named("libcublas:cuMemAlloc_v2:1=UNKNOWN"), 1U) << "no site of another function matters";
  EXPECT_EQ(named("libcublasLt:cuInit:1=UNKNOWN"), 2U) << "nor one of another library";
}

TEST(sweep, says_why_it_proves_nothing_where_the_operation_fails_by_itself) {
  const auto nothing_failed = [](const char* status, bool ok) {
    row_result r = came_to(status, ok);
    r.reached = false;
    return r;
  };
  EXPECT_EQ(why_it_proves_nothing(row_result{}, "end"), "") << "did not run";
  row_result r = nothing_failed("CUBLAS_STATUS_SUCCESS", true);
  EXPECT_EQ(why_it_proves_nothing(r, "end"), "");
  fill(r.again, "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(
      why_it_proves_nothing(r, "end"),
      "at the end, with nothing made to fail, the repeated operation came to CUBLAS_STATUS_ALLOC_FAILED");
  r = nothing_failed("CUBLAS_STATUS_SUCCESS", true);
  fill(r.numbers, "WRONG_NUMBERS");
  EXPECT_EQ(why_it_proves_nothing(r, "start"),
            "at the start, with nothing made to fail, the operation came to WRONG_NUMBERS");
  EXPECT_THAT(why_it_proves_nothing(nothing_failed("CUBLAS_STATUS_INTERNAL_ERROR", false), "end"),
              HasSubstr("the operation came to CUBLAS_STATUS_INTERNAL_ERROR"));
  EXPECT_THAT(why_it_proves_nothing(came_to("CUBLAS_STATUS_SUCCESS", true), "end"),
              HasSubstr("a call failed"));
  r = row_result{};
  fill(r.end, "crashed: SIGSEGV");
  fill(r.in, "its check");
  EXPECT_THAT(why_it_proves_nothing(r, "end"), HasSubstr("ended in its check: crashed: SIGSEGV"));
}

TEST(sweep, rows_that_behave_alike_are_one) {
  const auto calls = some_calls();
  const std::vector<planned_row> rows{
      {2, "OUT_OF_MEMORY", false}, {2, "OUT_OF_MEMORY", true},  {2, "UNKNOWN", false},
      {2, "UNKNOWN", true},        {3, "OUT_OF_MEMORY", false}, {3, "OUT_OF_MEMORY", true},
      {3, "UNKNOWN", false},       {3, "UNKNOWN", true},        {no_call, "", false}};
  std::vector<row_result> results(rows.size(), came_to("CUBLAS_STATUS_ALLOC_FAILED", false));
  results.back() = came_to("CUBLAS_STATUS_SUCCESS", true);
  const auto one = grouped(calls, rows, results);
  ASSERT_THAT(one, SizeIs(2));
  EXPECT_EQ(describe(one[0].calls),
            "cuEventCreate of libcublas after cuMemAlloc_v2: OUT_OF_MEMORY, UNKNOWN once or persistently");
  EXPECT_EQ(one[0].calls.calls, 2U);
  EXPECT_EQ(one[0].calls.site, "cccccccc");
  EXPECT_EQ(one[0].calls.first, 1U);
  EXPECT_EQ(runs_of(one[0].calls), 8U);
  EXPECT_EQ(describe(one[1].calls), "nothing made to fail");
  EXPECT_EQ(one[1].calls.site, "");

  // One of them differs: by its status, or by what came after.
  results[6] = came_to("CUBLAS_STATUS_INTERNAL_ERROR", false);
  EXPECT_THAT(grouped(calls, rows, results), SizeIs(testing::Gt(2)));
  results[6] = came_to("CUBLAS_STATUS_ALLOC_FAILED", false, "CUBLAS_STATUS_ALLOC_FAILED");
  std::uint64_t runs = 0;
  for (const grouped_row& g : grouped(calls, rows, results)) runs += runs_of(g.calls);
  EXPECT_EQ(runs, 8U) << "however they are grouped, each run is told once";
}

TEST(sweep, rows_of_one_call_are_in_the_order_of_codes_and_persistent_ones_come_first) {
  const auto calls = some_calls();
  const std::vector<planned_row> rows{
      {2, "OUT_OF_MEMORY", false}, {2, "OUT_OF_MEMORY", true}, {2, "UNKNOWN", false}};
  const std::vector<row_result> results{came_to("CUBLAS_STATUS_ALLOC_FAILED", false),
                                        came_to("CUBLAS_STATUS_INTERNAL_ERROR", false),
                                        came_to("CUBLAS_STATUS_NOT_INITIALIZED", false)};
  std::vector<std::string> statuses;
  for (const grouped_row& g : grouped(calls, rows, results)) statuses.push_back(g.status.status);
  EXPECT_THAT(statuses, ElementsAre("CUBLAS_STATUS_INTERNAL_ERROR", "CUBLAS_STATUS_ALLOC_FAILED",
                                    "CUBLAS_STATUS_NOT_INITIALIZED"));
}

TEST(sweep, tells_crashes_and_what_was_not_reached_and_leaves_out_what_never_ran) {
  const auto calls = some_calls();
  std::vector<row_result> results(3, came_to("CUBLAS_STATUS_SUCCESS", true));
  results[0] = row_result{};
  fill(results[0].end, "crashed: SIGSEGV");
  fill(results[0].in, "the operation");
  results[1].reached = false;
  results[2].over = false;
  const auto told = grouped(
      calls, {{1, "OUT_OF_MEMORY", false}, {2, "OUT_OF_MEMORY", false}, {4, "UNKNOWN", true}}, results);
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].status.status, status_crashed);
  EXPECT_EQ(told[0].status.facts, (fact_map{{"signal", std::string("SIGSEGV")}}));
  EXPECT_FALSE(told[0].status.ok);
  EXPECT_TRUE(told[0].calls.reached) << "who died in the operation had reached it";
  EXPECT_EQ(told[0].calls.ended_in, "the operation");
  EXPECT_FALSE(told[1].calls.reached);
}

TEST(sweep, keeps_what_the_operation_returned_where_the_process_ends_later) {
  const auto calls = some_calls();
  std::vector<row_result> results{came_to("CUBLAS_STATUS_ALLOC_FAILED", false)};
  results[0].over = false;
  fill(results[0].end, "timed out");
  fill(results[0].in, "a product");
  const auto told = grouped(calls, {{1, "OUT_OF_MEMORY", false}}, results);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].status.status, "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(told[0].calls.ended, "timed out");
  EXPECT_EQ(told[0].calls.ended_in, "a product");
}

TEST(sweep, takes_a_shard_that_exists_alone) {
  setenv(shard_variable, "2/4", 1);
  EXPECT_EQ(request_from_environment().shard, (std::pair{2, 4}));
  for (const char* bad : {"0/4", "5/4", "x", "1", "1/"}) {
    setenv(shard_variable, bad, 1);
    EXPECT_THROW(static_cast<void>(request_from_environment()), setup_failed) << bad;
  }
  unsetenv(shard_variable);
  EXPECT_EQ(request_from_environment().shard, (std::pair{1, 1}));
}

#ifndef SANITIZED  // libcufault.so stands in front of malloc, and a sanitizer wants to
/// road.cpp's operation, swept in processes of their own on a driver of ours.
class swept : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "cufault-sweep-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  process_result sweep(std::vector<std::string> words) {
    spawn_options options;
    options.argv = {TEST_PROGRAM,       "sweep",    "--records",
                    folder / "records", "--cublas", fs::path(FAKE_CUBLAS_DIR) / "a"};
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    options.environment = {
        {"ROAD_DRIVER", FAKE_DRIVER}, {"CUDA_VISIBLE_DEVICES", "-1"}, {"CUFAULT_REQUIRE_GPU", ""}};
    return run_process(options, {});
  }
  swept_operation seen() {
    std::vector<record> all;
    for (const auto& entry : fs::directory_iterator(folder / "records"))
      all.push_back(load_record(entry.path()));
    const auto operations = operations_in(all);
    return operations.size() == 1 ? operations.begin()->second.at(0) : swept_operation{};
  }
  /// Of the rows in which the function once returned the code, in the order of their first calls.
  static call_record row_of(const swept_operation& o, const std::string& function, const std::string& code,
                            std::size_t which = 0) {
    for (const call_record& row : o.rows) {
      const swept_calls& s = *row.swept;
      const bool coded = std::find(s.codes.begin(), s.codes.end(), code) != s.codes.end();
      if (s.function == function && coded && s.once && which-- == 0) return row;
    }
    ADD_FAILURE() << "no row of " << function;
    return {};
  }
  /// The arm that was swept.
  arm_result arm() {
    const record made = load_record(fs::directory_iterator(folder / "records")->path());
    for (const arm_result& a : made.cases.at(0).arms)
      if (a.kind == arm_kind::fault) return a;
    ADD_FAILURE() << "no arm was swept";
    return {};
  }
  /// Rows that were run, however they are grouped.
  std::uint64_t runs() {
    std::uint64_t sum = 0;
    for (const call_record& row : seen().rows) sum += runs_of(*row.swept);
    return sum;
  }
  double measured(const std::string& name) {
    const arm_result swept = arm();
    for (const measurement& m : swept.trials.at(0).measurements)
      if (m.name == name) return m.value;
    return -1;
  }
  process_result sweep_with_right_uses(const char* right_uses) {
    setenv("ROAD_USES", (folder / "uses").c_str(), 1);
    setenv("ROAD_RIGHT_USES", right_uses, 1);
    auto seen = sweep({"road/first", "--depth", "thin"});
    unsetenv("ROAD_USES");
    unsetenv("ROAD_RIGHT_USES");
    return seen;
  }
  fs::path folder;
};

TEST_F(swept, tells_for_each_call_what_its_failure_leads_to) {
  const auto said = sweep({"road/first"});
  ASSERT_EQ(said.exit_code, 0) << said.stdout_text << said.stderr_text;
  const swept_operation o = seen();
  EXPECT_EQ(o.driver_calls, 13);
  EXPECT_TRUE(o.first);
  EXPECT_EQ(o.depth, "every");

  const call_record version = row_of(o, "cuDriverGetVersion", "INVALID_VALUE");
  EXPECT_EQ(version.what.status, "CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_EQ(version.swept->again, "CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_TRUE(poisons_process(*version.swept));

  const call_record first = row_of(o, "cuMemAlloc_v2", "OUT_OF_MEMORY");
  EXPECT_EQ(first.what.status, "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(first.swept->left_bytes, 0);
  EXPECT_EQ(first.swept->again, "RIGHT_NUMBERS");
  EXPECT_FALSE(poisons_process(*first.swept));

  const call_record second = row_of(o, "cuMemAlloc_v2", "OUT_OF_MEMORY", 1);
  EXPECT_EQ(second.what.status, "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(second.swept->left_bytes, 1000);
  EXPECT_NE(second.swept->site, first.swept->site);

  const call_record freed = row_of(o, "cuMemFree_v2", "INVALID_VALUE");
  EXPECT_EQ(freed.what.status, "CUBLAS_STATUS_SUCCESS");
  EXPECT_EQ(freed.swept->numbers, "RIGHT_NUMBERS");
  EXPECT_EQ(freed.swept->left_bytes, 24);

  const call_record device = row_of(o, "cuCtxGetDevice", "INVALID_VALUE");
  EXPECT_EQ(device.what.status, "CUBLAS_STATUS_SUCCESS");
  EXPECT_EQ(device.swept->numbers, "WRONG_NUMBERS");
  EXPECT_EQ(device.swept->calls, 3U) << "three calls that behave alike are one row";

  const call_record crash = row_of(o, "cuInit", "INVALID_VALUE");
  EXPECT_EQ(crash.what.status, status_crashed);
  EXPECT_TRUE(crash.swept->reached);

  const call_record& last = o.rows.back();
  EXPECT_EQ(describe(*last.swept), "nothing made to fail");
  EXPECT_EQ(last.what.status, "CUBLAS_STATUS_SUCCESS");
  EXPECT_EQ(last.swept->numbers, "RIGHT_NUMBERS");
}

TEST_F(swept, a_call_that_fails_persistently_fails_at_every_later_site_too) {
  ASSERT_EQ(sweep({"road/first"}).exit_code, 0);
  const swept_operation o = seen();
  EXPECT_EQ(row_of(o, "cuDeviceGetCount", "INVALID_VALUE").what.status, "CUBLAS_STATUS_SUCCESS")
      << "the library tries again elsewhere";
  const auto persistent = std::find_if(o.rows.begin(), o.rows.end(), [](const call_record& row) {
    return row.swept->function == "cuDeviceGetCount" && row.swept->persistent;
  });
  ASSERT_NE(persistent, o.rows.end());
  EXPECT_EQ(persistent->what.status, "CUBLAS_STATUS_INTERNAL_ERROR");
}

TEST_F(swept, takes_two_calls_of_each_group_and_halves_it_where_these_differ) {
  ASSERT_EQ(sweep({"road/first", "--depth", "grouped"}).exit_code, 0);
  const swept_operation o = seen();
  EXPECT_EQ(o.depth, "grouped");
  EXPECT_EQ(row_of(o, "cuCtxGetDevice", "INVALID_VALUE").swept->calls, 2U)
      << "the first and the last of three";
  EXPECT_EQ(row_of(o, "cuCtxGetCurrent", "UNKNOWN").what.status, "CUBLAS_STATUS_EXECUTION_FAILED");
  EXPECT_EQ(row_of(o, "cuCtxGetCurrent", "UNKNOWN").swept->calls, 1U);
  EXPECT_EQ(row_of(o, "cuCtxGetCurrent", "UNKNOWN", 1).what.status, "CUBLAS_STATUS_SUCCESS");
  EXPECT_EQ(row_of(o, "cuCtxGetCurrent", "UNKNOWN", 1).swept->calls, 2U)
      << "of four calls the second and the last";
  EXPECT_EQ(measured("groups of driver calls"), 7);
  EXPECT_EQ(measured("groups that were split"), 1);
  const auto calls_of = [](const char* function, double calls) {
    return calls * 2 * static_cast<double>(codes_for(function).size());
  };
  EXPECT_EQ(measured("rows"), calls_of("cuDriverGetVersion", 1) + calls_of("cuDeviceGetCount", 1) +
                                  calls_of("cuCtxGetCurrent", 3) + calls_of("cuMemAlloc_v2", 2) +
                                  calls_of("cuMemFree_v2", 1) + calls_of("cuCtxGetDevice", 2) +
                                  calls_of("cuInit", 1) + 3)
      << "in three nothing is made to fail";
}

TEST_F(swept, shards_of_depth_grouped_together_are_the_whole) {
  ASSERT_EQ(sweep({"road/first", "--depth", "grouped"}).exit_code, 0);
  const auto whole = runs();
  fs::remove_all(folder / "records");
  for (const char* part : {"1/2", "2/2"})
    ASSERT_EQ(sweep({"road/first", "--depth", "grouped", "--shard", part}).exit_code, 0);
  EXPECT_EQ(runs(), whole);
}

TEST_F(swept, names_call_sites_that_two_clean_runs_do_not_call_equally_often) {
  setenv("ROAD_FIRST", (folder / "first").c_str(), 1);
  const auto said = sweep({"road/first", "--depth", "thin"});
  unsetenv("ROAD_FIRST");
  ASSERT_EQ(said.exit_code, 0) << said.stdout_text;
  EXPECT_EQ(measured(clean_calls), 14);
  EXPECT_EQ(measured(unstable_sites), 1);
  const arm_result swept = arm();
  ASSERT_THAT(swept.trials.at(0).notes, SizeIs(1));
  EXPECT_THAT(swept.trials[0].notes[0].text,
              testing::MatchesRegex(
                  "cuDevicePrimaryCtxGetState of application at [0-9a-f]{8}, called 1 and 0 times"));
  for (const call_record& row : swept.trials[0].calls)
    EXPECT_NE(row.swept.value().function, "cuDevicePrimaryCtxGetState");
  EXPECT_EQ(seen().unstable_sites, 1);

  fs::remove_all(folder / "records");
  fs::remove(folder / "first");
  setenv("ROAD_FIRST", (folder / "first").c_str(), 1);
  const auto row = sweep({"road/first", "--row", "application:cuDevicePrimaryCtxGetState:1=UNKNOWN"});
  unsetenv("ROAD_FIRST");
  EXPECT_EQ(row.exit_code, 2);
  EXPECT_THAT(row.stdout_text, HasSubstr("1 call site of cuDevicePrimaryCtxGetState was left out"));
}

TEST_F(swept, says_what_the_operation_takes_where_nothing_fails) {
  const auto said = sweep({"road/first", "--depth", "thin"});
  ASSERT_EQ(said.exit_code, 0) << said.stdout_text << said.stderr_text;
  const record r = load_record(fs::directory_iterator(folder / "records")->path());
  const auto& arms = r.cases.at(0).arms;
  const auto facts =
      std::find_if(arms.begin(), arms.end(), [](const arm_result& a) { return a.name == operation_facts; });
  ASSERT_NE(facts, arms.end());
  EXPECT_EQ(facts->kind, arm_kind::control);
  const auto& calls = facts->trials.at(0).calls;
  ASSERT_THAT(calls, SizeIs(2));
  const auto taken = [&](std::size_t call, const char* fact_name) {
    return std::get<std::int64_t>(calls[call].what.facts.at(fact_name));
  };
  EXPECT_EQ(taken(0, "driver_calls"), 13) << "as the sweep counts them";
  EXPECT_EQ(taken(0, "memory_taken"), 1000);
  EXPECT_EQ(taken(0, "kernels"), 0);
  EXPECT_EQ(taken(1, "driver_calls"), 14) << "warm, it gives back what it had";
  EXPECT_EQ(taken(1, "memory_taken"), 0);
  EXPECT_TRUE(calls[0].what.ok && calls[1].what.ok);
}

TEST_F(swept, shards_together_are_the_whole) {
  ASSERT_EQ(sweep({"road/first"}).exit_code, 0);
  const auto whole = runs();
  fs::remove_all(folder / "records");
  ASSERT_EQ(sweep({"road/first", "--shard", "2/3"}).exit_code, 0);
  const fs::path made = fs::directory_iterator(folder / "records")->path();
  record as_committed = load_record(made);
  as_committed.dirty = false;  // whatever this build is of
  for (case_result& c : as_committed.cases)
    for (arm_result& a : c.arms)
      for (auto& run : a.runs) run.dirty = false;
  std::ofstream(made) << record_text(as_committed);
  spawn_options bless;
  bless.argv = {TEST_PROGRAM, "bless", made, "--expectations", folder / "expectations"};
  EXPECT_THAT(run_process(bless, {}).stdout_text,
              HasSubstr("left out: sweep.road / first_every: only part of its sweep"));
  fs::remove_all(folder / "records");
  for (const char* part : {"1", "2", "3"})
    ASSERT_EQ(sweep({"road/first", "--shard", std::string(part) + "/3"}).exit_code, 0);
  EXPECT_EQ(runs(), whole);
}

TEST_F(swept, one_line_repeats_a_row) {
  ASSERT_EQ(sweep({"road/first"}).exit_code, 0);
  const swept_operation whole = seen();
  const call_record row = row_of(whole, "cuMemAlloc_v2", "OUT_OF_MEMORY", 1);
  const std::string line = repeats(whole, *row.swept);
  const auto text = line.find("--row ");
  ASSERT_NE(text, std::string::npos) << line;
  const std::string by_site = line.substr(text + 6);
  EXPECT_THAT(by_site, testing::MatchesRegex("application:cuMemAlloc_v2@[0-9a-f]{8}:1=INVALID_VALUE"));
  // Records from before sites name it by its number among the calls of the function.
  for (const std::string& named : {by_site, std::string("application:cuMemAlloc_v2:2=INVALID_VALUE")}) {
    fs::remove_all(folder / "records");
    ASSERT_EQ(sweep({"road/first", "--row", named}).exit_code, 0);
    EXPECT_EQ(seen().name, "") << "a row that was named is no sweep";
    const arm_result swept = arm();
    const auto& calls = swept.trials.at(0).calls;
    ASSERT_THAT(calls, SizeIs(2)) << "it, and that nothing fails";
    EXPECT_EQ(calls[0].what.status, row.what.status);
    EXPECT_EQ(calls[0].swept.value().site, row.swept->site);
    EXPECT_EQ(calls[0].swept->left_bytes, row.swept->left_bytes);
    EXPECT_EQ(describe(calls[1].swept.value()), "nothing made to fail");
  }
}

TEST_F(swept, is_unresolved_where_the_operation_fails_by_itself_at_the_end) {
  const auto seen = sweep_with_right_uses("2");  // those of the clean runs
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stdout_text, HasSubstr("at the end, with nothing made to fail, a product by the same "
                                          "handle came to WRONG_NUMBERS"));
}

TEST_F(swept, is_unresolved_where_the_operation_fails_by_itself_at_the_start) {
  for (const char* right : {"0", "1"}) {  // one of the two clean runs is enough
    fs::remove_all(folder / "uses");
    fs::remove_all(folder / "records");
    const auto seen = sweep_with_right_uses(right);
    EXPECT_EQ(seen.exit_code, 2) << right;
    EXPECT_THAT(seen.stdout_text, HasSubstr("at the start, with nothing made to fail, a product by the same "
                                            "handle came to WRONG_NUMBERS"));
    EXPECT_THAT(arm().trials.at(0).calls, SizeIs(0)) << "no call is made to fail then";
  }
}

TEST_F(swept, says_what_it_cannot_sweep) {
  EXPECT_EQ(sweep({"cublasRoad/first", "--depth", "thin"}).exit_code, 0) << "by the name of a function, too";
  const auto unknown = sweep({"roads"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.stderr_text, HasSubstr("no operation is called roads; there are: road"));
  EXPECT_THAT(sweep({"road/last"}).stderr_text, HasSubstr("/first or /further"));
  EXPECT_THAT(sweep({"road", "--row", "libcublas:cuInit:1=UNKNOWN"}).stderr_text, HasSubstr("say which"));
  EXPECT_THAT(sweep({"road", "--shard", "3/2"}).stderr_text, HasSubstr("there is no such part"));
  for (const char* no_row : {"", "x", "libcublas:cuInit=UNKNOWN", "libcublas:cuInit:0=UNKNOWN",
                             "libcublas:cuInit:1x=UNKNOWN", "libcublas:cuInit:1=NO_CODE",
                             "libcublas:cuInit@0123:1=UNKNOWN", "libcublas:cuInit@0123456X:1=UNKNOWN"}) {
    const auto refused = sweep({"road/first", "--row", no_row});
    EXPECT_EQ(refused.exit_code, 2) << no_row;
    EXPECT_THAT(refused.stderr_text, testing::StartsWith("cufault: --row")) << no_row;
    EXPECT_EQ(std::count(refused.stderr_text.begin(), refused.stderr_text.end(), '\n'), 1) << no_row;
  }
  EXPECT_THAT(sweep({"road/first", "--row", "libcublas:cuInit:1=UNKNOWN", "--shard", "1/2"}).stderr_text,
              HasSubstr("--shard"));
  const auto row = sweep({"road/first", "--row", "libcublas:cuInit:1=UNKNOWN"});
  EXPECT_EQ(row.exit_code, 2);
  EXPECT_THAT(row.stdout_text, HasSubstr("a clean run makes no such call"));
}
#endif

}  // namespace
}  // namespace cufault::sweeping
