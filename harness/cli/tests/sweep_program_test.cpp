// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault sweep -- COMMAND, of a program with a bug of each kind (harness/injector/tests/programs/swept.cpp) on the fake driver.
#include "harness/injector/tests/tested_tree.hpp"
#include "harness/system/process.hpp"
#include "harness/system/tests/plain_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace cufault {

const char* const build_tree = BUILD_TREE;
const char* const build_command = TEST_PROGRAM;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const std::string programs = tree + "/bin/", swept_program = programs + "injector_swept",
                  unlinked_probe = programs + "injector_blas_probe", blas = tree + "/lib/injector_tests/blas";

class sweep_program : public testing::Test {
 protected:
  void SetUp() override {
    forget_settings_of_cufault();
    std::string pattern = (fs::temp_directory_path() / "cufault-sweep-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    fs::create_directories(folder / "temporary");
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(folder / "temporary")) << "a temporary file was left behind";
    fs::remove_all(folder);
  }

  std::map<std::string, std::string> environment(bool counts_runs) {
    std::map<std::string, std::string> all{{"TMPDIR", folder / "temporary"}};
    if (counts_runs) {
      fs::remove(folder / "runs");
      all["SWEPT_RUNS"] = folder / "runs";
    }
    return all;
  }

  static std::vector<std::string> words_of(const std::vector<std::string>& options,
                                           const std::vector<std::string>& command) {
    std::vector<std::string> all{tested_command, "sweep"};
    all.insert(all.end(), options.begin(), options.end());
    all.emplace_back("--");
    for (const std::string& word : emulating(command)) all.push_back(word);
    return all;
  }
  [[noreturn]] static void become(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(125);
  }

  process_result cufault(const std::vector<std::string>& options, const std::vector<std::string>& command,
                         bool counts_runs = false) {
    spawn_options started;
    started.argv = words_of(options, command);
    started.environment = environment(counts_runs);
    started.keep_output = 4U << 20;
    process_result seen = run_process(started, {});
    EXPECT_EQ(seen.stragglers, 0);
    return seen;
  }

  /// With --json: its lines of that kind.
  struct swept {
    process_result process;
    std::vector<json> lines;
    [[nodiscard]] std::vector<json> of(const std::string& kind) const {
      std::vector<json> found;
      for (const json& line : lines)
        if (line["line"] == kind) found.push_back(line);
      return found;
    }
    /// "cuInit reported".
    [[nodiscard]] std::vector<std::string> outcomes() const {
      std::vector<std::string> found;
      for (const json& r : of("row"))
        found.push_back(r["function"].get<std::string>() + " " + r["outcome"].get<std::string>());
      return found;
    }
  };
  swept sweep(std::vector<std::string> options, std::vector<std::string> words, bool counts_runs = false) {
    options.emplace_back("--json");
    words.insert(words.begin(), swept_program);
    swept seen{cufault(options, words, counts_runs), {}};
    std::istringstream in(seen.process.stdout_text);
    for (std::string line; std::getline(in, line);) seen.lines.push_back(json::parse(line));
    return seen;
  }

  fs::path folder;
};

// ---- outcomes ----

TEST_F(sweep_program, a_failure_that_is_reported_is_acceptable) {
  const swept seen = sweep({}, {"report", "warn"});
  EXPECT_EQ(seen.process.exit_code, 0) << seen.process.stderr_text;
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cuInit reported", "cuCtxGetDevice reported"));
  EXPECT_EQ(seen.of("row")[0]["ended"], "exit 3");
  EXPECT_EQ(seen.of("row")[1]["ended"], "exit 0") << "its output says so";
  EXPECT_EQ(seen.of("end").at(0)["exit_code"], 0);
}

TEST_F(sweep_program, a_failure_that_is_swallowed_is_told) {
  const swept seen = sweep({}, {"swallow"});
  EXPECT_EQ(seen.process.exit_code, 0);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cuDriverGetVersion swallowed"));
}

