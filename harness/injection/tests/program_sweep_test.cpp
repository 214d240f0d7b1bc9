// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/program_sweep_record.hpp"
#include "harness/injector/rules.hpp"
#include "reports/base/json_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

namespace cufault::program_sweep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

compared_site site(const char* function, const char* library, char stack, std::uint64_t calls = 1) {
  return {{library, "0x10", function, std::string(16, stack)}, {calls, 1}, {calls, 1}};
}

std::vector<std::string> names_of(const std::vector<planned_call>& calls,
                                  const std::vector<compared_site>& sites) {
  std::vector<std::string> names;
  for (const planned_call& c : calls) names.push_back(fail_text(sites[c.site].site, c.ordinal, c.code));
  return names;
}

// ---- plans ----

TEST(program_sweep_plan, takes_what_is_new_first) {
  const std::vector sites{site("cuMemAlloc_v2", "liba.so", 'a', 3), site("cuMemAlloc_v2", "liba.so", 'b'),
                          site("cuMemAlloc_v2", "libb.so", 'c'), site("cuMemFree_v2", "liba.so", 'd')};
  EXPECT_THAT(names_of(plan_thin(sites), sites),
              ElementsAre("cuMemAlloc_v2@aaaaaaaaaaaaaaaa:1=OUT_OF_MEMORY",
                          "cuMemFree_v2@dddddddddddddddd:1=INVALID_VALUE",
                          "cuMemAlloc_v2@cccccccccccccccc:1=OUT_OF_MEMORY",
                          "cuMemAlloc_v2@bbbbbbbbbbbbbbbb:1=OUT_OF_MEMORY"));
}

TEST(program_sweep_plan, leaves_out_what_cannot_be_named_or_failed) {
  std::vector sites{site("cuMemAlloc_v2", "liba.so", 'a'), site("cuOfALaterDriver", "liba.so", 'b'),
                    site("cuMemFree_v2", "liba.so", 'c')};
  sites[2].second.calls = 2;
  EXPECT_FALSE(sites[2].is_stable());
  EXPECT_THAT(plan_thin(sites), SizeIs(1));
  EXPECT_THAT(plan_groups(sites), SizeIs(1));
  for (const planned_call& call : plan_every(sites)) EXPECT_EQ(call.site, 0U);
  EXPECT_THAT(why_left_alone(sites[1].site), HasSubstr("cuda.h"));
  EXPECT_THAT(why_left_alone(sites[0].site), IsEmpty());
}

TEST(program_sweep_plan, every_has_each_call_by_each_code) {
  const std::vector sites{site("cuMemAlloc_v2", "liba.so", 'a', 3)};
  EXPECT_THAT(plan_every(sites), SizeIs(3 * codes_of("cuMemAlloc_v2").size()));
}

TEST(program_sweep_plan, groups_are_of_a_function_and_a_library) {
  const std::vector sites{site("cuMemAlloc_v2", "liba.so", 'a', 2), site("cuMemAlloc_v2", "libb.so", 'b'),
                          site("cuMemAlloc_v2", "liba.so", 'c', 3)};
  const auto groups = plan_groups(sites);
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_THAT(groups[0], SizeIs(5));
  EXPECT_THAT(groups[1], SizeIs(1));
}

TEST(program_sweep_plan, codes_are_those_that_the_function_can_return) {
  EXPECT_EQ(codes_of("cuMemAlloc_v2").front(), "OUT_OF_MEMORY");
  EXPECT_THAT(codes_of("cuDriverGetVersion"), Not(testing::Contains("OUT_OF_MEMORY")));
  EXPECT_THAT(codes_of("cuDriverGetVersion"), Not(IsEmpty()));
}

TEST(program_sweep_plan, codes_of_a_library_fit_what_the_function_does) {
  EXPECT_EQ(codes_of("cublasCreate_v2").front(), "ALLOC_FAILED");
  EXPECT_EQ(codes_of("cublasSgemm_v2_64").front(), "EXECUTION_FAILED");
  EXPECT_EQ(codes_of("cublasSetStream_v2").front(), "INVALID_VALUE");
  EXPECT_EQ(codes_of("cublasDestroy_v2").front(), "INVALID_VALUE");
  EXPECT_EQ(codes_of("cublasLtMatmul").front(), "EXECUTION_FAILED");
  EXPECT_EQ(codes_of("cudaMalloc").front(), "MemoryAllocation");
  EXPECT_EQ(codes_of("__cudaLaunchKernel").front(), "LaunchFailure");
  EXPECT_EQ(codes_of("cudaGetDeviceCount").front(), "InvalidValue");
}

