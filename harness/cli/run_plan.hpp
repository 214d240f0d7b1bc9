// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/cli.hpp"
#include "harness/cli/selection.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/scheduler.hpp"
#include "reports/evidence/baselines.hpp"
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

/// The jobs of a run, and what its arms came to.
class run_plan {
 public:
  /// Makes a job of each arm that can run here; what cannot has its result at once. `arguments`, `recorded` and what was selected are to
  /// outlive it. Throws as properties_of() does.
  run_plan(const run_arguments& arguments, const baselines& recorded, const record& of,
           const runner_options& options, const std::vector<selected_case>& selected);
  ~run_plan() = default;
  run_plan(const run_plan&) = delete;
  run_plan& operator=(const run_plan&) = delete;

  [[nodiscard]] const std::vector<job>& jobs() const { return jobs_; }
  /// One for each job, in the same order.
  [[nodiscard]] const std::vector<work_item>& items() const { return items_; }
  /// Cells of the matrix that are left out (is_left_out()).
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

  /// Judges what an arm of a job came to so far, and says whether it came out otherwise than recorded and can have further trials: arms with
  /// levels have several at their edge already.
  bool is_surprise(const job& j, arm_result& r) const;
  /// Judges an arm of a job: `index` is its place in the job. Once for each arm. What is returned is valid until case_if_ended()
  /// returns the case, or results().
  const arm_result& add_result(const job& j, std::size_t index, arm_result r);
  /// The case of a job, judged as a whole, if all of its arms have their results, else null. To be asked once after each job.
  const case_result* case_if_ended(const job& j);
  /// In the catalogue's order, whatever the one they came in. Of a case that was cut short, what there is.
  std::vector<case_result> results() &&;

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
  const baselines& recorded_;
  stack_keys keys_;
  std::vector<pending> cases_;
  std::vector<job> jobs_;
  std::vector<work_item> items_;
  std::size_t left_out_ = 0;
};

}  // namespace cufault
