// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What each cell comes to: reports/answers/tests/cells.txt.
#include "reports/matrix/observed_cells.hpp"

#include "reports/matrix/tests/matrix_example.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace cufault {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* lost = "CUBLAS_STATUS_EXECUTION_FAILED";

std::vector<observed_cell> cells_of_arms(std::vector<arm_result> arms) {
  const auto all =
      matrix_of(std::vector{matrix_record({{.name = "matrix.a_fault", .arms = std::move(arms)}})});
  return all.empty() ? std::vector<observed_cell>{} : all.front().cells;
}

/// Cells of one operation each, whose driver calls failed: INTERNAL_ERROR where cuMemAlloc_v2 did, else another status.
std::vector<arm_result> cells_with_words(bool all_heard) {
  std::vector<arm_result> arms;
  for (int i = 0; i < 8; ++i) {
    const bool memory = i % 2 == 0;
    auto failed = call("cublasSgemm", memory ? internal : lost);
    failed.driver = {{.function = memory ? "cuMemAlloc_v2" : "cuLaunchKernel", .code = "OUT_OF_MEMORY"}};
    arms.push_back(cell_arm("op" + std::to_string(i) + ".cold", {made({failed})}));
    run_of_trials run;
    run.driver_log = all_heard || i > 0 ? driver_log_heard : "";
    run.trials = 1;
    arms.back().runs = {run};
  }
  return arms;
}

TEST(conditions_of_cells, name_the_driver_call_that_failed) {
  const auto lines = describe(conditions_of(cells_of_arms(cells_with_words(true)), axis::operation), "cell");
  EXPECT_THAT(lines, testing::Contains(testing::HasSubstr(" returned OUT_OF_MEMORY: 4 cells")));
}

TEST(conditions_of_cells, do_not_where_the_log_of_some_was_not_heard) {
  for (const auto& line :
       describe(conditions_of(cells_of_arms(cells_with_words(false)), axis::operation), "cell"))
    EXPECT_THAT(line, testing::Not(testing::HasSubstr("returned")));
}

TEST(cells, have_the_facts_of_their_operation_in_the_control) {
  auto control = matrix_control();
  control.trials[0].calls[1].what.facts["workspace_used"] = true;  // one_kernel, warm
  const auto all = cells_of_arms(
      {control, cell_arm("sgemm_64.cold", {made({step_call("cublasSgemm", "one_kernel", internal)})}),
       cell_arm("sgemm_64.warm", {made({step_call("cublasSgemm", "one_kernel", internal)})}),
       cell_arm("other.warm", {made({step_call("cublasDgemm", "", internal)})})});
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_THAT(all[0].facts, IsEmpty());
  EXPECT_EQ(all[1].facts.at("workspace_used"), fact(false));
  EXPECT_EQ(all[2].facts.at("workspace_used"), fact(true));
}

// ---- all of it ----

std::vector<std::string> conditions_in(const std::vector<stack_matrix>& all, const std::string& fault) {
  std::vector<observed_cell> cells = all.at(0).cells;
  std::erase_if(cells, [&](const observed_cell& c) { return c.fault != fault || !c.at.remedy.empty(); });
  return describe(conditions_of(cells, axis::operation), "cell");
}

/// As `cufault run 'sweep.*/facts'` leaves it: the operation cold, warm, and by a handle with a workspace of the program.
case_result facts_of(const std::string& operation, const step_name& step, std::int64_t kernels,
                     std::int64_t cold_calls) {
  std::vector<call_record> calls;
  for (const std::int64_t driver_calls : {cold_calls, kernels}) {
    calls.push_back(step_call(step.api, step.variant, right));
    calls.back().what.facts = {
        {"driver_calls", driver_calls}, {"kernels", kernels}, {"memory_taken", std::int64_t{0}}};
  }
  calls.push_back(step_call(step.api, step.variant, right));
  calls.back().what.facts = {{"workspace_used", kernels > 1}};
  return {.name = "sweep." + operation, .arms = {arm(arm_kind::control, {made(calls)}, "facts")}};
}

