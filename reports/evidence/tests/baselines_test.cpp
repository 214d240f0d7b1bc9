// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/evidence/baselines.hpp"

#include "reports/evidence/tests/recorded_stacks.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

class nearest_stack : public recorded_stacks {
 protected:
  static arm_result shows(const char* status) {
    return expected(arm(arm_kind::fault, {trial({status})}, "a"));
  }
  static arm_result on_the_host(const char* status) {
    arm_result a = shows(status);
    a.trials[0].context = "none";
    return a;
  }
  /// The stacks that memory.leak/a is judged by or predicted from, by their labels.
  static std::vector<std::string> labels(const baselines& all, const stack_keys& here) {
    std::vector<std::string> of;
    if (const reference* found = all.find("memory.leak", "a", here))
      for (const expectation& e : found->from) of.push_back(e.stack);
    return of;
  }
  static int distance_of(const baselines& all, const stack_keys& here) {
    const reference* const found = all.find("memory.leak", "a", here);
    return found == nullptr ? -1 : found->distance;
  }
};

using labels_of = std::vector<std::string>;

TEST_F(nearest_stack, of_the_same_architecture_and_minor_version_judges) {
  const auto folder = record_arms(keys("13.1.0"), {shows(no_memory)});
  record_arms(keys("13.2.0"), {shows(internal)});
  const baselines all = recorded();
  stack_keys here = keys("13.1.5");
  here["driver"] = "590.2";
  const reference* const found = all.find("memory.leak", "a", here);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->distance, 0);
  EXPECT_FALSE(found->undefined);
  ASSERT_EQ(found->from.size(), 1U);
  EXPECT_EQ(found->from[0].stack, "H200, cuBLAS 13.1.0");
  EXPECT_EQ(found->from[0].shown->source, (folder / "memory.jsonl").string() + ":1");
  EXPECT_EQ(describe(found->from[0].seen), describe(arm_plateaus(shows(no_memory))));
  EXPECT_TRUE(found->from[0].counts.empty());
  EXPECT_EQ(all.find("memory.leak", "a", here), found) << "is looked up once";
  EXPECT_EQ(all.find("memory.leak", "none", here), nullptr);
  EXPECT_EQ(all.find("none.leak", "a", here), nullptr);
  EXPECT_EQ(distance_of(all, {}), 0) << "a machine that lost its GPU";
}

TEST_F(nearest_stack, is_the_nearest_version_below_and_above) {
  for (const char* version : {"12.0.1", "12.4.5", "12.8.4", "13.1.0", "13.5.0", "13.10.0"})
    record_arms(keys(version), {shows(no_memory)});
  const baselines all = recorded();
  EXPECT_EQ(labels(all, keys("13.2.0")), (labels_of{"H200, cuBLAS 13.1.0", "H200, cuBLAS 13.5.0"}));
  EXPECT_EQ(labels(all, keys("13.9.0")), (labels_of{"H200, cuBLAS 13.5.0", "H200, cuBLAS 13.10.0"}));
  EXPECT_EQ(labels(all, keys("12.9.1")), labels_of{"H200, cuBLAS 12.8.4"}) << "only below";
  EXPECT_EQ(labels(all, keys("13.0.0")), labels_of{"H200, cuBLAS 13.1.0"}) << "only above";
  EXPECT_EQ(distance_of(all, keys("13.2.0")), 10);
  EXPECT_EQ(labels(all, keys("14.0.0")), labels_of()) << "another major version says nothing";
}

TEST_F(nearest_stack, of_another_architecture_predicts_where_none_is_of_this_one) {
  record_arms(keys("13.1.0"), {shows(no_memory)});
  record_arms(keys("13.5.0"), {shows(internal)});
  record_arms(keys("13.1.0", "12.0"), {shows(success)}, "RTX 5090");
  const baselines all = recorded();
  EXPECT_EQ(labels(all, keys("13.1.0", "12.1")), labels_of{"RTX 5090, cuBLAS 13.1.0"})
      << "the same generation";
  EXPECT_EQ(distance_of(all, keys("13.1.0", "12.1")), 100);
  EXPECT_EQ(labels(all, keys("13.2.0", "8.0")), (labels_of{"H200, cuBLAS 13.1.0", "H200, cuBLAS 13.5.0"}));
  EXPECT_EQ(distance_of(all, keys("13.2.0", "8.0")), 210);
  EXPECT_EQ(distance_of(all, keys("13.1.0", "8.0")), 200);
}

