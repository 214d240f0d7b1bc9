// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What the committed records say of the findings.
#include "harness/doctor/measured.hpp"

#include "reports/judge/judge.hpp"
#include "reports/model/stack_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace cufault {
namespace {

measured_facts committed() {
  std::vector<record> records;
  for (const auto& stack : stacks_in(CUFAULT_RECORDED))
    for (const char* family : families_of_doctor) {
      records.push_back(load_family(stack, family));
      for (case_result& c : records.back().cases) judge(c, {}, keys_of(records.back()));
    }
  return facts_in(records);
}

// One test: reading all records is most of what it takes.
TEST(measured, of_the_committed_records_has_remedies_footprints_and_who_asked_for_a_variable) {
  const measured_facts facts = committed();
  for (const char* remedy :
       {"environment.driver_missing/drop_the_stub", "environment.driver_missing/find_the_driver",
        "environment.driver_missing/newer_driver", "environment.driver_mismatch/drop_compat",
        "environment.driver_mismatch/right_driver", "environment.hidden_devices/show_in_new_process",
        "environment.mixed_libraries/drop_folder", "environment.mixed_libraries/preload_right",
        "environment.wrong_code/force_no_longer", "environment.wrong_code/add_ptx",
        "sticky.device_fault/new_process_trap", "sticky.device_fault/new_process_illegal_address",
        "sticky.device_fault/new_process_misaligned_address", "sticky.device_fault/new_process_assertion",
        "memory.create_under_pressure/load_lazily_eager",
        "memory.create_under_pressure/end_other_process_and_retry_lazy"})
    EXPECT_TRUE(facts.cleared.contains(remedy)) << remedy << ", which a finding of the doctor names";
  EXPECT_FALSE(facts.cleared.contains("environment.driver_missing/retry_alone")) << "a dead end";

  std::set<bool> eager;
  for (const auto& f : facts.footprints) {
    eager.insert(f.eager);
    EXPECT_GT(f.bytes, 1U << 20) << f.arm;
    EXPECT_FALSE(f.cublas.empty());
  }
  EXPECT_EQ(eager.size(), 2U) << "footprints of both ways to load";

  ASSERT_TRUE(facts.asked.contains("CUBLAS_WORKSPACE_CONFIG"));
  EXPECT_TRUE(facts.asked.at("CUBLAS_WORKSPACE_CONFIG").contains("libcublas.so.13"));
  EXPECT_TRUE(facts.asked.contains("CUDA_VISIBLE_DEVICES"));
}

TEST(measured, takes_no_remedy_that_failed_once) {
  record r;
  arm_result arm;
  arm.name = "cure";
  arm.kind = arm_kind::remedy;
  call_record product;
  product.what.name.api = "cublasSgemm";
  product.what.status = "CUBLAS_STATUS_SUCCESS";
  product.what.ok = true;
  product.what.numbers = numbers_found::right;
  product.after_remedy = true;
  observation good;
  good.ended = outcome::completed;
  good.exit_code = 0;
  good.applied = "it";
  good.calls = {product};
  arm.trials = {good};
  arm.judged = verdict::cleared;
  r.cases = {{.name = "environment.made", .arms = {arm}}};
  EXPECT_TRUE(facts_in({r}).cleared.contains("environment.made/cure"));
  observation bad = good;
  bad.calls[0].what.status = "CUBLAS_STATUS_NOT_INITIALIZED";
  bad.calls[0].what.ok = false;
  r.cases[0].arms[0].trials.push_back(bad);
  EXPECT_FALSE(facts_in({r}).cleared.contains("environment.made/cure"));
  r.cases[0].arms[0].trials.pop_back();
  r.cases[0].arms[0].judged = verdict::not_provoked;
  EXPECT_FALSE(facts_in({r}).cleared.contains("environment.made/cure"));
}

}  // namespace
}  // namespace cufault