/// If rules refused one, the sweep would end at its first row.
TEST(program_sweep_plan, every_function_of_every_library_has_codes_that_rules_take) {
  for (const auto& of : injector::libraries()) {
    for (const auto& function : of.functions) {
      const std::string name(function.text);
      const auto codes = codes_of(name);
      EXPECT_THAT(codes, SizeIs(testing::Ge(5U))) << name;
      EXPECT_THAT(std::set(codes.begin(), codes.end()), SizeIs(codes.size())) << name;
      const call_site at{"liba.so", "0x10", name, std::string(16, 'a')};
      EXPECT_THAT(why_left_alone(at), IsEmpty()) << name;
      for (const std::string& code : codes) {
        const injector::rule rule = injector::rule_from_text(fail_text(at, 1, code));
        EXPECT_EQ(rule.of, &of) << name;
        EXPECT_NE(rule.code, 0) << name << ' ' << code;
      }
    }
  }
}

TEST(program_sweep_plan, rules_of_clean_runs_are_of_the_driver_or_of_libraries) {
  const auto logged_with_stack = [](const std::string& rules) {
    std::vector<std::string> found;
    for (const auto& each : injector::rules_from(json_cursor{parse_json("rules", rules)}).rules) {
      EXPECT_EQ(each.does, injector::effect::log);
      if (each.stack) found.push_back(each.function);
    }
    return found;
  };
  EXPECT_THAT(logged_with_stack(rules_that_log_all({})), ElementsAre("*"));
  EXPECT_THAT(logged_with_stack(rules_that_log_all({"cublas", "cudart"})), ElementsAre("cublas*", "cuda*"));
  EXPECT_THAT(rules_that_log_all({"cublas"}), HasSubstr("cuMemAlloc")) << "device memory is counted still";
  EXPECT_THAT(logged_with_stack(rules_that_log_memory()), IsEmpty());
}

TEST(program_sweep_plan, sites_are_compared_by_function_and_stack) {
  const auto a = site("cuInit", "liba.so", 'a'), b = site("cuInit", "liba.so", 'b');
  const auto all = compare({{a.site, {1, 1}}, {b.site, {2, 1}}}, {{b.site, {2, 1}}, {a.site, {1, 2}}});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_FALSE(all[0].is_stable()) << "in another number of processes";
  EXPECT_TRUE(all[1].is_stable());
  EXPECT_FALSE(compare({}, {{a.site, {1, 1}}})[0].is_stable());
}

TEST(program_sweep_plan, a_second_failure_is_first_one_in_what_handles_the_first) {
  const std::vector sites{site("cuMemAlloc_v2", "liba.so", 'a', 3)};
  const counted_site known{sites[0].site, {2, 1}}, handles{site("cuMemFree_v2", "liba.so", 'b').site, {1, 1}},
      of_later{site("cuOfALaterDriver", "liba.so", 'c').site, {1, 1}};
  EXPECT_EQ(further_call_of({of_later, known, handles}, sites)->site, handles.site);
  const auto only = further_call_of({of_later, known}, sites);
  ASSERT_TRUE(only);
  EXPECT_EQ(fail_text(only->site, only->ordinal, only->code),
            "cuMemAlloc_v2@aaaaaaaaaaaaaaaa:2=OUT_OF_MEMORY");
  EXPECT_FALSE(further_call_of({of_later}, sites)) << "it cannot be failed";
}

TEST(program_sweep_plan, runs_side_by_side_fit_into_each_memory) {
  EXPECT_EQ(runs_side_by_side({{1, 100}, {10, 45}}, 16), 4);
  EXPECT_EQ(runs_side_by_side({{1, 100}, {0, 0}}, 16), 16) << "of the second nothing is known";
  EXPECT_EQ(runs_side_by_side({{10, 5}}, 16), 1);
}

// ---- logs ----

class logged : public testing::Test {
 protected:
  void SetUp() override { file = fs::temp_directory_path() / ("program-sweep-" + std::to_string(getpid())); }
  void TearDown() override { fs::remove(file); }
  run_log read(const std::string& text) {
    std::ofstream(file) << text;
    return read_log(file);
  }
  fs::path file;
};

