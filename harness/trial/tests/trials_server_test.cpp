// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The check after each trial of a shared process, on a fake GPU (trials_host.cpp has the arms): only damage ends the process.
#include "harness/run/runner.hpp"
#include "harness/run/shared_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class process_health : public testing::Test {
 protected:
  /// `alone`: no other trial uses the GPU.
  observation seen_by(const std::string& arm_name, bool alone = true) {
    const arm a{.name = arm_name,
                .needs = arm_name.starts_with("host_") ? need::host : need::gpu,
                .environment = {{"ROAD_SET", "before"}},
                .shares_process = true};
    runner_options options;
    options.shared = &shared;
    options.shared_command = [](const arm&) {
      return std::vector<std::string>{TRIALS_HOST, std::to_string(getpid()), FAKE_CUBLAS};
    };
    options.shared_request = [&](const failure_case& c, const arm& asked, int) {
      return nlohmann::json{{"case", c.name}, {"arm", asked.name}, {"seed", 1}, {"alone", alone}}.dump();
    };
    return run_trial({.name = "road.health"}, a, std::nullopt, 0, options);
  }
  /// Runs a trial, and returns its process.
  double process_of(const std::string& arm_name, bool alone = true) {
    const observation seen = seen_by(arm_name, alone);
    EXPECT_EQ(seen.ended, outcome::completed) << arm_name << ": " << seen.why << seen.stderr_text;
    EXPECT_EQ(seen.calls.size(), 1U) << arm_name;
    last_error_before = measured(seen, "last error before");
    return measured(seen, "process");
  }

  /// The trial is the last one of its process, and the reason is counted.
  void expect_damage(const std::string& arm_name, const std::string& why, bool alone = true) {
    const std::string healthy = arm_name.starts_with("host_") ? "host_nothing" : "nothing";
    const double before = process_of(healthy, alone);
    EXPECT_EQ(process_of(arm_name, alone), before) << arm_name;
    EXPECT_NE(process_of(healthy, alone), before) << arm_name;
    const shared_process::counts counts = end_process();
    EXPECT_THAT(counts.damaged, ElementsAre("road.health/" + arm_name + ": " + why));
    EXPECT_EQ(counts.trials, 3U);
    EXPECT_EQ(counts.processes, 2U);
  }

  /// The process continues, and nothing is counted.
  void expect_health(const std::string& arm_name, bool alone = true) {
    const std::string healthy = arm_name.starts_with("host_") ? "host_nothing" : "nothing";
    const double before = process_of(healthy, alone);
    EXPECT_EQ(process_of(arm_name, alone), before) << arm_name;
    EXPECT_EQ(process_of(healthy, alone), before) << arm_name;
    const shared_process::counts counts = end_process();
    EXPECT_THAT(counts.damaged, IsEmpty()) << arm_name;
    EXPECT_EQ(counts.trials, 3U);
    EXPECT_EQ(counts.processes, 1U);
  }

  shared_process::counts end_process() {
    shared.retire();
    return shared.take_counts();
  }

  static double measured(const observation& seen, const std::string& name) {
    for (const measurement& m : seen.measurements)
      if (m.name == name) return m.value;
    ADD_FAILURE() << name << " was not measured";
    return -1;
  }

  shared_process shared;
  double last_error_before = 0;  ///< of the latest trial, when it began
};

// ---- the last error ----

TEST_F(process_health, ends_with_a_trial_that_leaves_an_error) {
  expect_damage("error", "the last error is cudaErrorInvalidDevice");
  expect_damage("host_error", "the last error is cudaErrorInvalidDevice");
}

TEST_F(process_health, survives_a_trial_that_fetches_its_error) {
  expect_health("error_fetched");
  expect_health("host_error_fetched");
}

TEST_F(process_health, allows_the_error_of_an_absent_driver_where_no_gpu_is_needed) {
  expect_damage("no_driver", "the last error is cudaErrorInsufficientDriver");
  expect_damage("no_device", "the last error is cudaErrorNoDevice");
  expect_health("host_no_driver");
  expect_health("host_no_device");
}

TEST_F(process_health, is_checked_without_leaving_an_error) {
  const double before = process_of("refused_pools");
  EXPECT_EQ(process_of("nothing"), before);
  EXPECT_EQ(last_error_before, 0);
}

// ---- the product ----