TEST_F(sweep_program, a_crash_is_run_again_three_times) {
  const swept seen = sweep({}, {"crash"});
  EXPECT_EQ(seen.process.exit_code, 1);
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cuMemAlloc_v2 crashed", "cuMemFree_v2 swallowed"));
  for (const json& r : seen.of("row")) {
    const bool crashed = r["outcome"] == "crashed";
    EXPECT_EQ(r["acceptable"], !crashed);
    EXPECT_EQ(r.contains("repeats"), crashed);
    if (!crashed) continue;
    EXPECT_EQ(r["ended"], "SIGSEGV");
    EXPECT_EQ(r["repeats"], json({"crashed", "crashed", "crashed"}));
    EXPECT_EQ(r["repeatable"], true);
  }
}

TEST_F(sweep_program, what_does_not_come_again_is_marked) {
  const swept seen = sweep({}, {"crash_once"}, true);
  EXPECT_EQ(seen.process.exit_code, 1);
  const auto rows = seen.of("row");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0]["outcome"], "crashed");
  EXPECT_EQ(rows[0]["repeats"], json({"swallowed", "swallowed", "swallowed"}));
  EXPECT_EQ(rows[0]["repeatable"], false);
  EXPECT_THAT(cufault({}, {swept_program, "crash_once"}, true).stdout_text, HasSubstr("NOT REPEATABLE"));
}

TEST_F(sweep_program, a_hang_is_ended) {
  const swept seen = sweep({"--timeout", "2s"}, {"hang", "swallow"});
  EXPECT_EQ(seen.process.exit_code, 1);
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cuCtxGetCurrent hung", "cuDriverGetVersion swallowed"));
}

TEST_F(sweep_program, other_output_is_found) {
  const swept seen = sweep({}, {"print"});
  EXPECT_EQ(seen.process.exit_code, 1);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cuDeviceGetCount other_output"));
}

TEST_F(sweep_program, output_is_not_compared_where_clean_runs_differ) {
  const swept seen = sweep({}, {"print", "time"}, true);
  EXPECT_EQ(seen.process.exit_code, 0);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cuDeviceGetCount swallowed"));
  EXPECT_EQ(seen.of("sweep").at(0)["clean"]["same_output"], false);
}

TEST_F(sweep_program, what_is_left_behind_is_found) {
  const swept memory = sweep({}, {"leak_memory"});
  EXPECT_EQ(memory.process.exit_code, 1);
  EXPECT_THAT(memory.outcomes(), UnorderedElementsAre("cuMemAlloc_v2 swallowed", "cuMemAlloc_v2 leaked",
                                                      "cuMemFree_v2 swallowed", "cuMemFree_v2 swallowed"));
  const swept process = sweep({}, {"leak_process"});
  EXPECT_EQ(process.process.exit_code, 1);
  EXPECT_THAT(process.outcomes(), ElementsAre("cuCtxGetDevice leaked"));
  EXPECT_EQ(process.of("row").at(0)["left"]["processes"], 1);
  EXPECT_EQ(process.of("row").at(0)["repeatable"], true);
}

TEST_F(sweep_program, shared_memory_that_is_left_behind_is_named) {
  const auto ours = [] {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator("/dev/shm"))
      if (entry.path().filename().string().starts_with("cufault-swept-")) found.push_back(entry.path());
    return found;
  };
  const swept seen = sweep({"-j", "2"}, {"leak_shared_memory", "swallow"});
  for (const fs::path& file : ours()) fs::remove(file);
  EXPECT_EQ(seen.process.exit_code, 1);
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cuCtxGetDevice leaked", "cuDriverGetVersion swallowed"))
      << "what ran beside it is not blamed";
  for (const json& r : seen.of("row"))
    if (r["outcome"] == "leaked") {
      EXPECT_THAT(r["left"]["shared_memory"].dump(), HasSubstr("cufault-swept-"));
    }
}

TEST_F(sweep_program, sites_that_differ_between_clean_runs_are_not_indexed) {
  const swept seen = sweep({}, {"more_each_run", "report"}, true);
  EXPECT_EQ(seen.process.exit_code, 0);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cuInit reported"));
  for (const json& s : seen.of("site")) EXPECT_EQ(s["stable"], s["function"] == "cuInit");
  EXPECT_THAT(cufault({}, {swept_program, "more_each_run", "report"}, true).stdout_text,
              HasSubstr("not swept: cuDriverGetVersion at injector_swept"));
  EXPECT_EQ(sweep({}, {"more_each_run"}, true).process.exit_code, 77) << "none is left";
}