TEST_F(nearest_stack, ignores_the_architecture_where_it_cannot_matter) {
  arm_result any = shows(internal);
  any.any_architecture = true;
  any.name = "any";
  record_arms(keys("13.1.0"), {on_the_host(no_memory), any});
  const baselines all = recorded();
  EXPECT_EQ(distance_of(all, keys("13.1.0", "8.0")), 0);
  EXPECT_EQ(all.find("memory.leak", "any", keys("13.1.0", "8.0"))->distance, 0);
  EXPECT_EQ(distance_of(all, keys("13.2.0", "8.0")), 10);
}

TEST_F(nearest_stack, of_the_own_baseline_comes_first) {
  record_arms(keys("13.1.0"), {shows(no_memory)}, "H200", "shipped");
  record_arms(keys("13.1.0"), {shows(internal)}, "H200 NVL", "own");
  const auto of = [&](const std::vector<const char*>& names) {
    std::vector<std::filesystem::path> folders;
    for (const char* name : names) folders.push_back(directory / name);
    return labels(baselines(folders), keys("13.1.0"));
  };
  EXPECT_EQ(of({"own", "shipped"}), labels_of{"H200 NVL, cuBLAS 13.1.0"});
  EXPECT_EQ(of({"shipped", "own"}), labels_of{"H200, cuBLAS 13.1.0"});
  EXPECT_EQ(of({"missing", "shipped"}), labels_of{"H200, cuBLAS 13.1.0"});
  EXPECT_EQ(of({"missing"}), labels_of());
}

TEST_F(nearest_stack, of_equal_distance_is_the_one_with_most_equal_keys) {
  stack_keys h100 = keys("13.1.0"), h200 = h100;
  h100["memory_gib"] = "79";
  h200["memory_gib"] = "139";
  record_arms(h100, {shows(no_memory)}, "H100");
  record_arms(h200, {shows(no_memory)}, "H200");
  const baselines all = recorded();
  EXPECT_EQ(labels(all, h100), labels_of{"H100, cuBLAS 13.1.0"});
  EXPECT_EQ(labels(all, h200), labels_of{"H200, cuBLAS 13.1.0"});
  h100["cublas"] = h200["cublas"] = "13.5.0";
  record_arms(h100, {shows(internal)}, "H100");
  record_arms(h200, {shows(internal)}, "H200");
  const baselines with_newer = recorded();
  h100["cublas"] = h200["cublas"] = "13.2.0";
  EXPECT_EQ(labels(with_newer, h100), (labels_of{"H100, cuBLAS 13.1.0", "H100, cuBLAS 13.5.0"}));
  EXPECT_EQ(labels(with_newer, h200), (labels_of{"H200, cuBLAS 13.1.0", "H200, cuBLAS 13.5.0"}));
}

TEST_F(nearest_stack, pools_trials_of_arms_that_race) {
  const auto racing = [](std::size_t failures, std::size_t successes) {
    arm_result a = expected(arm(arm_kind::fault, std::vector(failures, trial({no_memory})), "a"));
    a.trials.resize(failures + successes, trial({success}));
    a.races = "chance";
    return a;
  };
  record_arms(keys("13.1.0"), {racing(3, 1)}, "H100");
  record_arms(keys("13.1.1"), {racing(1, 5)}, "H200");
  record_arms(keys("13.2.0"), {racing(0, 9)}, "H200");
  const baselines all = recorded();
  const expectation& e = all.find("memory.leak", "a", keys("13.1.0"))->from.at(0);
  EXPECT_EQ(e.shown->trials.size(), 10U) << "of both stacks of distance 0, and of no other";
  EXPECT_EQ(e.counts, (std::vector{6, 4}));
  ASSERT_EQ(e.seen.size(), 2U);
  EXPECT_EQ(e.seen[0].seen, signature_of(trial({success})));
}

TEST_F(nearest_stack, says_that_an_outcome_is_not_defined) {
  arm_result undefined = shows(no_memory);
  undefined.expected = false;
  record_arms(keys("13.1.0"), {undefined});
  EXPECT_TRUE(recorded().find("memory.leak", "a", keys("13.1.0"))->undefined);
  EXPECT_TRUE(recorded().find("memory.leak", "a", keys("13.2.0"))->undefined) << "nobody defines it";
  record_arms(keys("13.5.0"), {shows(internal)});
  const baselines all = recorded();
  EXPECT_TRUE(all.find("memory.leak", "a", keys("13.1.0"))->undefined);
  EXPECT_FALSE(all.find("memory.leak", "a", keys("13.2.0"))->undefined);
  EXPECT_EQ(labels(all, keys("13.2.0")), labels_of{"H200, cuBLAS 13.5.0"});
}

