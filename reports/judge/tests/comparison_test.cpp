// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/comparison.hpp"

#include "reports/judge/counterparts.hpp"
#include "reports/model/tests/examples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

verdict between(const arm_result& before, const arm_result& after) {
  return compare_arms(&before, &after).v;
}

arm_result fault_arm(std::vector<observation> trials) {
  return arm(arm_kind::fault, std::move(trials));
}

arm_result racing(const std::vector<std::pair<int, const char*>>& counts) {
  arm_result a = fault_arm({});
  a.races = "chance";
  for (const auto& [times, status] : counts)
    for (int i = 0; i < times; ++i) a.trials.push_back(trial({status}));
  return a;
}

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

TEST(compared_arms, are_absent_new_or_neither) {
  const auto seen = fault_arm({trial({no_memory})}), unseen = fault_arm({not_provoked("no GPU")});
  EXPECT_EQ(compare_arms(&seen, nullptr).v, verdict::absent);
  EXPECT_EQ(between(seen, unseen), verdict::absent);
  EXPECT_EQ(compare_arms(&seen, &unseen).why, "no GPU");
  EXPECT_EQ(compare_arms(nullptr, &seen).v, verdict::unrecorded);
  EXPECT_EQ(between(unseen, seen), verdict::unrecorded);
  EXPECT_EQ(between(unseen, unseen), verdict::not_provoked);
  EXPECT_EQ(compare_arms(nullptr, &unseen).v, verdict::not_provoked);
}

TEST(compared_arms, are_unresolved_where_the_harness_failed) {
  const auto seen = fault_arm({trial({no_memory})});
  EXPECT_EQ(between(seen, fault_arm({harness_failed("no pipe")})), verdict::unresolved);
  EXPECT_EQ(between(seen, fault_arm({})), verdict::unresolved);
}

TEST(compared_arms, that_cleared_nothing_before_and_after_are_unchanged) {
  const auto remedy = arm(arm_kind::remedy, {trial({success}, {right})});
  EXPECT_TRUE(is_same(between(remedy, remedy)));
}

TEST(compared_arms, that_race_are_compared_by_rates) {
  // Rare signatures that only one of them has are no change.
  EXPECT_TRUE(is_same(between(racing({{5, internal}}), racing({{38, internal}, {2, no_memory}}))));
  EXPECT_TRUE(is_same(between(racing({{38, internal}, {2, no_memory}}), racing({{5, internal}}))));
  // Nothing in common.
  EXPECT_EQ(between(racing({{5, internal}}), racing({{5, no_memory}})), verdict::changed);
  EXPECT_EQ(between(racing({{5, internal}}), racing({{5, success}})), verdict::gone);
  // 2 of 20 and 15 of 20 are two rates; 8 and 12 of 20 may be one.
  EXPECT_EQ(between(racing({{2, internal}, {18, no_memory}}), racing({{15, internal}, {5, no_memory}})),
            verdict::changed);
  EXPECT_TRUE(
      is_same(between(racing({{8, internal}, {12, no_memory}}), racing({{12, internal}, {8, no_memory}}))));
  EXPECT_EQ(between(racing({{20, internal}, {20, no_memory}}), racing({{40, no_memory}})), verdict::changed);
}

TEST(compared_arms, that_race_say_when_they_were_recorded) {
  arm_result recorded = racing({{8, internal}, {12, no_memory}}),
             now = racing({{12, internal}, {8, no_memory}});
  recorded.runs = {{.commit = "c", .started = "2026-11-21T07:27:40Z", .trials = 10},
                   {.commit = "c", .started = "2026-11-26T07:27:40Z", .trials = 10}};
  const expectation before = expectation_of(recorded, true);
  judge_by(now, &before);
  EXPECT_EQ(now.judged, verdict::flaky);
  EXPECT_EQ(now.why,
            "cublasCreate: INTERNAL_ERROR; context usable: 8 of 20 → 12 of 20 trials (chance; recorded "
            "2026-11-26)");
}

TEST(compared_arms, that_race_and_crash_for_the_first_time_are_worse) {
  auto after = racing({{39, internal}});
  after.trials.push_back(crash({}));
  EXPECT_EQ(between(racing({{40, internal}}), after), verdict::worsened);
  EXPECT_TRUE(is_same(between(after, after)));
}

TEST(compared_arms, tell_the_step_that_differs) {
  const auto before = fault_arm({trial({success, no_memory})}), now = fault_arm({trial({success, internal})});
  EXPECT_EQ(compare_arms(&before, &now).why, "cublasCreate: ALLOC_FAILED → INTERNAL_ERROR");
  EXPECT_EQ(compare_arms(&before, &before).why, "");
  const auto rare = racing({{2, internal}, {18, no_memory}}),
             often = racing({{15, internal}, {5, no_memory}});
  EXPECT_EQ(compare_arms(&rare, &often).why,
            "rate moved: cublasCreate: ALLOC_FAILED; context usable: 18 of 20 → 5 of 20 trials");
}