TEST_F(logged, calls_are_counted_by_site_and_process) {
  const auto call = [](const char* function, char stack, int process, const char* result) {
    return std::string(R"({"event":"call","function":")") + function +
           R"(","caller":"a.out","offset":"0x1","stack":")" + std::string(16, stack) + R"(","result":")" +
           result + R"(","pid":)" + std::to_string(process) + "}\n";
  };
  const run_log seen = read(
      R"({"event":"began","program":"a.out"})"
      "\n" +
      call("cuMemAlloc_v2", 'a', 1, "CUDA_SUCCESS") + call("cuMemAlloc_v2", 'a', 1, "CUDA_SUCCESS") +
      call("cuMemAlloc_v2", 'a', 2, "CUDA_ERROR_OUT_OF_MEMORY") +
      call("cuMemFree_v2", 'b', 1, "CUDA_SUCCESS") + R"({"event":"injected"})" + "\n" + R"({"event":"ca)");
  ASSERT_THAT(seen.sites, SizeIs(2));
  EXPECT_EQ(seen.sites[0].count, (site_count{2, 2}));
  EXPECT_EQ(seen.sites[1].count, (site_count{1, 1}));
  EXPECT_THAT(seen.order, ElementsAre(0, 0, 0, 1));
  EXPECT_EQ(seen.programs, 1U);
  EXPECT_EQ(seen.injections, 1U);
  EXPECT_EQ(seen.device_allocations, 1) << "two made, one released";
  EXPECT_EQ(seen.unread, 1U) << "cut off";
}

TEST_F(logged, calls_behind_a_failed_one_are_told_apart) {
  const auto line = [](const char* event, const char* function, char stack, int process) {
    return std::string(R"({"event":")") + event + R"(","function":")" + function +
           R"(","caller":"a.out","stack":")" + std::string(16, stack) +
           R"(","result":"CUDA_SUCCESS","pid":)" + std::to_string(process) + "}\n";
  };
  const run_log seen =
      read(line("call", "cuInit", 'a', 1) + line("call", "cuMemFree_v2", 'b', 1) +
           line("injected", "cuMemAlloc_v2", 'c', 1) + line("call", "cuMemAlloc_v2", 'c', 1) +
           line("call", "cuInit", 'd', 2) + line("call", "cuMemFree_v2", 'b', 1) +
           line("call", "cuMemAlloc_v2", 'c', 1) + line("call", "cuMemAlloc_v2", 'c', 1) +
           R"({"event":"preload removed","pid":1})" + "\n");
  ASSERT_THAT(seen.after, SizeIs(2)) << "neither the failed call itself, nor one of another process";
  EXPECT_EQ(seen.after[0].site.function, "cuMemFree_v2");
  EXPECT_EQ(seen.after[0].count.calls, 2U) << "its second call";
  EXPECT_EQ(seen.after[1].count.calls, 2U);
  EXPECT_TRUE(seen.preload_removed);
}

TEST_F(logged, no_log_is_an_empty_one) {
  const run_log seen = read_log(file);
  EXPECT_THAT(seen.sites, IsEmpty());
  EXPECT_EQ(seen.programs, 0U);
}

// ---- outcomes ----

clean_runs clean() {
  clean_runs c;
  c.output = "result 42\ndone\n";
  c.errors = "begins\n";
  return c;
}

run_seen seen() {
  run_seen s;
  s.process.stdout_text = clean().output;
  s.process.stderr_text = clean().errors;
  s.log.injections = 1;
  return s;
}

outcome outcome_of(const run_seen& s, const clean_runs& c = clean(), const char* function = "cuMemAlloc_v2") {
  return judged(site(function, "liba.so", 'a').site, {0, 1, "OUT_OF_MEMORY"}, s, c).came_to;
}

TEST(program_sweep_outcome, swallowed_is_what_a_clean_run_does) {
  EXPECT_EQ(outcome_of(seen()), outcome::swallowed);
}

TEST(program_sweep_outcome, reported_is_an_exit_code_or_a_word) {
  run_seen s = seen();
  s.process.exit_code = 3;
  EXPECT_EQ(outcome_of(s), outcome::reported);
  s = seen();
  s.process.stderr_text += "hm\n";
  EXPECT_EQ(outcome_of(s), outcome::reported) << "standard error says what it does not say in a clean run";
  s = seen();
  s.process.stdout_text = "result 0\nGPU is out of memory\n";
  EXPECT_EQ(outcome_of(s), outcome::reported);
}

