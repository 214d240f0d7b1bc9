// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/sweep.hpp"

#include "harness/injection/operation_facts.hpp"
#include "harness/system/process.hpp"
#include "harness/trial/observe.hpp"
#include "reports/base/json_input.hpp"
#include "reports/printers/atlas.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cufault::sweeping {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::string log_of(const std::vector<std::pair<const char*, const char*>>& calls) {
  std::string log = "{\"event\": \"getenv\", \"caller\": \"libcublas.so.13\", \"variable\": \"X\"}\n";
  for (const auto& [function, caller] : calls)
    log +=
        std::string(R"({"event": "call", "function": ")") + function + R"(", "caller": ")" + caller + "\"}\n";
  return log;
}

constexpr const char *cublas = "libcublas.so.13", *lt = "libcublasLt.so.13";

std::vector<driver_call> some_calls() {
  return calls_from("log", log_of({{"cuCtxGetCurrent", cublas},
                                   {"cuMemAlloc_v2", cublas},
                                   {"cuEventCreate", cublas},
                                   {"cuEventCreate", cublas},
                                   {"cuCtxGetCurrent", cublas},
                                   {"cuCtxGetCurrent", lt},
                                   {"cuMemAlloc_v2", "cufault"}}));
}

TEST(sweep, numbers_the_calls_of_a_function_by_library) {
  std::vector<std::string> seen;
  for (const driver_call& c : some_calls())
    seen.push_back(c.caller + ":" + c.function + ":" + std::to_string(c.ordinal));
  EXPECT_THAT(seen, ElementsAre("libcublas:cuCtxGetCurrent:1", "libcublas:cuMemAlloc_v2:1",
                                "libcublas:cuEventCreate:1", "libcublas:cuEventCreate:2",
                                "libcublas:cuCtxGetCurrent:2", "libcublasLt:cuCtxGetCurrent:1",
                                "application:cuMemAlloc_v2:1"));
}

TEST(sweep, calls_that_change_something_part_the_phases_and_their_repetition_is_one) {
  std::vector<std::string> phases;
  for (const driver_call& c : some_calls()) phases.push_back(c.phase);
  EXPECT_THAT(phases, ElementsAre("", "", "after cuMemAlloc_v2", "after cuMemAlloc_v2", "after cuEventCreate",
                                  "after cuEventCreate", "after cuEventCreate"));
}

TEST(facts_of_an_operation, count_its_driver_calls_and_the_kernels_that_it_launched) {
  const auto calls = calls_from("log", log_of({{"cuCtxGetCurrent", cublas},
                                               {"cuLaunchKernelEx_ptsz", cublas},
                                               {"cuLaunchHostFunc", cublas},
                                               {"cuLaunchCooperativeKernel", lt},
                                               {"cuGraphLaunch", "cufault"}}));
  EXPECT_EQ(facts_of(calls, 1024), (fact_map{{"driver_calls", std::int64_t{5}},
                                             {"kernels", std::int64_t{2}},
                                             {"memory_taken", std::int64_t{1024}}}));
  for (const auto& [name, value] : facts_of({}, 0)) EXPECT_EQ(defect_of(name, value), "");
}