TEST_F(process_health, ends_with_a_trial_that_breaks_our_product) {
  expect_damage("wrong_product", "a product of ours came to wrong numbers");
  // The trial checked its context, which left the error.
  expect_damage("failing_product", "the last error is cudaErrorIllegalAddress");
}

TEST_F(process_health, ends_with_a_trial_whose_work_fails_when_it_is_waited_for) {
  expect_damage("failing_synchronisation", "cudaDeviceSynchronize returns cudaErrorLaunchFailure");
  expect_damage("product_wrong_late", "a product of ours came to wrong numbers");
  expect_damage("product_failing_late", "a product of ours came to cudaErrorIllegalAddress");
}

TEST_F(process_health, survives_a_trial_that_mends_our_product) {
  expect_health("product_mended");
}

TEST_F(process_health, of_the_host_has_no_product_and_no_memory) {
  expect_health("host_wrong_product");
  expect_health("host_failing_synchronisation");
  expect_health("host_memory_more_than_4_gib");
}

// ---- memory ----

TEST_F(process_health, ends_with_a_trial_that_keeps_memory) {
  expect_damage("memory_more_than_256_mib", "268435457 bytes of device memory less are free");
  expect_damage("memory_more_than_4_gib", "4294967297 bytes of device memory less are free", false);
}

TEST_F(process_health, survives_a_trial_that_keeps_what_loading_kernels_takes) {
  expect_health("memory_256_mib");
  expect_health("memory_4_gib", false);
}

TEST_F(process_health, ends_when_several_trials_together_keep_memory) {
  const double before = process_of("memory_200_mib");
  EXPECT_EQ(process_of("memory_200_mib"), before);
  EXPECT_NE(process_of("nothing"), before);
  EXPECT_THAT(end_process().damaged,
              ElementsAre("road.health/memory_200_mib: 419430400 bytes of device memory less are free"));
}

TEST_F(process_health, survives_a_trial_whose_memory_comes_back_late_but_in_time) {
  expect_health("memory_freed_late");
  expect_health("memory_of_pool_freed_late");
}

TEST_F(process_health, ends_with_a_trial_whose_memory_comes_back_too_late) {
  expect_damage("memory_freed_too_late", "8589934592 bytes of device memory less are free");
}

TEST_F(process_health, survives_memory_that_others_free) {
  expect_health("memory_of_others_freed");
}

TEST_F(process_health, ends_with_a_trial_that_keeps_memory_of_a_pool) {
  expect_damage("memory_of_pool", "1 bytes of the device's memory pool were not given back");
  expect_damage("memory_of_graphs", "2 bytes of the device's memory pool were not given back");
}

TEST_F(process_health, ends_with_a_trial_that_leaves_another_device_current) {
  expect_damage("device", "device 1 is current");
  expect_health("device_set_back");
}

// ---- the environment ----

TEST_F(process_health, ends_with_a_trial_that_changes_the_environment) {
  expect_damage("variable_added", "the environment has ROAD_ADDED");
  expect_damage("variable_changed", "the environment has ROAD_SET");
  expect_damage("variable_removed", "the environment lacks a variable");
  expect_damage("host_variable_changed", "the environment has ROAD_SET");
}

TEST_F(process_health, survives_a_trial_that_restores_the_environment) {
  expect_health("variables_restored");
}

// ---- processes ----

TEST_F(process_health, ends_with_a_trial_that_leaves_a_process_that_is_no_child_of_it) {
  const double before = process_of("nothing");
  const observation seen = seen_by("orphan");
  EXPECT_EQ(measured(seen, "process"), before);
  EXPECT_EQ(seen.ended, outcome::harness_failed);
  EXPECT_EQ(seen.why, "the trial left 1 processes running");
  EXPECT_NE(process_of("nothing"), before);
  EXPECT_THAT(end_process().damaged, ElementsAre("a trial left processes running"));
}

TEST_F(process_health, is_not_checked_after_a_crash) {
  const double before = process_of("nothing");
  const observation seen = seen_by("crash");
  EXPECT_EQ(measured(seen, "process"), before);
  EXPECT_EQ(seen.ended, outcome::crashed);
  EXPECT_NE(process_of("nothing"), before);
  const shared_process::counts counts = end_process();
  EXPECT_THAT(counts.damaged, IsEmpty());
  EXPECT_EQ(counts.processes, 2U);
}

}  // namespace
}  // namespace cufault