TEST(program_sweep_outcome, a_row_says_by_which_line_the_failure_was_told) {
  const auto said = [](const run_seen& s) {
    return judged(site("cuMemAlloc_v2", "liba.so", 'a').site, {0, 1, "OUT_OF_MEMORY"}, s, clean()).said;
  };
  run_seen s = seen();
  EXPECT_EQ(said(s), "");
  s.process.exit_code = 1;
  s.process.stderr_text +=
      "Traceback (most recent call last):\n  raise Error\nRuntimeError: CUDA error: out of memory\n"
      "CUDA kernel errors might be reported later\n";
  EXPECT_EQ(said(s), "RuntimeError: CUDA error: out of memory");
  s.process.stderr_text = clean().errors + "  error in a frame alone\n";
  EXPECT_EQ(said(s), "  error in a frame alone");
  s.process.stderr_text = clean().errors;
  s.process.stdout_text = "allocation failed\n";
  EXPECT_EQ(said(s), "allocation failed");
  s.process.stdout_text = clean().output;
  s.process.stderr_text = clean().errors + "hm\n";
  EXPECT_EQ(said(s), "hm") << "no word of a failure, but a clean run does not say it";
  s.process.stderr_text = clean().errors;
  s.process.stdout_text = "failed " + std::string(1000, 'x') + "\n";
  EXPECT_EQ(said(s), "failed " + std::string(293, 'x'));
}

TEST(program_sweep_outcome, other_output_is_without_a_word) {
  run_seen s = seen();
  s.process.stdout_text = "result 0\ndone\n";
  EXPECT_EQ(outcome_of(s), outcome::other_output);
  clean_runs differ = clean();
  differ.same_output = false;
  EXPECT_EQ(outcome_of(s, differ), outcome::swallowed) << "clean runs do not agree either";
  s.process.stdout_text += "allocation failed\n";
  EXPECT_EQ(outcome_of(s, differ), outcome::reported);
  differ.output += "3 passed, 0 failed in 12 ms\n";
  s.process.stdout_text = "result 0\n3 passed, 0 failed in 7 ms\n";
  EXPECT_EQ(outcome_of(s, differ), outcome::swallowed) << "clean runs print such a line, with other numbers";
}

TEST(program_sweep_outcome, crashed_is_a_signal_also_by_way_of_a_shell) {
  run_seen s = seen();
  s.process.how = ending::signalled;
  s.process.signal = SIGABRT;
  EXPECT_EQ(outcome_of(s), outcome::crashed);
  s = seen();
  s.process.exit_code = 128 + SIGSEGV;
  EXPECT_EQ(outcome_of(s), outcome::crashed);
  s.process.exit_code = 128 + SIGTERM;
  EXPECT_EQ(outcome_of(s), outcome::reported);
}

TEST(program_sweep_outcome, hung_is_a_timeout_and_what_was_killed_leaked_nothing) {
  run_seen s = seen();
  s.process.how = ending::timed_out;
  s.process.stragglers = 3;
  EXPECT_EQ(outcome_of(s), outcome::hung);
  EXPECT_EQ(judged(site("cuInit", "a", 'a').site, {0, 1, "UNKNOWN"}, s, clean()).left, left_behind{});
}

TEST(program_sweep_outcome, leaked_is_beyond_what_a_clean_run_leaves) {
  run_seen s = seen();
  s.process.stragglers = 1;
  EXPECT_EQ(outcome_of(s), outcome::leaked);
  clean_runs c = clean();
  c.processes = 1;
  EXPECT_EQ(outcome_of(s, c), outcome::swallowed);
  s = seen();
  s.shared_memory = {"x"};
  EXPECT_EQ(outcome_of(s), outcome::leaked);
  c.shared_memory = 1;
  EXPECT_EQ(outcome_of(s, c), outcome::swallowed);
}

TEST(program_sweep_outcome, device_memory_is_leaked_by_a_program_that_went_on) {
  run_seen s = seen();
  s.log.device_allocations = 1;
  EXPECT_EQ(outcome_of(s), outcome::leaked);
  EXPECT_EQ(outcome_of(s, clean(), "cuMemFree_v2"), outcome::swallowed) << "the release was made to fail";
  s.process.exit_code = 1;
  EXPECT_EQ(outcome_of(s), outcome::reported) << "it gave up, and the driver releases it";
}

