// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/sweep_plan.hpp"

#include "harness/injection/operation_facts.hpp"
#include "harness/trial/observe.hpp"
#include "reports/printers/atlas.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cufault::sweeping {
namespace {

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
/// Log of a run that makes these calls in one process.
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

TEST(sweep, halves_a_group_until_calls_that_differ_are_adjacent) {
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
  EXPECT_TRUE(ran.contains(2) && ran.contains(3)) << "adjacent calls that differ";
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

  // One of them differs: by its status, or by later results.
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

}  // namespace
}  // namespace cufault::sweeping
