// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/explanation.hpp"

#include "reports/base/json_input.hpp"
#include "reports/explain/tests/knowing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> classes(const explanation& e) {
  std::vector<std::string> all;
  for (const ranked_cause& c : e.causes) all.push_back(c.what->cause_class());
  return all;
}

const std::vector<record>& records() {
  static const std::vector<record> all{example_stack("13.1.0"), example_stack("12.0.1")};
  return all;
}

/// A text that the pattern fits.
std::string example_of(const std::string& pattern) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const auto close = pattern[i] == '{' ? pattern.find('}', i) : std::string::npos;
    if (close == std::string::npos) {
      text += pattern[i] == '*' ? 'x' : pattern[i];
    } else {
      text += pattern.substr(i, close - i).find(':') == std::string::npos ? "word" : "12";
      i = close;
    }
  }
  return text;
}

/// Events that are no failure, with a text for each of their patterns.
std::vector<std::pair<std::string, std::string>> circumstances() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const event_pattern& e : known().events)
    if (e.role != event_role::failure && e.fails.empty())
      for (const std::string& pattern : e.match) all.emplace_back(e.id, example_of(pattern));
  for (const gpu_model& g : known().gpus)
    for (const std::string& pattern : g.match) all.emplace_back("gpu." + g.family, example_of(pattern));
  return all;
}

const std::set<std::string> has_words_of_a_failure{"pytorch.allocator_key",
                                                   "cublas.log_out_of_memory",
                                                   "memory.tried_to_allocate",
                                                   "cublas.lt_not_initialized",
                                                   "pytorch.printed",
                                                   "fatal.library",
                                                   "julia.failure",
                                                   "onnx.failure",
                                                   "pytorch.thc"};

bool says_nothing(const explanation& e) {
  return !e.failure && !e.not_understood && e.causes.empty() && e.process.state == "unknown" &&
         e.process.why.empty();
}

TEST(evidence, is_of_sweeps_that_came_to_their_end) {
  call_record row;
  row.what = {.name = {"cublasCreate", ""}, .status = "CUBLAS_STATUS_ALLOC_FAILED", .ok = false};
  row.swept = swept_calls{.function = "cuMemAlloc_v2", .codes = {"OUT_OF_MEMORY"}, .calls = 3};
  const auto injected = [&](outcome ended) {
    observation o;
    o.calls = {row};
    o.ended = ended;
    arm_result sweep{.name = "every"};
    sweep.trials = {o};
    record r;
    r.cases = {{.name = "sweep.cublas_create", .arms = {sweep}}};
    std::size_t calls = 0;
    for (const recorded_failure& f : evidence_in(std::vector{r}, known()).failures) calls += f.injected;
    return calls;
  };
  EXPECT_EQ(injected(outcome::completed), 3U);
  EXPECT_EQ(injected(outcome::not_provoked), 0U);
  EXPECT_EQ(injected(outcome::harness_failed), 0U);
}

TEST(explain, opens_no_cause_by_a_circumstance) {
  const knowing all(records());
  std::size_t tried = 0;
  std::string together;
  for (const auto& [id, text] : circumstances()) {
    const explanation e = all.of(text);
    // Some have the words of a failure in them: "Failed to initialize CUDA: out of memory".
    if (has_words_of_a_failure.contains(id)) continue;
    EXPECT_TRUE(says_nothing(e)) << id << ": " << text;
    ++tried;
    if (!id.starts_with("end.")) together += text + "\n";
  }
  EXPECT_GT(tried, 800U);
  const explanation e = all.of(together);
  EXPECT_TRUE(says_nothing(e)) << (e.failure ? e.failure->words : "");
}

TEST(explain, takes_each_cause_that_fails_for_a_failure) {
  const knowing all(records());
  for (const event_pattern& e : known().events) {
    if (e.fails.empty()) continue;
    for (const std::string& pattern : e.match)
      EXPECT_TRUE(all.of("torch on a GPU\n" + example_of(pattern)).failure) << e.id << ": " << pattern;
  }
}

