// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/sweep.hpp"

#include "harness/injection/operation_facts.hpp"
#include "harness/injection/sweep_codes.hpp"
#include "harness/system/process.hpp"
#include "harness/trial/observe.hpp"
#include "reports/printers/atlas.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace cufault::sweeping {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

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

#ifndef SANITIZED  // libcufault.so interposes malloc, and so does a sanitizer
/// Sweeps road.cpp's operation in its own processes on the fake driver.
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
  /// The text of a record, as if this build came from a commit.
  static std::string as_committed(const fs::path& file) {
    record r = load_record(file);
    r.dirty = false;
    for (case_result& c : r.cases)
      for (arm_result& a : c.arms)
        for (auto& run : a.runs) run.dirty = false;
    return record_text(r);
  }
  swept_operation seen() {
    std::vector<record> all;
    for (const auto& entry : fs::directory_iterator(folder / "records"))
      all.push_back(load_record(entry.path()));
    const auto operations = operations_in(all);
    return operations.size() == 1 ? operations.begin()->second.at(0) : swept_operation{};
  }
  /// Rows in which the function once returned the code, in the order of their first calls.
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
  /// The swept arm.
  arm_result arm() {
    const record made = load_record(fs::directory_iterator(folder / "records")->path());
    for (const arm_result& a : made.cases.at(0).arms)
      if (a.kind == arm_kind::fault) return a;
    ADD_FAILURE() << "no arm was swept";
    return {};
  }
  /// Number of rows run, before grouping.
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
  // One arm at a time: the arm `facts` creates the same file, and either could be first.
  const auto said = sweep({"road/first", "--depth", "thin", "-j", "1"});
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
  const auto row =  // as above
      sweep({"road/first", "--row", "application:cuDevicePrimaryCtxGetState:1=UNKNOWN", "-j", "1"});
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
  for (const char* part : {"1", "2", "3"})
    ASSERT_EQ(sweep({"road/first", "--shard", std::string(part) + "/3"}).exit_code, 0);
  EXPECT_EQ(runs(), whole);
}

TEST_F(swept, parts_are_added_together_as_the_whole_sweep) {
  std::vector<std::string> parts;
  for (const char* part : {"3/3", "1/3", "2/3"}) {
    fs::remove_all(folder / "records");
    ASSERT_EQ(sweep({"road/first", "--shard", part}).exit_code, 0);
    parts.push_back(folder / fmt::format("part_{}.jsonl", parts.size()));
    std::ofstream(parts.back()) << as_committed(fs::directory_iterator(folder / "records")->path());
  }
  const auto added = [&](std::vector<std::string> words) {
    spawn_options add;
    add.argv = {TEST_PROGRAM, "baseline", "add"};
    add.argv.insert(add.argv.end(), words.begin(), words.end());
    add.argv.insert(add.argv.end(), {"--into", folder / "baseline"});
    const auto ended = run_process(add, {});
    return ended.stdout_text + ended.stderr_text;
  };
  EXPECT_THAT(
      added({parts[2]}),
      HasSubstr("left out: sweep.road / first_every: only part of its sweep: parts 1, 3 of 3 are missing; "));
  const auto changed = [&](const std::string& part, const std::function<void(record&)>& change) {
    record r = load_record(part);
    change(r);
    std::ofstream(folder / "changed.jsonl") << record_text(r);
    return (folder / "changed.jsonl").string();
  };
  const std::string of_another_build = changed(parts[1], [](record& r) {
    r.commit = "0123456789ab";
    for (case_result& c : r.cases)
      for (arm_result& a : c.arms)
        for (auto& run : a.runs) run.commit = r.commit;
  });
  EXPECT_THAT(added({parts[0], "--with", of_another_build, "--with", parts[2]}),
              HasSubstr("only part of its sweep: parts are of commit "));
  const std::string of_another_gpu = changed(parts[1], [](record& r) {
    (*r.stack)["gpu"] = {{"name", "another GPU"}};
  });
  EXPECT_THAT(added({parts[0], "--with", of_another_gpu, "--with", parts[2]}),
              HasSubstr("--with: the records are of 2 stacks; give records of one stack"));
  const std::string said = added({parts[0], "--with", parts[1], "--with", parts[2]});
  EXPECT_THAT(said, HasSubstr("1 new, 0 changed"));
  EXPECT_THAT(said, testing::Not(HasSubstr("left out: sweep.road / first_every")));
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
  // Older records name a site by the number of the function's calls.
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
  EXPECT_THAT(unknown.stderr_text,
              HasSubstr("no operation is called roads; did you mean road?; there are: road"));
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
