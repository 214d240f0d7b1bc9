// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/comparison.hpp"

#include "reports/judge/counterparts.hpp"
#include "reports/model/tests/examples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

/// Of the arms whose steps differ so.
std::string rewriting(const signature& before, const signature& now) {
  return what_changed({verdict::changed, difference(before, now)});
}

TEST(what_changed, has_no_function_no_variant_and_no_number) {
  const auto seen = [](const char* api, const char* status, fact_map facts = {}, const char* variant = "") {
    observation o = trial({});
    o.calls = {call(api, status)};
    o.calls[0].what.facts = std::move(facts);
    o.calls[0].what.name.variant = variant;
    return signature_of(o);
  };
  EXPECT_EQ(rewriting(seen("cublasSgemm", no_memory), seen("cublasSgemm", internal)),
            "ALLOC_FAILED → INTERNAL_ERROR");
  EXPECT_EQ(
      rewriting(seen("cublasDgemm", no_memory, {}, "lda_7"), seen("cublasDgemm", internal, {}, "lda_7")),
      "ALLOC_FAILED → INTERNAL_ERROR");
  EXPECT_EQ(rewriting(seen("cublasSgemm", right), seen("cublasSgemm", internal)), "SUCCESS → INTERNAL_ERROR");
  EXPECT_EQ(rewriting(seen("cublasSgemm", internal), seen("cublasSgemm", wrong)),
            "INTERNAL_ERROR → SUCCESS, numbers wrong");
  EXPECT_EQ(rewriting(seen("cublasSgemm", right), seen("cublasSgemm", success)),
            "SUCCESS, numbers right → SUCCESS");
  EXPECT_EQ(rewriting(seen("cublasSgemm", right), seen("cublasSgemm", wrong)), "numbers right → wrong");
  EXPECT_EQ(rewriting(seen("cublasSgemm", success), seen("cublasCreate", no_memory)),
            "first other call: cublasCreate, ALLOC_FAILED");
  EXPECT_EQ(rewriting(signature_of(trial({success})), signature_of(trial({success, no_memory}))),
            "not made → ALLOC_FAILED");
  EXPECT_EQ(rewriting(signature_of(trial({success, no_memory})), signature_of(trial({success}))),
            "ALLOC_FAILED → not made");
  const auto word = [&](const char* fact, const char* value) {
    return seen("cublasSgemm", internal, {{fact, std::string(value)}});
  };
  for (const char* before : {"cublasSgemm", "cublasDgemm"})
    EXPECT_EQ(rewriting(word("named_call", before), word("named_call", "cublasGemmEx")),
              "another call is named: cublasGemmEx");
  EXPECT_EQ(rewriting(word("named_call", "cublasSgemm"), seen("cublasSgemm", internal)),
            "named call cublasSgemm → INTERNAL_ERROR");
  EXPECT_EQ(rewriting(word("exception", "RuntimeError"), word("exception", "AcceleratorError")),
            "exception RuntimeError → exception AcceleratorError");
  const auto size = [&](std::int64_t n) { return seen("cublasSgemm", wrong, {{"nan_elements", n}}); };
  EXPECT_EQ(rewriting(size(4), size(7)), "nan elements N: another number");
  EXPECT_EQ(rewriting(size(64), size(65)), "nan elements N: another number");
}

TEST(what_changed, is_of_the_first_step_alone_and_says_how_a_process_ended) {
  const auto now = [](const observation& before, const observation& after) {
    return rewriting(signature_of(before), signature_of(after));
  };
  EXPECT_EQ(now(trial({success, success}), trial({internal, no_memory})), "SUCCESS → INTERNAL_ERROR");
  EXPECT_EQ(now(trial({success}), crash({}, "cublasCreate")), "SUCCESS → crashed: SIGSEGV");
  EXPECT_EQ(now(crash({}, "cublasCreate"), hang({})), "crashed: SIGSEGV → timed out");
  auto damaged = trial({success});
  damaged.context = "damaged";
  EXPECT_EQ(now(trial({success}), damaged), "usable → damaged");
}

