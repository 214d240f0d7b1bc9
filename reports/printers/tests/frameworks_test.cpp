// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/frameworks.hpp"

#include "reports/printers/tests/record_example.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <sstream>
#include <string>

namespace cufault {
namespace {

using namespace examples;
using testing::HasSubstr;
using testing::Not;

call_record raised(const std::string& status, const std::string& exception, bool after_remedy = false) {
  call_record c = call("torch.matmul", status, after_remedy);
  c.what.name.variant = "fp32";
  c.what.facts["exception"] = exception;
  return c;
}
call_record next_product(std::string_view status) {
  call_record c = call("torch.matmul", status);
  c.what.name.variant = "next";
  return c;
}
observation made_of(std::vector<call_record> calls, const std::string& context = "usable") {
  observation o = trial({});
  o.calls = std::move(calls);
  o.context = context;
  return o;
}

/// A product behind a kernel that trapped; a new process clears that, and trying again does not.
record lost_process() {
  record r;
  *r.stack = {{"keys", {{"cublas", "13.1.0"}, {"pytorch", "2.11.0"}}}};
  call_record failed = raised(internal, "RuntimeError");
  failed.what.facts["named_call"] = "cublasCreate";
  auto fault = judged(arm_kind::fault, "matmul", verdict::reproduced,
                      {made_of({failed, next_product("cudaErrorLaunchFailure")}, "damaged")});
  fault.summary = "the first product behind the kernel";
  observation again =
      made_of({failed, raised("cudaErrorLaunchFailure", "AcceleratorError", true)}, "damaged");
  again.applied = "do it again";
  observation anew = made_of({failed, call("torch.matmul", right, true)});
  anew.applied = "a new process";
  r.cases = {
      {.name = "pytorch.kernel_trap",
       .arms = {judged(arm_kind::control, "control", verdict::ok, {made_of({call("torch.matmul", right)})}),
                fault, judged(arm_kind::dead_end, "matmul+retry", verdict::still_fails, {again}),
                judged(arm_kind::remedy, "matmul+new_process", verdict::cleared, {anew})}}};
  return r;
}

std::string printed_frameworks(const record& r) {
  std::ostringstream out;
  print_tables(out, frameworks_in(std::array{r}), 2, table_style::markdown);
  return out.str();
}

TEST(framework_table, says_what_had_happened_and_what_cleared_it) {
  const std::string page = printed_frameworks(lost_process());
  EXPECT_THAT(page, HasSubstr("## PyTorch 2.11.0, cuBLAS 13.1.0\n"));
  EXPECT_THAT(
      page, HasSubstr("| RuntimeError: CUBLAS_STATUS_INTERNAL_ERROR of cublasCreate | torch.matmul | "
                      "pytorch.kernel_trap | the first product behind the kernel | 3 | the process is lost: "
                      "the next product fails with cudaErrorLaunchFailure | a new process | do it again |"));
}

TEST(framework_table, has_lists_and_a_number_for_programs) {
  const auto json = to_json(frameworks_in(std::array{lost_process()}));
  const auto& failure = json["stacks"][0]["failures"][0];
  EXPECT_EQ(failure["trials"], 3);
  EXPECT_EQ(nlohmann::json(failure["operations"]), (nlohmann::json{"torch.matmul"}));
  EXPECT_EQ(nlohmann::json(failure["cleared_by"]), (nlohmann::json{"a new process"}));
  EXPECT_EQ(nlohmann::json(failure["not_cleared_by"]), (nlohmann::json{"do it again"}));
}

TEST(framework_table, shows_the_first_sentence_of_a_text_that_names_no_status) {
  record r = lost_process();
  auto& trials = r.cases[0].arms[1].trials;
  trials = {made_of({raised("OutOfMemoryError", "OutOfMemoryError"), next_product(right)})};
  trials[0].notes = {{"torch.matmul fp32", "CUDA out of memory. Tried to allocate 4096.00 GiB (of 80)"}};
  EXPECT_THAT(printed_frameworks(r),
              HasSubstr("| OutOfMemoryError: CUDA out of memory | torch.matmul | pytorch.kernel_trap | the "
                        "first product behind the kernel | 1 | the next product is right |  |  |"));
}

TEST(framework_table, tells_of_wrong_numbers_without_an_exception) {
  record r = lost_process();
  r.cases[0].arms[1].trials = {made_of({call("torch.matmul", wrong)})};
  EXPECT_THAT(printed_frameworks(r), HasSubstr("| no exception, and wrong numbers |"));
}

TEST(framework_table, asks_the_arm_that_a_remedy_from_the_start_answers) {
  record r = lost_process();
  observation avoided = made_of({call("torch.matmul", right, true)});
  avoided.applied = "blocking launches";
  auto& arms = r.cases[0].arms;
  arms.resize(2);
  arms.push_back(judged(arm_kind::remedy, "matmul+blocking_launches", verdict::cleared, {avoided}));
  arms.back().against = "matmul";
  EXPECT_THAT(printed_frameworks(r), HasSubstr("| blocking launches |  |"));
}

TEST(framework_table, leaves_out_what_is_no_failure_of_a_framework) {
  record r = lost_process();
  r.cases[0].arms.resize(2);
  r.cases[0].arms[1].trials = {made_of({call("torch.matmul", right), next_product(right)})};
  EXPECT_EQ(printed_frameworks(r), "");
  EXPECT_EQ(printed_frameworks(example_record()), "");
  record injected = lost_process();
  for (arm_result& arm : injected.cases[0].arms) arm.made_up = true;
  EXPECT_EQ(printed_frameworks(injected), "");
  record failed_control = lost_process();
  failed_control.cases[0].arms[0].judged = verdict::unresolved;
  EXPECT_EQ(printed_frameworks(failed_control), "");
}

TEST(framework_table, keeps_what_needs_no_place_in_a_cell_apart) {
  record r = lost_process();
  r.cases[0].arms[1].trials[0].calls[0].what.facts["exception"] = "A|B\nC";
  EXPECT_THAT(printed_frameworks(r), Not(HasSubstr("A|B")));
}

}  // namespace
}  // namespace cufault