TEST_F(sweep_program, a_call_that_is_not_reached_is_not_taken_for_tried) {
  const swept seen = sweep({}, {"only_at_first"}, true);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cuDriverGetVersion not_reached"));
  EXPECT_EQ(seen.process.exit_code, 3);
}

// ---- calls of libraries ----

TEST_F(sweep_program, calls_of_a_library_are_failed_in_place_of_the_driver_s) {
  const std::vector<std::string> all{"report",          "handle",        "products",
                                     "library_version", "print_product", "nested"};
  const swept seen = sweep({"--library", "cublas"}, all);
  EXPECT_EQ(seen.process.exit_code, 1) << seen.process.stderr_text;
  EXPECT_EQ(seen.of("sweep").at(0)["libraries"], json({"cublas"}));
  EXPECT_THAT(seen.outcomes(), UnorderedElementsAre("cublasCreate_v2 crashed", "cublasSgemm_v2 reported",
                                                    "cublasGetVersion_v2 swallowed",
                                                    "cublasSgemm_v2 other_output", "cublasGemmEx swallowed"));
  for (const json& r : seen.of("row")) {
    EXPECT_EQ(r["library"], "injector_swept");
    EXPECT_EQ(r["injections"], 1);
    if (r["outcome"] == "crashed") {
      EXPECT_EQ(r["code"], "ALLOC_FAILED");
      EXPECT_EQ(r["repeatable"], true);
    }
    if (r["outcome"] == "reported") {
      EXPECT_EQ(r["code"], "EXECUTION_FAILED");
    }
  }
  EXPECT_THAT(sweep({}, all).outcomes(), ElementsAre("cuInit reported")) << "without it only the driver's";
}

TEST_F(sweep_program, calls_of_two_libraries_are_told_apart_by_who_calls) {
  const swept seen = sweep({"--library", "cublasLt", "--library", "cublas"}, {"nested"});
  EXPECT_EQ(seen.process.exit_code, 0) << seen.process.stderr_text;
  EXPECT_EQ(seen.of("sweep").at(0)["libraries"], json({"cublas", "cublasLt"}));
  std::map<std::string, std::string> callers;
  for (const json& s : seen.of("site")) callers[s["function"]] = s["library"];
  EXPECT_EQ(callers, (std::map<std::string, std::string>{{"cublasGemmEx", "injector_swept"},
                                                         {"cublasLtMatmul", "libcublas.so.13"}}));
  EXPECT_THAT(
      cufault({"--library", "cublasLt", "--library", "cublas"}, {swept_program, "nested"}).stdout_text,
      HasSubstr("2 calls of cublas and cublasLt at 2 call sites"));
}

TEST_F(sweep_program, libraries_that_are_opened_and_called_by_pointer_are_listed) {
  const auto by = [&](const std::string& how, const std::string& file) {
    return cufault({"--library", "cublas"}, {unlinked_probe, how, blas + file, "2"});
  };
  EXPECT_THAT(by("dlsym", "/bundled/libcublas-1a2b3c.so.13").stdout_text,
              HasSubstr("other_output cublasSgemm_v2 at injector_blas_probe"));
  EXPECT_THAT(by("plugin", "/libinjector_blas_user_new.so").stdout_text,
              HasSubstr("other_output cublasSgemm_v2 at libinjector_blas_user_new.so"));
}

TEST_F(sweep_program, device_memory_that_stays_after_a_library_s_failure_is_found) {
  const swept seen = sweep({"--library", "cublas"}, {"leak_at_product"});
  EXPECT_EQ(seen.process.exit_code, 1);
  EXPECT_THAT(seen.outcomes(), ElementsAre("cublasSgemm_v2 leaked"));
  EXPECT_EQ(seen.of("row").at(0)["left"]["device_allocations"], 1);
}