TEST(explain, finds_no_failure_in_random_bytes) {
  const knowing all({});
  std::mt19937 random(1);
  std::string bytes(4U << 20, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  EXPECT_TRUE(says_nothing(all.of(bytes)));
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = i % 77 == 76 ? '\n' : digits[static_cast<unsigned char>(bytes[i]) % digits.size()];
  EXPECT_TRUE(says_nothing(all.of(bytes)));
}

// "RuntimeError" alone is no failure that another RuntimeError is measured by.
TEST(explain, measures_what_a_framework_refuses_by_the_text_of_its_exception) {
  const auto refused = [](const char* name, const char* text) {
    call_record call = example_call("torch.matmul", "RuntimeError");
    call.what.name.variant = name;
    call.what.facts["exception"] = std::string("RuntimeError");
    arm_result arm = example_arm(name, arm_kind::fault, {call}, "usable");
    arm.trials[0].notes = {{std::string("torch.matmul ") + name, text}};
    return arm;
  };
  std::vector<record> with_refusals = records();
  with_refusals[0].cases.push_back(
      {"pytorch.on_the_cpu",
       {refused("mixed_types", "expected m1 and m2 to have the same dtype, but got: float != double"),
        refused("incompatible_shapes", "mat1 and mat2 shapes cannot be multiplied (10x10 and 5x10)")}});
  with_refusals[0].cases.push_back(
      {"pytorch.forked_child",
       {refused("matmul",
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing")}});
  const knowing all(with_refusals);
  const auto arms_of = [&](std::string_view log) {
    const auto e = all.of(log);
    return e.causes.empty() ? std::set<std::string>{} : e.causes[0].natural_arms;
  };
  EXPECT_THAT(arms_of("RuntimeError: expected scalar type Half but found Float"),
              ElementsAre("pytorch.on_the_cpu/mixed_types"));
  EXPECT_THAT(arms_of("RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
              ElementsAre("pytorch.on_the_cpu/incompatible_shapes"));
  EXPECT_THAT(arms_of("RuntimeError: Cannot re-initialize CUDA in forked subprocess."),
              ElementsAre("pytorch.forked_child/matmul"));
  EXPECT_THAT(arms_of("RuntimeError: something else"), IsEmpty());
}

// The text of each exception is its own: the second call failed for another reason.
TEST(explain, reads_the_note_of_each_of_several_exceptions) {
  observation o;
  for (int i = 0; i < 2; ++i) {
    call_record call = example_call("torch.matmul", "RuntimeError");
    call.what.facts["exception"] = std::string("RuntimeError");
    o.calls.push_back(call);
  }
  o.ended = outcome::completed;
  o.notes = {{"torch.matmul", "expected m1 and m2 to have the same dtype, but got: float != double"},
             {"torch.matmul", "mat1 and mat2 shapes cannot be multiplied (10x10 and 5x10)"}};
  record r;
  r.cases = {{"pytorch.on_the_cpu", {{.name = "mixed_types", .trials = {o}}}}};
  std::vector<std::string> statuses;
  for (const recorded_failure& f : evidence_in(std::vector{r}, known()).failures)
    statuses.push_back(f.status);
  EXPECT_THAT(statuses, ElementsAre("TYPES_REFUSED", "SHAPES_REFUSED"));
}

TEST(explain, ranks_what_the_machine_meets_before_what_it_does_not) {
  const knowing all(records());
  const char* const failure = "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED";
  const std::vector<machine_finding> hidden{{"environment.hidden_devices", "all are hidden"},
                                            {"environment.hidden_devices", "none is left"},
                                            {"environment.no_such_case", "another thing"}};
  const auto place = [](const explanation& e) {
    const auto at = std::ranges::find_if(
        e.causes, [](const ranked_cause& c) { return c.what->id == "environment_other.no_device"; });
    return at - e.causes.begin();
  };
  const auto without = all.of(failure), with = all.of(failure, hidden);
  ASSERT_NE(place(without), 0);
  ASSERT_EQ(place(with), 0);
  EXPECT_EQ(with.causes[0].sure, confidence::supported);
  EXPECT_EQ(with.causes[0].machine, (std::vector<std::string>{"all are hidden", "none is left"}));
  EXPECT_TRUE(with.causes[0].words.empty()) << "the log says nothing of it";
  for (std::size_t i = 1; i < with.causes.size(); ++i) EXPECT_TRUE(with.causes[i].machine.empty());
  EXPECT_TRUE(all.of("all is well", hidden).causes.empty()) << "nothing failed";

  const auto named =
      all.of("Assertion `srcIndex < srcSelectDimSize` failed.\n" + std::string(failure), hidden);
  EXPECT_EQ(named.causes.at(0).what->id, "index_out_of_range.assertion") << "what the log names comes first";
}

TEST(explain, takes_a_line_of_the_kernel_log_wherever_it_stands) {
  const auto e = knowing({}).of("cublasSgemm: CUBLAS_STATUS_EXECUTION_FAILED\n" + std::string(100, '\n') +
                                "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n");
  ASSERT_FALSE(e.causes.empty());
  EXPECT_EQ(e.causes[0].what->cause_class(), "hardware");
}

TEST(explain, gives_at_most_three_causes_of_different_classes) {
  const auto e = knowing(records()).of("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_THAT(e.causes, SizeIs(3));
  auto names = classes(e);
  std::ranges::sort(names);
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

TEST(explain, says_what_records_show_and_counts_it) {
  const auto e = knowing(records()).of("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED");
  ASSERT_FALSE(e.causes.empty());
  const ranked_cause& c = e.causes[0];
  EXPECT_EQ(c.what->id, "memory_exhausted.device");
  EXPECT_EQ(c.natural_trials, 2U);  // one on each stack
  EXPECT_THAT(c.natural_arms, ElementsAre("memory.create_under_pressure/held_here_lazy"));
  EXPECT_THAT(c.stacks, SizeIs(2));
  EXPECT_EQ(c.injected_trials, 2U);
  EXPECT_TRUE(e.from_records);
  EXPECT_EQ(c.reproduce, "cufault run memory.create_under_pressure/held_here_lazy");
  ASSERT_THAT(c.clears, SizeIs(1));
  EXPECT_EQ(c.clears[0].words, "free the memory");
  EXPECT_EQ(c.clears[0].cleared, 2U);
  ASSERT_THAT(c.does_not_clear, SizeIs(1));
  EXPECT_EQ(c.does_not_clear[0].words, "clear the last error");
  EXPECT_EQ(e.process.state, "usable");
  EXPECT_EQ(e.process.usable, 2U);
}

TEST(explain, names_what_helps_from_the_start_for_the_failure_that_it_is_against) {
  const auto clears = [](const char* against) {
    record r = example_stack("13.1.0");
    for (arm_result& a : r.cases[0].arms)
      if (a.name == "free_and_retry") {
        a.against = against;
        std::erase_if(a.trials[0].calls, [](const call_record& c) { return !c.after_remedy; });
      }
    return knowing({r}).of("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED").causes.at(0).clears.size();
  };
  EXPECT_EQ(clears("held_here_lazy"), 1U);
  EXPECT_EQ(clears("control"), 0U);
}

/// An assertion as PyTorch and CuPy show it, with the same remedy.
record framework_stack() {
  record r = example_stack("13.1.0");
  for (const auto& [family, fault] : {std::pair{"cupy", "take"}, {"pytorch", "matmul"}}) {
    const auto failed = [] {
      call_record call = example_call("torch.matmul", "CUBLAS_STATUS_NOT_INITIALIZED");
      call.what.facts["named_call"] = "cublasCreate";
      return call;
    };
    case_result c{std::string(family) + ".index_out_of_range", {}};
    c.arms = {example_arm("control", arm_kind::control,
                          {example_call("torch.matmul", "OK", false, numbers_found::right)}, "usable"),
              example_arm(fault, arm_kind::fault, {failed()}, "damaged"),
              example_arm("matmul+new_process", arm_kind::remedy,
                          {failed(), example_call("torch.matmul", "OK", true, numbers_found::right)},
                          "usable", std::string("a new process of ") + family)};
    c.arms[0].trials[0].calls[0].what.ok = c.arms[2].trials[0].calls[1].what.ok = true;
    c.arms[0].judged = verdict::ok;
    r.cases.push_back(std::move(c));
  }
  return r;
}

TEST(explain, counts_a_trial_once_in_which_several_calls_fail_and_says_what_the_driver_alone_said) {
  record r = example_stack("13.1.0");
  for (arm_result& a : r.cases[0].arms)
    if (a.name == "held_here_lazy")
      a.trials[0].calls.push_back(example_call("cublasLtCreate", "CUBLAS_STATUS_ALLOC_FAILED"));
  const auto twice = knowing({r}).of("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(twice.causes.at(0).natural_trials, 1U);
  EXPECT_EQ(twice.causes.at(0).returned_trials, 1U);
  EXPECT_EQ(twice.causes.at(0).framework_trials, 0U);
  for (arm_result& a : r.cases[0].arms)
    if (a.name == "held_here_lazy")
      a.trials[0].calls[0].driver = {{.function = "cuMemAlloc_v2", .code = "OUT_OF_MEMORY"}};
  const auto in_the_log = knowing({r}).of("cudaMalloc: out of memory");
  EXPECT_EQ(in_the_log.causes.at(0).what->id, "memory_exhausted.device");
  const auto of_any_call = knowing({r}).of("CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(of_any_call.causes.at(0).natural_trials, 1U);
  EXPECT_EQ(of_any_call.causes.at(0).returned_trials, 0U);
}

TEST(explain, counts_remedies_on_the_stacks_that_show_the_failure) {
  std::vector<record> two = records();
  std::erase_if(two[1].cases[0].arms,
                [](const arm_result& a) { return a.kind == arm_kind::fault && a.counterpart_of.empty(); });
  const auto e = knowing(two).of("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_THAT(e.causes.at(0).stacks, SizeIs(1));
  ASSERT_THAT(e.causes[0].clears, SizeIs(1));
  EXPECT_EQ(e.causes[0].clears[0].cleared, 1U) << "on the other stack it was tried, too";
}

TEST(explain, counts_what_the_framework_of_the_log_shows) {
  const auto e = knowing({framework_stack()})
                     .of("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling "
                         "`cublasCreate(handle)`\n");
  const auto at = std::ranges::find_if(
      e.causes, [](const ranked_cause& c) { return c.what->id == "index_out_of_range.assertion"; });
  ASSERT_NE(at, e.causes.end());
  EXPECT_EQ(at->natural_trials, 3U);
  EXPECT_EQ(at->framework_trials, 1U);
}

TEST(explain, puts_what_is_told_of_more_often_first_behind_a_status_alone) {
  const auto e = knowing({}).of("CUBLAS_STATUS_EXECUTION_FAILED");
  ASSERT_FALSE(e.causes.empty());
  EXPECT_EQ(classes(e).at(1), "upstream_kernel_fault");
}

TEST(explain, takes_as_many_causes_of_a_class_as_it_is_asked_for) {
  event_finder finder(known());
  finder.add("cudaErrorMemoryAllocation");
  const knowing all(records());
  const auto e = explain(finder.finish(), {known(), all.seen, all.reports}, 6, 3);
  EXPECT_EQ(std::ranges::count(classes(e), "memory_exhausted"), 3);
}

TEST(explain, says_that_the_process_is_lost_where_records_show_it) {
  const auto e = knowing(records()).of("cudaDeviceSynchronize: device-side assert triggered");
  EXPECT_EQ(e.process.state, "lost");
  EXPECT_EQ(e.process.damaged, 2U);
}

TEST(explain, ranks_by_reports_where_records_know_nothing_and_says_so) {
  const auto e = knowing({}).of("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_FALSE(e.from_records);
  EXPECT_FALSE(e.causes.empty());
  for (const ranked_cause& c : e.causes) {
    EXPECT_EQ(c.natural_trials, 0U);
    EXPECT_EQ(c.reproduce, "");
  }
}

TEST(explain, counts_injected_failures_apart_from_natural_ones) {
  auto injected = records();
  for (record& r : injected)
    for (case_result& c : r.cases)
      std::erase_if(
          c.arms, [](const arm_result& a) { return a.kind == arm_kind::fault && a.counterpart_of.empty(); });
  const auto e = knowing(injected).of("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED");
  ASSERT_FALSE(e.causes.empty());
  EXPECT_EQ(e.causes[0].natural_trials, 0U);
  EXPECT_EQ(e.causes[0].injected_trials, 2U);
  EXPECT_FALSE(e.from_records);
}

TEST(explain, names_the_check_that_costs_least_for_what_it_tells) {
  const auto e = knowing(records()).of("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED");
  ASSERT_FALSE(e.causes.empty());
  for (const ranked_cause& c : e.causes) {
    ASSERT_TRUE(c.next) << c.what->id;
    EXPECT_FALSE(c.next->others.empty());
    EXPECT_EQ(c.next->text.find("{call}"), std::string::npos);
    for (const std::string& other : c.next->others) EXPECT_NE(other, c.what->id);
  }
}

/// All that is said, in a form that can be compared.
std::string said(const explanation& e) {
  std::string all = e.process.state + e.process.why;
  for (const ranked_cause& c : e.causes) {
    all += "\n" + c.what->id + " " + to_string(c.sure) + " " + std::to_string(c.natural_trials) + " " +
           std::to_string(c.injected_trials) + " " + c.reproduce +
           (c.next ? c.next->text + c.next->says : "");
    for (const tried_remedy& t : c.clears) all += t.words + std::to_string(t.cleared);
  }
  return all;
}

TEST(explain, names_what_helped_in_the_framework_of_the_log_first) {
  const knowing all({framework_stack()});
  const std::string failure = "CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n";
  const auto in = [&](const std::string& log) {
    const auto e = all.of(log + failure);
    const auto at = std::ranges::find_if(
        e.causes, [](const ranked_cause& c) { return c.what->id == "index_out_of_range.assertion"; });
    return at == e.causes.end() || at->clears.empty() ? std::string()
                                                      : at->reproduce + ": " + at->clears[0].words;
  };
  EXPECT_EQ(in("RuntimeError: CUDA error: "),
            "cufault run pytorch.index_out_of_range/matmul --python python3: a new process of pytorch");
  const auto of_none = all.of("cudaErrorAssert\n");
  ASSERT_FALSE(of_none.causes.empty());
  EXPECT_EQ(of_none.causes[0].reproduce, "cufault run sticky.device_fault/no_handle_assertion");
}

TEST(explain, does_not_depend_on_the_order_of_records) {
  auto shuffled = records();
  std::mt19937 random(1);
  for (int i = 0; i < 10; ++i) {
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (record& r : shuffled) {
      std::shuffle(r.cases.begin(), r.cases.end(), random);
      for (case_result& c : r.cases) std::shuffle(c.arms.begin(), c.arms.end(), random);
    }
    for (const char* text : {"cublasCreate: CUBLAS_STATUS_ALLOC_FAILED",
                             "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED", "cudaErrorAssert"})
      EXPECT_EQ(said(knowing(shuffled).of(text)), said(knowing(records()).of(text))) << text;
  }
}

TEST(explain, ranks_the_same_by_a_subset_of_stacks) {
  for (const char* text : {"cublasCreate: CUBLAS_STATUS_ALLOC_FAILED", "cudaErrorAssert"})
    EXPECT_EQ(classes(knowing({records()[0]}).of(text)), classes(knowing(records()).of(text))) << text;
}

TEST(explain, names_no_cure_and_no_check_that_records_contradict) {
  record stack = example_stack("13.1.0");
  case_result waiting{"handles.behind_waiting_kernel", {}};
  waiting.arms.push_back(example_arm("control", arm_kind::control,
                                     {example_call("cublasCreate", "CUBLAS_STATUS_SUCCESS")}, "usable"));
  waiting.arms.back().judged = verdict::ok;
  waiting.arms.push_back(example_arm("create_lazy", arm_kind::fault,
                                     {example_call("cublasCreate", "CUBLAS_STATUS_EXECUTION_FAILED")},
                                     "usable"));
  waiting.arms.push_back(example_arm("load_eagerly", arm_kind::dead_end,
                                     {example_call("cublasCreate", "CUBLAS_STATUS_EXECUTION_FAILED"),
                                      example_call("cublasCreate", "CUBLAS_STATUS_EXECUTION_FAILED", true)},
                                     "usable", "CUDA_MODULE_LOADING=EAGER"));
  stack.cases.push_back(waiting);
  const auto e = knowing({stack}).of("CUDA lazy loading\ncublasCreate: CUBLAS_STATUS_EXECUTION_FAILED");
  ASSERT_FALSE(e.causes.empty());
  ASSERT_EQ(e.causes[0].what->id, "module_loading.waits");
  EXPECT_EQ(e.causes[0].does_not_clear.size(), 1U);
  ASSERT_TRUE(e.causes[0].next);
  EXPECT_THAT(e.causes[0].next->text, testing::Not(testing::HasSubstr("CUDA_MODULE_LOADING")));
  for (const std::string& cure : e.causes[0].cures)
    EXPECT_THAT(cure, testing::Not(testing::HasSubstr("CUDA_MODULE_LOADING")));
}

TEST(explain, puts_no_cause_that_is_only_possible_above_one_that_is_supported) {
  const knowing all(records());
  for (const char* const failure : {"CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(`",
                                    "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED", "cublasLtMatmul hangs",
                                    "CUDA error: unspecified launch failure"})
    EXPECT_TRUE(std::ranges::is_sorted(all.of(failure).causes, std::greater(), [](const ranked_cause& c) {
      return c.sure;
    })) << failure;
}

TEST(explain, says_what_to_run_first_where_the_log_does_not_tell) {
  const knowing all(records());
  EXPECT_EQ(all.of("RuntimeError: NCCL error: unhandled cuda error").tell_apart, "NCCL_DEBUG=INFO COMMAND");
  EXPECT_EQ(all.of("cudnnCreate failed: CUDNN_STATUS_INTERNAL_ERROR").tell_apart, "cufault why -- COMMAND");
  EXPECT_EQ(all.of("NVRTC_ERROR_INVALID_PROGRAM").tell_apart, "cufault doctor");
  EXPECT_EQ(all.of("NCCL error: ncclInternalError\nncclSocketInit: no address").tell_apart, "");
}

TEST(fit, tells_a_call_its_family_and_another_call_apart) {
  const failure_seen create{"S", "cublasCreate"};
  EXPECT_EQ(fit(create, "S", "cublasCreate"), 3);
  EXPECT_EQ(fit(create, "S", "cublasLtCreate"), 3);
  EXPECT_EQ(fit(create, "S", "cublasSgemm"), 1);
  EXPECT_EQ(fit(create, "T", "cublasCreate"), 0);
  EXPECT_EQ(fit({"S", ""}, "S", "cublasCreate"), 2);
  EXPECT_EQ(fit({"S", "cublasSgemm_64"}, "S", "cublasSgemm"), 3);
  EXPECT_EQ(fit(create, failure_pattern{.status = {"S"}}), 2);
  EXPECT_EQ(fit(create, failure_pattern{.status = {"S"}, .call = {"cublas*Create"}}), 3);
  EXPECT_EQ(fit(create, failure_pattern{.status = {"S"}, .call = {"cublasSgemm"}}), 0);
}

}  // namespace
}  // namespace cufault