TEST(matrix_of_records, has_facts_of_operations_from_where_nothing_fails) {
  auto cases = example_cases();
  for (case_result& c : cases) {
    c.arms.erase(c.arms.begin());  // its control, which has facts
    c.arms.push_back(arm(arm_kind::control, {made({step_call("cublasSgemm", "split_k", right)})}, "control"));
    c.arms.back().judged = verdict::ok;
  }
  const auto without = matrix_of(std::vector{matrix_record(cases)});
  for (const observed_cell& c : without.at(0).cells) EXPECT_THAT(c.facts, IsEmpty());
  cases.push_back(facts_of("sgemm_64", {"cublasSgemm", "one_kernel"}, 1, 20));
  cases.push_back(facts_of("sgemm_split_k_small", {"cublasSgemm", "split_k"}, 2, 40));
  const auto without_one = matrix_of(std::vector{matrix_record(cases)});
  EXPECT_THAT(conditions_in(without_one, "kernel_trap"),
              testing::Contains("EXECUTION_FAILED where no workspace used: 4 cells"))
      << "kernels of cublasCreate are not known, so that no number of them is a condition";
  cases.push_back(facts_of("cublas_create", {"cublasCreate"}, 0, 300));
  const auto all = matrix_of(std::vector{matrix_record(cases)});
  EXPECT_THAT(all.at(0).cells, SizeIs(without.at(0).cells.size())) << "a sweep has no cells";
  for (const observed_cell& c : all.at(0).cells) {
    if (c.at.operation == "sgemm_64") {
      EXPECT_EQ(c.facts.at("driver_calls"), fact(std::int64_t{c.at.state == "cold" ? 20 : 1}));
      EXPECT_EQ(c.facts.at("workspace_used"), fact(false)) << "in both states";
    }
  }
  EXPECT_THAT(
      conditions_in(all, "kernel_trap"),
      ElementsAre("INTERNAL_ERROR where workspace used: 4 cells", "NOT_INITIALIZED where kernels 0: 4 cells",
                  "else EXECUTION_FAILED: 4 cells",
                  "INTERNAL_ERROR or SUCCESS, then cudaErrorLaunchFailure of sgemm_64.cold.racing alone"));
  EXPECT_THAT(conditions_in(all, "full_device"),
              testing::Contains("ALLOC_FAILED where level 0 and workspace used: 2 cells"));
}

TEST(matrix_of_records, counts_the_driver_calls_of_a_cold_operation_by_its_sweep) {
  auto cases = example_cases();
  observation swept = made({});
  swept.measurements = {{"driver calls of a clean run", 29, ""}};
  observation later = made({});
  later.measurements = {{"driver calls of a clean run", 7, ""}};
  cases.push_back(
      {.name = "sweep.sgemm_64",
       .arms = {
           arm(arm_kind::control, {made({step_call("cublasSgemm", "one_kernel", right)})}, "nothing_fails"),
           arm(arm_kind::fault, {later}, "thin"), arm(arm_kind::fault, {swept}, "first_thin")}});
  const auto all = matrix_of(std::vector{matrix_record(cases)});
  ASSERT_FALSE(all.at(0).cells.empty());
  for (const observed_cell& c : all.at(0).cells) {
    const bool counted = c.at.operation == "sgemm_64" && c.at.state == "cold";
    EXPECT_EQ(c.facts.contains("driver_calls"), counted) << name_of(c);
    if (counted) {
      EXPECT_EQ(c.facts.at("driver_calls"), fact(std::int64_t{29}));
    }
  }
}

TEST(matrix_of_records, does_not_depend_on_any_order) {
  std::mt19937 random(2);  // NOLINT(cert-msc51-cpp): the same orders each time
  const auto text = [](const std::vector<stack_matrix>& all) {
    std::string t;
    for (const stack_matrix& m : all) {
      t += m.stack + "\n";
      for (const observed_cell& c : m.cells) t += name_of(c) + " " + shown_outcome(c) + " " + c.run + "\n";
      for (const axis along : {axis::operation, axis::fault})
        for (const auto& line : describe(conditions_of(m.cells, along), "cell")) t += line + "\n";
    }
    return t;
  };
  auto older = matrix_record({example_cases()[0]});
  older.started = "2026-11-21T00:00:00Z";
  for (arm_result& a : older.cases[0].arms)
    for (run_of_trials& r : a.runs) r.started = older.started;
  std::vector<record> records{matrix_record(example_cases()), older, matrix_record(example_cases(), "12.4.5"),
                              matrix_record({}, "12.0.1")};
  const std::string first = text(matrix_of(records));
  EXPECT_NE(first, "");
  for (int round = 0; round < 10; ++round) {
    std::shuffle(records.begin(), records.end(), random);
    for (record& r : records) {
      std::shuffle(r.cases.begin(), r.cases.end(), random);
      for (case_result& c : r.cases) std::shuffle(c.arms.begin(), c.arms.end(), random);
    }
    EXPECT_EQ(text(matrix_of(records)), first);
  }
}

}  // namespace
}  // namespace cufault