TEST_F(sweep_program, every_call_of_a_library_is_failed_by_each_status) {
  const swept seen = sweep({"--library", "cublas", "--depth", "every", "-j", "2"}, {"products"});
  EXPECT_EQ(seen.process.exit_code, 0);
  std::map<int, int> codes;
  for (const json& r : seen.of("row")) {
    EXPECT_EQ(r["outcome"], "reported");
    ++codes[r["ordinal"].get<int>()];
  }
  EXPECT_EQ(codes, (std::map<int, int>{{1, 9}, {2, 9}, {3, 9}})) << "cuBLAS has nine statuses of failure";
  const swept grouped = sweep({"--library", "cublas", "--depth", "grouped"}, {"products"});
  EXPECT_THAT(grouped.of("row"), SizeIs(2));
  EXPECT_EQ(grouped.of("group").at(0)["calls"], 3);
}

TEST_F(sweep_program, the_line_of_a_library_s_row_repeats_it) {
  const swept seen = sweep({"--library", "cublas"}, {"products"});
  const std::string again = seen.of("row").at(0)["again"], inject = "cufault inject ";
  ASSERT_THAT(again, HasSubstr(inject + "--fail cublasSgemm_v2@"));
  spawn_options shell;
  shell.argv = {"/bin/sh", "-c",
                "exec " + tested_command + " inject --require 1 " + again.substr(inject.size())};
  const auto repeated = run_process(shell, {});
  EXPECT_EQ(repeated.exit_code, 4);
  EXPECT_THAT(repeated.stderr_text, HasSubstr("swept: a product was not made"));
}

TEST_F(sweep_program, a_record_of_a_library_goes_on_with_that_library_alone) {
  const std::string record = folder / "sweep.jsonl";
  EXPECT_EQ(cufault({"--library", "cublas", "--budget", "0.000001", "--resume", record},
                    {swept_program, "products"})
                .exit_code,
            3);
  const auto other = cufault({"--resume", record}, {swept_program, "products"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.stderr_text, HasSubstr("it was made with another --library"));
  const auto rest = cufault({"--library", "cublas", "--resume", record}, {swept_program, "products"});
  EXPECT_EQ(rest.exit_code, 0) << rest.stderr_text;
  EXPECT_THAT(rest.stdout_text, HasSubstr("1 rows: 1 reported; 0 not acceptable"));
}

TEST_F(sweep_program, parts_and_an_oracle_hold_for_libraries_too) {
  std::vector<std::string> parts;
  for (const char* part : {"1/2", "2/2"})
    for (const std::string& each :
         sweep({"--library", "cublas", "--shard", part}, {"products", "library_version"}).outcomes())
      parts.push_back(each);
  EXPECT_THAT(parts, UnorderedElementsAre("cublasSgemm_v2 reported", "cublasGetVersion_v2 swallowed"));
  const swept refused =
      sweep({"--library", "cublas", "--ok", "test \"$CUFAULT_RUN_OUTCOME\" != reported"}, {"products"});
  EXPECT_EQ(refused.process.exit_code, 1);
  EXPECT_EQ(refused.of("row").at(0)["acceptable"], false);
}

TEST_F(sweep_program, a_library_that_is_not_called_or_not_known_is_named) {
  const auto not_called = cufault({"--library", "cudart"}, {swept_program, "products"});
  EXPECT_EQ(not_called.exit_code, 77);
  EXPECT_THAT(not_called.stderr_text, HasSubstr("no function of cudart that could be seen"));
  const auto unknown = cufault({"--library", "cufft"}, {swept_program, "products"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.stderr_text, HasSubstr("--library cufft: one of cudart, cublas, cublasLt"));
}

// ---- --ok ----

TEST_F(sweep_program, an_oracle_decides_what_is_acceptable) {
  EXPECT_EQ(sweep({"--ok", "true"}, {"print"}).process.exit_code, 0);
  const std::string wants_done = "grep -q done \"$CUFAULT_RUN_STDOUT\" && test \"$CUFAULT_RUN_EXIT\" = 0";
  EXPECT_EQ(sweep({"--ok", wants_done}, {"swallow"}).process.exit_code, 0);
  const swept refused = sweep({"--ok", wants_done}, {"report"});
  EXPECT_EQ(refused.process.exit_code, 1);
  EXPECT_EQ(refused.of("row").at(0)["outcome"], "reported");
  EXPECT_EQ(refused.of("row").at(0)["acceptable"], false);
}

TEST_F(sweep_program, an_oracle_that_does_not_answer_is_no_finding) {
  const auto refuses_clean = cufault({"--ok", "false"}, {swept_program, "report"});
  EXPECT_EQ(refuses_clean.exit_code, 2);
  EXPECT_THAT(refuses_clean.stderr_text, HasSubstr("--ok refuses the command's clean run"));
  const auto absent = cufault({"--ok", "no-such-oracle"}, {swept_program, "report"});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_THAT(absent.stderr_text, HasSubstr("does not answer"));
  const auto later =
      cufault({"--ok", "test $CUFAULT_RUN_OUTCOME = clean || exit 127"}, {swept_program, "report"});
  EXPECT_EQ(later.exit_code, 2);
  EXPECT_THAT(later.stderr_text, HasSubstr("does not answer"));
}

// ---- commands that cannot be swept ----

TEST_F(sweep_program, the_tool_s_failures_are_no_findings) {
  const auto absent = cufault({}, {"no-such-program"});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_THAT(absent.stderr_text, HasSubstr("no-such-program: no such program is in PATH"));
  EXPECT_EQ(cufault({}, {"/no/such/program"}).exit_code, 2);
  const auto fails = cufault({}, {swept_program, "report", "fail"});
  EXPECT_EQ(fails.exit_code, 2);
  EXPECT_THAT(fails.stderr_text, HasSubstr("fails where nothing is made to fail (exit 7)"));
  const auto calls_nothing = cufault({}, {swept_program});
  EXPECT_EQ(calls_nothing.exit_code, 77);
  EXPECT_THAT(calls_nothing.stderr_text, HasSubstr("called no function of the driver"));
}

TEST_F(sweep_program, wrong_options_are_refused_in_one_line) {
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--shard", "3/2"},
                                             {"--shard", "2"},
                                             {"--shard", "1/2x"},
                                             {"--budget", "soon"},
                                             {"--timeout", "0"},
                                             {"--depth", "deep"},
                                             {"create"},
                                             {"--row", "a:b:1=UNKNOWN"},
                                             {"--record", "a", "--resume", "b"}}) {
    const auto refused = cufault(options, {swept_program, "report"});
    EXPECT_EQ(refused.exit_code, 2) << options[0];
    EXPECT_EQ(std::count(refused.stderr_text.begin(), refused.stderr_text.end(), '\n'), 1) << options[0];
  }
  spawn_options operation;
  operation.argv = {tested_command, "sweep", "road", "--ok", "true"};
  EXPECT_THAT(run_process(operation, {}).stderr_text, HasSubstr("--ok is of sweeps of a command"));
  operation.argv = {tested_command, "sweep", "road", "--library", "cublas"};
  EXPECT_THAT(run_process(operation, {}).stderr_text, HasSubstr("--library is of sweeps of a command"));
  operation.argv = {tested_command, "sweep"};
  EXPECT_THAT(run_process(operation, {}).stderr_text, HasSubstr("neither an operation nor a command"));
}