TEST(sweep, says_where_a_log_is_no_log) {
  EXPECT_THROW(calls_from("log", "{\"event\": \"call\"}\n"), input_error);
  EXPECT_THROW(calls_from("log", "no JSON"), input_error);
  EXPECT_THAT(calls_from("log", ""), SizeIs(0));
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

TEST(sweep, thins_to_one_run_a_group_and_always_ends_with_one_in_which_nothing_fails) {
  const auto calls = some_calls();
  const auto thin = plan(calls, depth::thin);
  ASSERT_THAT(thin, SizeIs(7)) << "six groups: the two cuEventCreate are one";
  EXPECT_EQ(thin.back().call, calls.size());
  for (const planned_row& row : thin) EXPECT_FALSE(row.persistent);
  std::size_t by_codes = 1, all = 1;
  for (const driver_call& c : calls) {
    all += 2 * codes_for(c.function).size();
    if (!(c.function == "cuEventCreate" && c.ordinal == 2)) by_codes += 2 * codes_for(c.function).size();
  }
  EXPECT_THAT(plan(calls, depth::grouped), SizeIs(by_codes));
  EXPECT_THAT(plan(calls, depth::every), SizeIs(all));
  EXPECT_THAT(plan({}, depth::every), SizeIs(1));
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

TEST(sweep, says_why_it_proves_nothing_where_the_operation_fails_by_itself_at_the_end) {
  const auto nothing_failed = [](const char* status, bool ok) {
    row_result r = came_to(status, ok);
    r.reached = false;
    return r;
  };
  EXPECT_EQ(why_it_proves_nothing(row_result{}), "") << "did not run";
  row_result r = nothing_failed("CUBLAS_STATUS_SUCCESS", true);
  EXPECT_EQ(why_it_proves_nothing(r), "");
  fill(r.again, "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(why_it_proves_nothing(r),
            "the last row, in which nothing is made to fail, came to CUBLAS_STATUS_ALLOC_FAILED in the "
            "repeated operation");
  r = nothing_failed("CUBLAS_STATUS_SUCCESS", true);
  fill(r.numbers, "WRONG_NUMBERS");
  EXPECT_THAT(why_it_proves_nothing(r), testing::HasSubstr("WRONG_NUMBERS in the operation"));
  EXPECT_THAT(why_it_proves_nothing(nothing_failed("CUBLAS_STATUS_INTERNAL_ERROR", false)),
              testing::HasSubstr("CUBLAS_STATUS_INTERNAL_ERROR in the operation"));
  EXPECT_THAT(why_it_proves_nothing(came_to("CUBLAS_STATUS_SUCCESS", true)),
              testing::HasSubstr("had a call fail"));
  r = row_result{};
  fill(r.end, "crashed: SIGSEGV");
  fill(r.in, "its check");
  EXPECT_THAT(why_it_proves_nothing(r), testing::HasSubstr("ended in its check: crashed: SIGSEGV"));
}

TEST(sweep, rows_that_behave_alike_are_one) {
  const auto calls = some_calls();
  const std::vector<planned_row> rows{
      {2, "OUT_OF_MEMORY", false}, {2, "OUT_OF_MEMORY", true},  {2, "UNKNOWN", false},
      {2, "UNKNOWN", true},        {3, "OUT_OF_MEMORY", false}, {3, "OUT_OF_MEMORY", true},
      {3, "UNKNOWN", false},       {3, "UNKNOWN", true},        {7, "", false}};
  std::vector<row_result> results(rows.size(), came_to("CUBLAS_STATUS_ALLOC_FAILED", false));
  results.back() = came_to("CUBLAS_STATUS_SUCCESS", true);
  const auto one = grouped(calls, rows, results);
  ASSERT_THAT(one, SizeIs(2));
  EXPECT_EQ(describe(one[0].calls),
            "cuEventCreate of libcublas after cuMemAlloc_v2: OUT_OF_MEMORY, UNKNOWN once or persistently");
  EXPECT_EQ(one[0].calls.calls, 2U);
  EXPECT_EQ(one[0].calls.first, 1U);
  EXPECT_EQ(runs_of(one[0].calls), 8U);
  EXPECT_EQ(describe(one[1].calls), "nothing made to fail");

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
  /// The only row of that call.
  static call_record row_of(const swept_operation& o, const std::string& function, std::uint64_t first,
                            const std::string& code) {
    for (const call_record& row : o.rows) {
      const swept_calls& s = *row.swept;
      const bool coded = std::find(s.codes.begin(), s.codes.end(), code) != s.codes.end();
      if (s.function == function && s.first <= first && first < s.first + s.calls && coded && s.once)
        return row;
    }
    ADD_FAILURE() << "no row of " << function << " " << first;
    return {};
  }
  fs::path folder;
};

TEST_F(swept, tells_for_each_call_what_its_failure_leads_to) {
  const auto said = sweep({"road/first"});
  ASSERT_EQ(said.exit_code, 0) << said.stdout_text << said.stderr_text;
  const swept_operation o = seen();
  EXPECT_EQ(o.driver_calls, 8);
  EXPECT_TRUE(o.first);
  EXPECT_EQ(o.depth, "every");

  const call_record version = row_of(o, "cuDriverGetVersion", 1, "INVALID_VALUE");
  EXPECT_EQ(version.what.status, "CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_EQ(version.swept->again, "CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_TRUE(poisons_process(*version.swept));

  const call_record first = row_of(o, "cuMemAlloc_v2", 1, "OUT_OF_MEMORY");
  EXPECT_EQ(first.what.status, "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(first.swept->left_bytes, 0);
  EXPECT_EQ(first.swept->again, "RIGHT_NUMBERS");
  EXPECT_FALSE(poisons_process(*first.swept));

  const call_record second = row_of(o, "cuMemAlloc_v2", 2, "OUT_OF_MEMORY");
  EXPECT_EQ(second.what.status, "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(second.swept->left_bytes, 1000);

  const call_record freed = row_of(o, "cuMemFree_v2", 1, "INVALID_VALUE");
  EXPECT_EQ(freed.what.status, "CUBLAS_STATUS_SUCCESS");
  EXPECT_EQ(freed.swept->numbers, "RIGHT_NUMBERS");
  EXPECT_EQ(freed.swept->left_bytes, 24);

  const call_record device = row_of(o, "cuCtxGetDevice", 2, "INVALID_VALUE");
  EXPECT_EQ(device.what.status, "CUBLAS_STATUS_SUCCESS");
  EXPECT_EQ(device.swept->numbers, "WRONG_NUMBERS");
  EXPECT_EQ(device.swept->calls, 3U) << "three calls that behave alike are one row";

  const call_record crash = row_of(o, "cuInit", 1, "INVALID_VALUE");
  EXPECT_EQ(crash.what.status, status_crashed);
  EXPECT_TRUE(crash.swept->reached);

  const call_record& last = o.rows.back();
  EXPECT_EQ(describe(*last.swept), "nothing made to fail");
  EXPECT_EQ(last.what.status, "CUBLAS_STATUS_SUCCESS");
  EXPECT_EQ(last.swept->numbers, "RIGHT_NUMBERS");
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
  EXPECT_EQ(taken(0, "driver_calls"), 8) << "as the sweep counts them";
  EXPECT_EQ(taken(0, "memory_taken"), 1000);
  EXPECT_EQ(taken(0, "kernels"), 0);
  EXPECT_EQ(taken(1, "driver_calls"), 9) << "warm, it gives back what it had";
  EXPECT_EQ(taken(1, "memory_taken"), 0);
  EXPECT_TRUE(calls[0].what.ok && calls[1].what.ok);
}

TEST_F(swept, shards_together_are_the_whole) {
  ASSERT_EQ(sweep({"road/first"}).exit_code, 0);
  const auto runs = [&] {
    std::uint64_t sum = 0;
    for (const call_record& row : seen().rows) sum += runs_of(*row.swept);
    return sum;
  };
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
  const call_record row = row_of(whole, "cuMemAlloc_v2", 2, "OUT_OF_MEMORY");
  const std::string line = repeats(whole, *row.swept);
  const auto text = line.find("--row ");
  ASSERT_NE(text, std::string::npos) << line;
  fs::remove_all(folder / "records");
  ASSERT_EQ(sweep({"road/first", "--row", line.substr(text + 6)}).exit_code, 0);
  EXPECT_EQ(seen().name, "") << "a row that was named is no sweep";
  const record again = load_record(fs::directory_iterator(folder / "records")->path());
  const auto& arms = again.cases.at(0).arms;
  const auto swept =
      std::find_if(arms.begin(), arms.end(), [](const arm_result& a) { return a.kind == arm_kind::fault; });
  ASSERT_NE(swept, arms.end());
  const auto& calls = swept->trials.at(0).calls;
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].what.status, row.what.status);
  EXPECT_EQ(calls[0].swept.value().left_bytes, row.swept->left_bytes);
}

TEST_F(swept, is_unresolved_where_the_operation_fails_by_itself_at_the_end) {
  setenv("ROAD_USES", (folder / "uses").c_str(), 1);
  const auto seen = sweep({"road/first", "--depth", "thin"});
  unsetenv("ROAD_USES");
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stdout_text,
              HasSubstr("the last row, in which nothing is made to fail, came to WRONG_NUMBERS in a "
                        "product by the same handle"));
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
                             "libcublas:cuInit:1x=UNKNOWN", "libcublas:cuInit:1=NO_CODE"}) {
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
