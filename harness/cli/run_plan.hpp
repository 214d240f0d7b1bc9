// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What a run has to do, and what came of it so far.
#pragma once

#include "harness/cli/cli.hpp"
#include "harness/cli/selection.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/scheduler.hpp"
#include "reports/model/expectation.hpp"
#include "reports/model/record.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

/// An arm to run, or all of a batch, and where they stand in what was selected.
struct job {
  std::size_t case_index = 0;
  const failure_case* of = nullptr;
  std::vector<std::pair<std::size_t, const arm*>> arms{};  ///< index in what was selected of the case
  [[nodiscard]] std::string name() const;                  ///< "memory.handle_leak/control and 3 more"
};

/// The arm, with no more trials than this run takes of one that races.
arm as_often_as_asked(arm a, const run_arguments& arguments);

class run_plan {
 public:
  /// Makes a job of each arm that can run here; what cannot is over at once. `arguments`, `expected` and what was selected are to outlive it.
  run_plan(const run_arguments& arguments, const expectation_set& expected, const record& of,
           const runner_options& options, const std::vector<selected_case>& selected);

  [[nodiscard]] const std::vector<job>& jobs() const { return jobs_; }
  [[nodiscard]] const std::vector<work_item>& items() const {
    return items_;
  }                                                                 ///< as many, of the same order
  [[nodiscard]] std::size_t left_out() const { return left_out_; }  ///< cells that nothing is asked of

  /// What an arm of a job showed, judged: `index` is its place in the job. Borrowed until finished_case() or in_order().
  const arm_result& over(const job& j, std::size_t index, std::vector<observation> trials);
  /// The case of a job, judged, if no arm of it is left.
  const case_result* finished_case(const job& j);
  /// Results in the catalogue's order, whatever the one they came in. Of a case that was cut short, what there is.
  std::vector<case_result> in_order();

 private:
  struct pending {
    case_result result;
    std::vector<std::optional<arm_result>> arms;
    std::size_t left = 0;
  };
  void take_up(const selected_case& s, const runner_options& options);
  void add_job(const selected_case& s, std::size_t index, const arm& a, double weight, bool squeezes);
  [[nodiscard]] bool is_left_out(const selected_case& s, const arm& a) const;
  void finish(pending& p) const;

  const run_arguments& arguments_;
  const expectation_set& expected_;
  stack_keys keys_;
  std::string folder_;  // of the stack
  std::vector<pending> cases_;
  std::vector<job> jobs_;
  std::vector<work_item> items_;
  std::size_t left_out_ = 0;
};

}  // namespace cufault