// ---- depth, parts, budget, records ----

TEST_F(sweep_program, depths_try_more_and_more) {
  const swept thin = sweep({}, {"last_matters"});
  EXPECT_THAT(thin.outcomes(), ElementsAre("cuDeviceGetCount swallowed"));
  const swept grouped = sweep({"--depth", "grouped"}, {"last_matters"});
  EXPECT_EQ(grouped.process.exit_code, 1);
  std::map<std::string, int> stands_for;
  for (const json& g : grouped.of("group")) stands_for[g["outcome"]] += g["calls"].get<int>();
  EXPECT_EQ(stands_for, (std::map<std::string, int>{{"swallowed", 4}, {"other_output", 1}}));
  const swept every = sweep({"--depth", "every"}, {"last_matters"});
  EXPECT_GE(every.of("row").size(), 5U);
  EXPECT_EQ(every.of("row").size() % 5, 0U) << "each of 5 calls, by each code";
}

TEST_F(sweep_program, parts_together_are_the_whole) {
  std::vector<std::string> parts;
  for (const char* part : {"1/2", "2/2"})
    for (const std::string& each : sweep({"--shard", part}, {"report", "swallow", "warn"}).outcomes())
      parts.push_back(each);
  EXPECT_THAT(parts, UnorderedElementsAre("cuInit reported", "cuDriverGetVersion swallowed",
                                          "cuCtxGetDevice reported"));
}

