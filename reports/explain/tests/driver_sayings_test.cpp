// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What a sweep came to beside nature: reports/answers/tests/atlas.txt.
#include "reports/explain/driver_sayings.hpp"

#include "reports/explain/tests/examples.hpp"

#include <gtest/gtest.h>

namespace cufault {
namespace {

const driver_message out_of_memory{.function = "cuMemAlloc_v2", .code = "OUT_OF_MEMORY"},
    no_context{.function = "cuCtxGetDevice_v2", .code = "INVALID_CONTEXT", .text = "No context"},
    no_handle{.function = "cuEventRecord", .code = "INVALID_HANDLE"};

call_record call(bool ok, std::vector<driver_message> said) {
  call_record c;
  c.what = {.name = {"cublasCreate"},
            .status = ok ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_ALLOC_FAILED",
            .ok = ok};
  c.driver = std::move(said);
  return c;
}

observation trial_of(std::vector<call_record> calls) {
  observation o;
  o.calls = std::move(calls);
  o.ended = outcome::completed;
  return o;
}

/// A control in which the driver says that there is no context, and one arm with these calls, by a run that heard the log.
record with(std::vector<call_record> calls, const std::string& heard = driver_log_heard) {
  arm_result control{.name = "control", .kind = arm_kind::control}, fault{.name = "full"};
  control.trials.push_back(trial_of({call(true, {no_context})}));
  run_of_trials run;
  run.driver_log = heard;
  run.trials = 1;
  fault.runs.push_back(run);
  fault.trials.push_back(trial_of(std::move(calls)));
  record r;
  r.cases.push_back({.name = "memory.create_under_pressure", .arms = {control, fault}});
  return r;
}

TEST(driver_sayings, count_the_first_message_of_a_failed_call_that_no_control_has) {
  const std::vector records{
      with({call(true, {out_of_memory}), call(false, {no_context, out_of_memory}), call(false, {})})};
  const driver_sayings said = driver_sayings_in(records, {});
  ASSERT_EQ(said.all.size(), 2U);
  EXPECT_EQ(said.all[0].said, out_of_memory);
  EXPECT_EQ(said.all[0].failed, 1U);
  EXPECT_EQ(said.all[0].succeeded, 1U);
  EXPECT_EQ(said.all[0].behind.at("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED"), 1U);
  EXPECT_EQ(said.all[1].said, no_context);
  EXPECT_EQ(said.all[1].failed, 0U);
  EXPECT_EQ(said.all[1].succeeded, 1U);
  EXPECT_EQ(said.heard, 1U);
  EXPECT_EQ(said.silent, 1U);
}

TEST(driver_sayings, say_nothing_of_runs_that_did_not_listen) {
  const std::vector records{with({call(false, {})}, "")};
  const driver_sayings said = driver_sayings_in(records, {});
  EXPECT_EQ(said.heard + said.silent, 0U);
}

TEST(driver_sayings, are_not_of_what_is_made_up) {
  std::vector records{with({call(false, {out_of_memory})})};
  records[0].cases[0].arms[1].made_up = true;
  EXPECT_EQ(driver_sayings_in(records, {}).heard, 0U);
}

TEST(driver_sayings, count_the_trials_alone_that_heard_the_log) {
  std::vector records{with({call(false, {})})};
  arm_result& arm = records[0].cases[0].arms[1];
  run_of_trials before;
  before.trials = 1;
  arm.runs.insert(arm.runs.begin(), before);
  arm.trials.push_back(arm.trials[0]);
  EXPECT_EQ(driver_sayings_in(records, {}).silent, 1U);
}

TEST(driver_sayings, are_one_where_only_numbers_differ) {
  driver_message one{.text = "size 4096 at 0x7fa0, exceeds 10"}, other{.text = "size 1 at 0xbeef, exceeds 7"};
  EXPECT_EQ(general_text(one.text), "size N at N, exceeds N");
  EXPECT_EQ(general_text("Kernel ($__internal_23_$__cuda_sm20_rem_u64) cannot be found in library; "
                         "Kernel (_Z8a_kernelPi) cannot be found in library"),
            "Kernel (NAME) cannot be found in library");
  EXPECT_EQ(general_text("Kernel ($_Z20reduce_1Block_kernelIfLi128"), "Kernel (NAME)");
  EXPECT_EQ(general_text("N of (a name)"), "N of (a name)");
  const std::vector records{with({call(false, {one}), call(false, {other})})};
  EXPECT_EQ(driver_sayings_in(records, {}).all.size(), 2U);  // the control has the other
}

}  // namespace
}  // namespace cufault