TEST(what_changed, of_a_text_of_any_length_is_found) {
  const std::string why = "torch.sum: text A → " + std::string(1 << 20, 'x');
  EXPECT_EQ(what_changed({verdict::changed, why}), why);
}

TEST(what_changed, is_found_wherever_the_reason_begins) {
  const auto change = [](const char* why, verdict v = verdict::changed) { return what_changed({v, why}); };
  for (const char* why : {"at 64: cublasSgemm: A → B", "result 2: cublasSgemm: A → B",
                          "b, c: cublasSgemm: A (tried 2; x) → B | d: y"})
    EXPECT_EQ(change(why).substr(0, 7), "A → B");
  EXPECT_EQ(change("on H200, cuBLAS 13.1.0: cublasSgemm x: A → B; nor as on H100", verdict::differs),
            "A → B");
  EXPECT_EQ(change("the edge moved: at 126: cublasCreate: SUCCESS → ALLOC_FAILED"),
            "the edge moved: SUCCESS → ALLOC_FAILED");
  EXPECT_EQ(change("rate moved: cublasCreate: A: 18 of 20 → 5 of 20 trials"), "rate moved");
  EXPECT_EQ(change("workspace wanted with 2 rows: 4 → 7 (band 1 to 2)"),
            "workspace wanted with N rows: another measurement");
  EXPECT_EQ(change("libcublas.so.13 asks for B: 1 → not measured"),
            "libcublas.so.N asks for B: another measurement");
  EXPECT_EQ(change("load: OK → LOADER_ERROR; libx.so.1 now has DT_RPATH"),
            "OK → LOADER_ERROR; libx.so.1 now has DT_RPATH");
  EXPECT_EQ(change("f x: OK → OK (text a: b; c)"), "OK → text a: b");
  EXPECT_EQ(change("at most 2 fit → 3", verdict::absent), "at most 2 fit → 3");
  EXPECT_EQ(change("no room; for 2", verdict::absent), "no room; for 2");
}

TEST(stack_differences, name_keys_first_and_only_what_differs) {
  record a, b;
  *a.stack = {{"keys", {{"cublas", "12.0.1"}, {"driver", "580"}}}, {"gpu", {{"name", "H200"}}}, {"a", 1}};
  *b.stack = {
      {"keys", {{"cublas", "13.1.0"}, {"driver", "580"}, {"runtime", "13.0"}}}, {"gpu", nullptr}, {"a", 1}};
  const auto found = stack_differences(std::array{a, b});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].name, "cublas");
  EXPECT_EQ(found[0].values[0], "12.0.1");
  EXPECT_EQ(found[1].name, "runtime");
  EXPECT_EQ(found[1].values[0], "");
  EXPECT_EQ(found[2].name, "gpu");
  EXPECT_EQ(found[3].values[1], "");
  EXPECT_TRUE(stack_differences(std::array{a, a}).empty());
  EXPECT_TRUE(stack_differences(std::array<record, 2>{}).empty());
}

TEST(stack_differences, do_not_say_a_key_again_by_another_name) {
  const auto of = [](const std::string& cublas, const std::string& loading) {
    record r;
    *r.stack = {{"keys", {{"cublas", cublas}, {"module_loading", loading}}},
                {"cublas", {{"version", cublas}, {"path", "/" + cublas}}},
                {"environment", {{"CUDA_MODULE_LOADING", loading}, {"LD_LIBRARY_PATH", "/" + cublas}}}};
    return r;
  };
  std::vector<std::string> names;
  for (const auto& d : stack_differences(std::array{of("12.4.5", "LAZY"), of("13.10.0", "EAGER")}))
    names.push_back(d.name);
  EXPECT_EQ(names, (std::vector<std::string>{"cublas", "module_loading", "cublas/path",
                                             "environment/LD_LIBRARY_PATH"}));
}