TEST_F(nearest_stack, knows_nothing_by_trials_that_cannot_be_compared) {
  record_arms(keys("13.1.0"), {expected(arm(arm_kind::fault, {not_provoked("no memory")}, "a"))});
  EXPECT_EQ(recorded().find("memory.leak", "a", keys("13.1.0")), nullptr);
}

TEST_F(nearest_stack, names_the_versions_that_count) {
  stack_keys with = keys("13.1.0");
  with["pytorch"] = "2.11.0";
  with["other_cublas"] = "12.4.5";
  record_arms(with, {shows(no_memory)}, "H200", "recorded", "pytorch.leak");
  arm_result beside_another = shows(no_memory);
  beside_another.name = "b";
  beside_another.second_cublas = true;
  record_arms(with, {shows(no_memory), beside_another});
  const baselines all = recorded();
  EXPECT_EQ(all.find("pytorch.leak", "a", with)->from.at(0).stack, "H200, PyTorch 2.11.0, cuBLAS 13.1.0");
  EXPECT_EQ(labels(all, with), labels_of{"H200, cuBLAS 13.1.0"});
  EXPECT_EQ(all.find("memory.leak", "b", with)->from.at(0).stack,
            "H200, cuBLAS 13.1.0, second cuBLAS 12.4.5");
  with["pytorch"] = "2.12.0";
  EXPECT_EQ(all.find("pytorch.leak", "a", with)->distance, 10);
  with.erase("pytorch");
  EXPECT_EQ(all.find("pytorch.leak", "a", with)->distance, 0) << "a key that this stack lacks";
}

TEST_F(nearest_stack, is_found_among_good_lines_and_bad_ones_are_problems) {
  const auto folder = record_arms(keys("13.1.0"), {shows(no_memory)});
  std::ofstream(folder / "memory.jsonl", std::ios::app) << "{\"case\":\"memory.leak\",\"arm\":\"b\"}\n";
  const baselines all = recorded();
  EXPECT_TRUE(all.problems().empty()) << "nothing was read";
  EXPECT_EQ(distance_of(all, keys("13.1.0")), 0);
  EXPECT_EQ(all.problems(),
            std::vector{(folder / "memory.jsonl").string() + ":2: top level: \"kind\" is missing"});
  EXPECT_EQ(all.find("memory.leak", "b", keys("13.1.0")), nullptr);
  std::ofstream(folder / "stack.json") << "{}";
  const baselines without = recorded();
  ASSERT_EQ(without.problems().size(), 1U);
  EXPECT_TRUE(without.problems()[0].starts_with((folder / "stack.json").string() + ":1: "))
      << without.problems()[0];
  EXPECT_EQ(without.find("memory.leak", "a", keys("13.1.0")), nullptr) << "the stack is left out";
}

TEST_F(nearest_stack, of_other_architectures_has_no_bracket_over_two_of_them) {
  const auto on = [](const char* cublas, const char* capability) {
    stack_keys all = keys(cublas);
    all["compute_capability"] = capability;
    return all;
  };
  record_arms(on("13.1.0", "8.0"), {shows(no_memory)}, "A100");
  record_arms(on("13.10.0", "9.0"), {shows(internal)}, "H100");
  const baselines all = recorded();
  EXPECT_EQ(labels(all, on("13.5.0", "10.0")).size(), 1U);
}

TEST_F(nearest_stack, is_another_where_one_is_left_out) {
  record_arms(keys("13.2.0"), {shows(internal)});
  const auto folder = record_arms(keys("13.1.0"), {shows(no_memory)});
  baselines all = recorded();
  EXPECT_EQ(distance_of(all, keys("13.1.0")), 0);
  all.leave_out([&](const std::string& name, const stack_keys&) { return name == folder.filename(); });
  EXPECT_EQ(distance_of(all, keys("13.1.0")), 10);
  EXPECT_EQ(labels(all, keys("13.1.0")), labels_of{"H200, cuBLAS 13.2.0"});
}

}  // namespace
}  // namespace cufault