TEST(program_sweep_outcome, a_release_by_a_library_is_not_blamed_for_what_stays) {
  run_seen s = seen();
  s.log.device_allocations = 3;
  EXPECT_EQ(outcome_of(s, clean(), "cublasDestroy_v2"), outcome::swallowed);
  EXPECT_EQ(outcome_of(s, clean(), "cudaFree"), outcome::swallowed);
  EXPECT_EQ(outcome_of(s, clean(), "cublasSgemm_v2"), outcome::leaked);
}

TEST(program_sweep_outcome, statuses_of_libraries_are_known_as_words) {
  run_seen s = seen();
  const auto came_to = [&](const std::string& said, const char* function, const char* code) {
    s.process.stdout_text = "result 0\n" + said + "\n";
    return judged(site(function, "liba.so", 'a').site, {0, 1, code}, s, clean()).came_to;
  };
  EXPECT_EQ(came_to("CUBLAS_STATUS_EXECUTION_FAILED", "cublasSgemm_v2", "EXECUTION_FAILED"),
            outcome::reported);
  EXPECT_EQ(came_to("launch failure", "cudaLaunchKernel", "LaunchFailure"), outcome::reported);
  EXPECT_EQ(came_to("out of memory", "cudaMalloc", "MemoryAllocation"), outcome::reported);
  EXPECT_EQ(came_to("invalid value", "cudaMalloc", "MemoryAllocation"), outcome::other_output);
}

TEST(program_sweep_outcome, not_reached_says_nothing) {
  run_seen s = seen();
  s.log.injections = 0;
  s.process.exit_code = 9;
  EXPECT_EQ(outcome_of(s), outcome::not_reached);
}

TEST(program_sweep_outcome, not_reached_says_why) {
  const auto why = [](const run_log& log) {
    run_seen s = seen();
    s.log = log;
    return judged(site("cuInit", "a", 'a').site, {0, 1, "UNKNOWN"}, s, clean()).why;
  };
  run_log log;
  EXPECT_EQ(why(log), "no program of the command loaded the injector");
  log.programs = 1;
  EXPECT_THAT(why(log), HasSubstr("cuInit was never called"));
  EXPECT_THAT(why(log), Not(HasSubstr("LD_PRELOAD")));
  log.preload_removed = true;
  EXPECT_THAT(why(log), HasSubstr("one took LD_PRELOAD from the environment"));
  log.called["cuInit"] = 3;
  EXPECT_EQ(why(log), "cuInit was called 3 times, and not so often by this call stack");
  log.injections = 1;
  EXPECT_EQ(why(log), "");
}

TEST(program_sweep_outcome, a_second_failure_that_did_not_come_is_not_reached) {
  run_seen s = seen();
  const planned_call both{0, 1, "OUT_OF_MEMORY", further_call{site("cuInit", "a", 'b').site, 1, "UNKNOWN"}};
  const auto came_to = [&] { return judged(site("cuMemAlloc_v2", "a", 'a').site, both, s, clean()).came_to; };
  EXPECT_EQ(came_to(), outcome::not_reached);
  s.log.injections = 2;
  EXPECT_EQ(came_to(), outcome::swallowed);
}

TEST(program_sweep_outcome, names_go_both_ways) {
  for (std::size_t i = 0; i < outcomes; ++i)
    EXPECT_EQ(outcome_named(name_of(static_cast<outcome>(i))), static_cast<outcome>(i));
  EXPECT_FALSE(outcome_named("fine"));
}

// ---- the record ----

TEST(program_sweep_record, a_command_is_quoted_for_a_shell) {
  EXPECT_EQ(quoted({"./a", "b c", "it's", "", "--x=1"}), "./a 'b c' 'it'\\''s' '' --x=1");
}

row some_row() {
  row r;
  r.site = site("cuMemAlloc_v2", "liba.so", 'a').site;
  r.ordinal = 2;
  r.code = "OUT_OF_MEMORY";
  r.came_to = outcome::crashed;
  r.ended = "SIGSEGV";
  r.said = "an error";
  r.acceptable = false;
  r.injections = 1;
  r.left.shared_memory = {"x"};
  r.repeats = {outcome::crashed, outcome::crashed, outcome::reported};
  return r;
}