arm_result looking_up(const std::vector<std::string>& variables, const char* status = success) {
  auto a = fault_arm({trial({status})});
  for (const std::string& name : variables)
    a.trials[0].measurements.push_back({"libcublas.so.13 asks for " + name, 1, ""});
  return a;
}

TEST(compared_arms, note_a_further_variable_and_miss_one_that_is_gone) {
  const auto before = looking_up({"A"}), more = looking_up({"A", "B"});
  const auto found = compare_arms(&before, &more);
  EXPECT_TRUE(is_same(found.v));
  EXPECT_EQ(found.noted, "libcublas.so.13 asks for B: not measured → 1");
  EXPECT_EQ(between(more, before), verdict::changed);
  EXPECT_EQ(compare_arms(&more, &before).why, "libcublas.so.13 asks for B: 1 → not measured");
  EXPECT_EQ(between(before, looking_up({"A", "B"}, internal)), verdict::changed);
}

arm_result first_failing(std::int64_t tile, int failed = 2) {
  auto a = fault_arm({trial({no_memory})});
  a.trials[0].calls[0].what.facts = {{"first_failing", std::vector<std::int64_t>{66, tile}},
                                     {"failed", std::int64_t{failed}}};
  return a;
}

TEST(compared_arms, note_which_of_many_failed_first_and_not_how_many_did) {
  const auto seven = first_failing(7), ten = first_failing(10);
  const auto found = compare_arms(&seven, &ten);
  EXPECT_TRUE(is_same(found.v));
  EXPECT_EQ(found.noted, "cublasCreate: first failing 66, 7 → first failing 66, 10");
  EXPECT_EQ(between(seven, first_failing(10, 1)), verdict::changed);
  arm_result judged = ten;
  const expectation recorded = expectation_of(seven, false);
  judge_by(judged, &recorded);
  EXPECT_EQ(judged.judged, verdict::reproduced);
  EXPECT_EQ(judged.noted, found.noted);
}

TEST(comparison, is_sorted_by_name_whatever_the_order_of_records) {
  record a, b;
  const auto seen = [] { return fault_arm({trial({no_memory})}); };
  a.cases = {{.name = "x.b", .arms = {seen()}}, {.name = "x.a", .arms = {seen()}}};
  b.cases = {{.name = "x.c", .arms = {seen()}}, {.name = "x.a", .arms = {seen()}}};
  const comparison all = compare(std::array{a, b});
  ASSERT_EQ(all.arms.size(), 2U);
  EXPECT_EQ(all.arms[0].case_name, "x.a");
  EXPECT_EQ(all.arms[1].found.v, verdict::unrecorded);
  EXPECT_EQ(all.not_asked, 1U);
}

TEST(comparison, of_several_records_has_the_worst_and_says_of_which) {
  std::array<record, 3> three;
  for (std::size_t i = 0; i < three.size(); ++i) {
    *three[i].stack = {{"keys", {{"cublas", "13." + std::to_string(i)}}}};
    three[i].cases = {
        {.name = "x.a", .arms = {fault_arm({trial({no_memory})}), fault_arm({trial({no_memory})})}}};
    three[i].cases[0].arms[1].name = "other";
  }
  three[1].cases[0].arms[0].trials = {trial({internal})};
  three[2].cases[0].arms[0].trials = {crash({})};
  three[2].cases[0].arms.pop_back();
  const comparison all = compare(three);
  ASSERT_EQ(all.arms.size(), 1U);
  EXPECT_EQ(all.arms[0].found.v, verdict::worsened);
  EXPECT_THAT(all.arms[0].found.why, testing::HasSubstr("b: cublasCreate: ALLOC_FAILED → INTERNAL_ERROR"));
  EXPECT_THAT(all.arms[0].found.why, testing::HasSubstr(" | c: "));
  three[1].cases[0].arms[0].trials = three[2].cases[0].arms[0].trials;
  EXPECT_TRUE(compare(three).arms[0].found.why.starts_with("b, c: "));
  EXPECT_EQ(all.not_asked, 1U);
  EXPECT_EQ(differing_in(all), 1U);
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
  r.cases = {{.name = "memory.create", .arms = {fault_arm({trial({no_memory})})}}};
  const std::vector<counterpart_pair> known{{"memory.create", "arm", "injected"}};
  const auto all = compare_counterparts({r}, known);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].stack, "");
  EXPECT_EQ(all[0].verdict, "not measured yet");
}

// What the committed records show: they are not the same, and each is the same as itself.
TEST(committed_records, differ_from_each_other_and_not_from_themselves) {
  const std::filesystem::path recorded{CUFAULT_RECORDED};
  const std::array both{load_record(recorded / "h200-580.159.04-cublas-12.0.1-other-13.10.0"),
                        load_record(recorded / "h200-580.159.04-cublas-13.10.0-other-12.0.1")};
  const comparison all = compare(both);
  EXPECT_GT(differing_in(all), 50U);
  EXPECT_EQ(all.stacks.front().name, "cublas");
  for (const record& r : both) EXPECT_EQ(differing_in(compare(std::array{r, r})), 0U);
}

}  // namespace
}  // namespace cufault