TEST_F(sweep_program, groups_are_told_once_by_a_record_that_goes_on) {
  const std::string record = folder / "sweep.jsonl";
  const auto groups = [&] {
    std::ifstream in(record);
    int found = 0;
    for (std::string line; std::getline(in, line);)
      found += line.find(R"("line":"group")") != line.npos ? 1 : 0;
    return found;
  };
  cufault({"--depth", "grouped", "--resume", record}, {swept_program, "last_matters"});
  const int told = groups();
  EXPECT_GT(told, 0);
  cufault({"--depth", "grouped", "--resume", record}, {swept_program, "last_matters"});
  EXPECT_EQ(groups(), told);
}

TEST_F(sweep_program, a_file_of_one_name_is_left_by_each_run_that_writes_it) {
  const fs::path file = fs::path("/dev/shm") / ("cufault-test-" + std::to_string(getpid()));
  const auto sweep_it = [&] {
    return cufault({}, {"/bin/sh", "-c",
                        emulating(swept_program, programs) + " report || : >" + file.string() + "; exit 0"});
  };
  for (const auto& seen : {sweep_it(), sweep_it()}) {
    EXPECT_EQ(seen.exit_code, 1);
    EXPECT_THAT(seen.stdout_text, HasSubstr("NOT ACCEPTABLE; 3 of 3 alone"));
    EXPECT_THAT(seen.stdout_text, HasSubstr("left in /dev/shm: " + file.filename().string()));
  }
  fs::remove(file);
}

TEST_F(sweep_program, a_budget_says_what_it_left_out_and_a_record_goes_on) {
  const std::string record = folder / "sweep.jsonl";
  const auto cut =
      cufault({"--budget", "0.000001", "--resume", record}, {swept_program, "report", "swallow"});
  EXPECT_EQ(cut.exit_code, 3);
  EXPECT_THAT(cut.stdout_text, HasSubstr("2 rows were left out: the budget was spent; go on with --resume"));
  std::ofstream(record, std::ios::app) << R"({"line":"row","func)";  // as a kill may leave it
  const auto rest = cufault({"--resume", record}, {swept_program, "report", "swallow"});
  EXPECT_EQ(rest.exit_code, 0) << rest.stderr_text;
  EXPECT_THAT(rest.stdout_text, HasSubstr("2 rows: 1 reported, 1 swallowed; 0 not acceptable"));
  const auto size = fs::file_size(record);
  EXPECT_EQ(cufault({"--resume", record}, {swept_program, "report", "swallow"}).exit_code, 0);
  EXPECT_LT(fs::file_size(record), size + 200) << "only another end: no row was run again";
  const auto other = cufault({"--resume", record}, {swept_program, "report"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.stderr_text, HasSubstr("made with another command; begin anew with --record"));
  std::ofstream(record) << "{}\n";
  EXPECT_EQ(cufault({"--resume", record}, {swept_program, "report"}).exit_code, 2);
}

TEST_F(sweep_program, two_at_once_do_not_write_one_record) {
  const std::string record = folder / "sweep.jsonl", said = folder / "said";
  for (const std::string option : {"--record ", "--resume "}) {
    fs::remove(said);
    // The first one's oracle runs the second one, which is to be refused.
    const std::string second = tested_command + " sweep " + option + record + " -- " +
                               emulating(swept_program, programs) + " swallow 2>>" + said + "; test $? = 2";
    const swept first = sweep({"--record", record, "--ok", second}, {"report"});
    EXPECT_EQ(first.process.exit_code, 0) << first.process.stderr_text;
    EXPECT_THAT(first.outcomes(), ElementsAre("cuInit reported"));
    std::ifstream in(said);
    int refused = 0;
    for (std::string line; std::getline(in, line); ++refused)
      EXPECT_THAT(line, testing::StartsWith("cufault: " + record + ": another cufault sweep writes it; "));
    EXPECT_EQ(refused, 2) << "beside the clean run and beside the row";
  }
  EXPECT_EQ(cufault({"--record", record}, {swept_program, "swallow"}).exit_code, 0)
      << "the first one has ended";
}