TEST(program_sweep_record, a_row_is_read_as_it_was_written) {
  const row before = some_row();
  const std::string line = line_of(before, {"./a", "b c"});
  EXPECT_THAT(line,
              HasSubstr("cufault inject --fail cuMemAlloc_v2@aaaaaaaaaaaaaaaa:2=OUT_OF_MEMORY -- ./a 'b c'"));
  EXPECT_EQ(line_of(read_row(line), {"./a", "b c"}), line);
  EXPECT_FALSE(before.is_repeatable());
  row second = before;
  second.then = further_call{site("cuInit", "b", 'b').site, 3, "UNKNOWN"};
  second.further = second.then;
  second.where = {"step at a.cpp:7", "liba.so+0x10"};
  second.python = "train.py:1 in step";
  second.why = "it was never called";
  second.forked = true;
  const std::string both = line_of(second, {"./a"});
  EXPECT_THAT(both, HasSubstr("cufault inject --fail cuMemAlloc_v2@aaaaaaaaaaaaaaaa:2=OUT_OF_MEMORY --fail "
                              "cuInit@bbbbbbbbbbbbbbbb:3=UNKNOWN -- ./a"));
  EXPECT_EQ(line_of(read_row(both), {"./a"}), both);
  EXPECT_NE(second.name(), before.name());
  EXPECT_THROW(static_cast<void>(read_row("{}")), input_error);
}

/// The examples that ci/schemas validates.
TEST(program_sweep_record, the_published_examples_are_read_and_written) {
  for (const fs::path file : {GOLDEN "/program_sweep.jsonl", GOLDEN "/program_sweep_of_library.jsonl"}) {
    const earlier_record found = read_record(file);
    EXPECT_EQ(found.head.libraries.empty(), file.filename() == "program_sweep.jsonl");
    std::set<std::string> rows, sites;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(R"({"line":"row")")) rows.insert(line + "\n");
      if (line.starts_with(R"({"line":"site")")) sites.insert(line + "\n");
    }
    EXPECT_THAT(rows, SizeIs(found.rows.size()));
    for (const row& r : found.rows) EXPECT_TRUE(rows.contains(line_of(r, found.head.command))) << r.name();
    EXPECT_THAT(sites, SizeIs(found.head.sites));
    for (const compared_site& s : found.sites) EXPECT_TRUE(sites.contains(line_of(s)));
    EXPECT_EQ(found.bytes, fs::file_size(file));
  }
}

TEST_F(logged, a_record_is_read_up_to_its_last_whole_line) {
  header h;
  h.command = {"./a"};
  h.libraries = {"cublas", "cudart"};
  h.depth = "thin";
  h.sites = 1;
  const std::string whole = line_of(h) + line_of(site("cuInit", "a", 'a')) + line_of(some_row(), {"./a"});
  std::ofstream(file) << whole << R"({"line":"ro)";
  const earlier_record found = read_record(file);
  EXPECT_EQ(found.bytes, whole.size());
  EXPECT_EQ(found.head.command, h.command);
  EXPECT_EQ(found.head.libraries, h.libraries);
  EXPECT_THAT(found.sites, SizeIs(1));
  EXPECT_THAT(found.rows, SizeIs(1));
  row other = some_row();
  other.ordinal = 3;
  std::ofstream(file) << whole << line_of(totals{}) << line_of(other, {"./a"}) << line_of(totals{});
  EXPECT_THAT(read_record(file).rows, SizeIs(2)) << "it was gone on with";
  row once_forked = other;
  once_forked.forked = true;
  std::ofstream(file) << whole << line_of(once_forked, {"./a"}) << line_of(other, {"./a"});
  EXPECT_THAT(read_record(file).rows, SizeIs(3)) << "forks differed";
  std::ofstream(file) << whole << line_of(totals{}) << line_of(some_row(), {"./a"});
  try {
    static_cast<void>(read_record(file));
    ADD_FAILURE() << "a row is there twice";
  } catch (const input_error& refused) {
    EXPECT_THAT(refused.what(), testing::StartsWith(file.string() + ":5: "));
    EXPECT_THAT(refused.what(),
                HasSubstr("the row cuMemAlloc_v2@aaaaaaaaaaaaaaaa:2=OUT_OF_MEMORY is there twice"));
  }
  std::ofstream(file) << line_of(h);
  EXPECT_THROW(static_cast<void>(read_record(file)), input_error) << "cut off before its sites";
  std::ofstream(file) << line_of(some_row(), {"./a"});
  EXPECT_THROW(static_cast<void>(read_record(file)), input_error) << "no header";
}

}  // namespace
}  // namespace cufault::program_sweep