TEST(stack_differences, of_what_was_imported_are_told_once) {
  using json = nlohmann::json;
  const auto of = [](const std::string& version, const std::string& cudnn, const json& more,
                     const std::string& package) {
    record r;
    json is{{"version", version},
            {"git", "1" + version},
            {"cudnn", cudnn},
            {"file", "/" + version},
            {"shadowed", {"/" + version}},
            {"libraries", {{"libcudnn.so.9", {{"path", "/" + cudnn}, {"build_id", cudnn}}}}}};
    if (more.is_object()) is.update(more);
    *r.stack = {
        {"keys", {{"pytorch", version}}},
        {"python", {{"packages", {{"nvidia-cudnn-cu13", package}}}, {"frameworks", {{"pytorch", is}}}}}};
    return r;
  };
  const auto names = [](const record& a, const record& b) {
    std::vector<std::string> all;
    for (const auto& d : stack_differences(std::array{a, b})) all.push_back(d.name);
    return all;
  };
  using list = std::vector<std::string>;
  EXPECT_EQ(names(of("2", "9", {}, "9"), of("2", "9", {}, "9")), list());
  EXPECT_EQ(names(of("2", "9", {}, "9"), of("3", "10", {}, "10")),
            (list{"pytorch", "nvidia-cudnn-cu13", "pytorch/cudnn", "pytorch/git", "pytorch/libcudnn.so.9",
                  "pytorch/version"}));
  EXPECT_EQ(names(of("2", "9", {}, "9"), of("2", "10", {}, "9")),
            (list{"pytorch/cudnn", "pytorch/libcudnn.so.9"}))
      << "another library in place of the package's";
  EXPECT_EQ(names(of("2", "9", {}, "9"), of("2", "9", {{"git", "x"}}, "9")), list{"pytorch/git"});
  EXPECT_EQ(names(of("2", "9", {{"metadata", "1"}}, "9"), of("2", "9", {{"metadata", "1"}}, "9")),
            list{"metadata of pytorch"})
      << "no stacks are equal whose metadata are wrong";
  record old = of("2", "9", {}, "9");
  old.stack->at("python").erase("frameworks");
  old.cases = {{.name = "pytorch.a", .arms = {}}};
  EXPECT_EQ(names(old, of("2", "10", {{"triton", "3"}}, "9")), list{"imported pytorch"}) << "it did not say";
  EXPECT_EQ(stack_differences(std::array{old, of("2", "9", {}, "9")}).at(0).values,
            (list{"not recorded", "recorded"}));
}

TEST(stack_differences, call_no_version_the_release_whose_pins_are_not_met) {
  const auto of = [](nlohmann::json more) {
    record r;
    more["version"] = "2.14.1+cu130";
    *r.stack = {{"keys", {{"pytorch", "2.14.1"}}},
                {"python", {{"packages", {{"torch", "2.14.1"}}}, {"frameworks", {{"pytorch", more}}}}}};
    return r;
  };
  const record pure = of({}),
               mixed = of({{"unmet", {"a==2: 1 is installed", "b==1: not installed", "c==1: 2"}},
                           {"refused", {"cudnn"}},
                           {"cudnn", "RuntimeError: 9.19"}});
  const auto found = stack_differences(std::array{pure, mixed});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].name, "torch");
  EXPECT_EQ(found[0].values, (std::vector<std::string>{"2.14.1", "2.14.1 with other packages"}));
  EXPECT_EQ(found[1].values, found[0].values);
  const comparison all = compare(std::array{pure, mixed});
  EXPECT_THAT(all.records[0].doubts, testing::IsEmpty());
  EXPECT_THAT(all.records[1].doubts,
              testing::ElementsAre("torch 2.14.1+cu130 runs with other packages than it pins: a==2: 1 is "
                                   "installed; b==1: not installed; and 1 more",
                                   "torch 2.14.1+cu130 does not say its cudnn: RuntimeError: 9.19"));
}

// What pairs come to: reports/answers/tests/counterparts.txt.
TEST(counterparts, that_no_record_has_are_said_to_be_missing) {
  record r;
  r.cases = {{.name = "memory.create", .arms = {arm(arm_kind::fault, {trial({no_memory})})}}};
  const std::vector<counterpart_pair> known{{"memory.create", "arm", "injected"}};
  const auto all = compare_counterparts({r}, known);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].stack, "");
  EXPECT_EQ(all[0].verdict, "not measured yet");
}

}  // namespace
}  // namespace cufault