TEST_F(sweep_program, a_record_that_two_wrote_is_not_gone_on_with) {
  const fs::path record = folder / "sweep.jsonl";
  ASSERT_EQ(cufault({"--record", record}, {swept_program, "report", "swallow"}).exit_code, 0);
  std::string row;
  {
    std::ifstream in(record);
    for (std::string line; std::getline(in, line);)
      if (line.starts_with(R"({"line":"row")")) row = line;
  }
  std::ofstream(record, std::ios::app) << row << '\n';
  const auto refused = cufault({"--resume", record}, {swept_program, "report", "swallow"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.stdout_text, "");
  EXPECT_THAT(refused.stderr_text,
              testing::MatchesRegex("cufault: .*sweep.jsonl:[0-9]+: top level: the row .* is there "
                                    "twice: two sweeps wrote this record; [^\n]*\n"));
}

TEST_F(sweep_program, a_record_is_opened_before_the_command_runs_and_begun_after_its_clean_runs) {
  const fs::path ran = folder / "ran", record = folder / "sweep.jsonl";
  for (const char* option : {"--record", "--resume"}) {
    const auto refused = cufault({option, folder / "none" / "x"}, {"/bin/sh", "-c", ": >" + ran.string()});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.stderr_text,
              "cufault: " + (folder / "none" / "x").string() + ": No such file or directory\n");
    EXPECT_FALSE(fs::exists(ran));
    EXPECT_EQ(cufault({option, record}, {swept_program}).exit_code, 77);
    EXPECT_FALSE(fs::exists(record)) << "there was nothing to write";
  }
  std::ofstream(record) << "an earlier one\n";
  EXPECT_EQ(cufault({"--record", record}, {swept_program, "report", "fail"}).exit_code, 2);
  EXPECT_EQ(fs::file_size(record), 15U) << "it stays where the command cannot be swept";
  std::ofstream(record).close();
  EXPECT_EQ(cufault({"--resume", record}, {swept_program, "report"}).exit_code, 0)
      << "an empty file is begun";
  EXPECT_GT(fs::file_size(record), 15U);
  EXPECT_EQ(cufault({"--record", "/dev/null"}, {swept_program, "report"}).exit_code, 0);
}

TEST_F(sweep_program, the_line_of_a_row_repeats_it) {
  const swept seen = sweep({}, {"crash"});
  std::string again;
  for (const json& r : seen.of("row"))
    if (r["outcome"] == "crashed") again = r["again"];
  const std::string inject = "cufault inject ";
  ASSERT_TRUE(again.starts_with(inject)) << again;
  spawn_options shell;
  shell.argv = {"/bin/sh", "-c", "exec " + tested_command + " inject " + again.substr(inject.size())};
  EXPECT_EQ(run_process(shell, {}).signal, SIGSEGV);
}

// ---- interruption ----

TEST_F(sweep_program, an_interruption_leaves_no_process_and_no_file) {
  const fs::path hangs = folder / "hangs";
  const std::string record = folder / "sweep.jsonl";
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    setenv("TMPDIR", (folder / "temporary").c_str(), 1);
    setenv("SWEPT_HANGS", hangs.c_str(), 1);
    become(words_of({"--timeout", "100s", "--record", record, "-j", "2"}, {swept_program, "hang"}));
  }
  pid_t hanging = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (hanging == 0 && std::chrono::steady_clock::now() < deadline) {
    std::ifstream in(hangs);
    std::string line;
    if (std::getline(in, line) && !in.eof()) hanging = std::stoi(line);  // a whole line
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_NE(hanging, 0);
  kill(pid, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  if (hanging != 0) {
    EXPECT_EQ(kill(hanging, 0), -1);
    EXPECT_EQ(errno, ESRCH);
  }
  std::ifstream in(record);
  std::string last;
  for (std::string line; std::getline(in, line);) last = line;
  EXPECT_EQ(json::parse(last)["interrupted"], true);
}

TEST_F(sweep_program, an_output_that_nobody_reads_leaves_no_file) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    setenv("TMPDIR", (folder / "temporary").c_str(), 1);
    dup2(ends[1], STDOUT_FILENO);
    signal(SIGPIPE, SIG_DFL);
    become(words_of({"-j", "2"}, {swept_program, "report", "warn"}));
  }
  close(ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  EXPECT_EQ(code, 128 + SIGPIPE);
}

}  // namespace
}  // namespace cufault
