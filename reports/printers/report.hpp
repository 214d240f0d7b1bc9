// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/evidence/baselines.hpp"
#include "reports/judge/claims.hpp"
#include "reports/matrix/observed_cells.hpp"
#include "reports/printers/atlas.hpp"
#include "reports/printers/run_report.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cufault {

/// Where an arm that was tried at several levels stops failing.
struct memory_edge {
  std::string name{};   ///< CASE/ARM
  std::string stack{};  ///< letter of the stack
  double largest_failing = 0, smallest_succeeding = 0;
  std::string unit{};  ///< "MiB asked to stay free"
};

/// Handles that were created and not destroyed, and the device memory that each took.
struct leak_line {
  std::vector<std::string> names{};  ///< CASE/ARM: all that measured this
  std::string stack{};               ///< letter of the stack
  std::string what{};                ///< "device memory per handle with the setting"
  double handles = 0, bytes_per_handle = 0;
};

/// What a report over any number of records shows. Each printer writes one format of it; none of them reads records.
struct report {
  struct stack {
    std::string letter{};  ///< "a", in tables that name several stacks
    run_report run{};      ///< of each arm the latest run that observed it
    stack_keys keys{};     ///< and what is known of the libraries' files: "cublas file"
    std::string
        file{};  ///< the observations, beside the report: "records/h200-580.159.04-cublas-13.1.0.jsonl"
    std::size_t runs = 0;       ///< records of this stack
    std::string first, latest;  ///< when these began
  };
  std::vector<stack> stacks{};
  std::vector<stack_matrix> matrix{};
  std::vector<claim_verdict> claims{};
  cost_notes costs{};
  std::map<std::string, std::vector<swept_operation>> atlas{};  ///< by the stack's label
  std::vector<memory_edge> edges{};
  std::vector<leak_line> leaks{};
  std::vector<std::string> unread{};      ///< why files could not be read, a line each
  std::vector<std::string> incomplete{};  ///< records of runs that did not come to their end
};

/// A record to be written beside the report: what it shows of a stack.
struct report_file {
  std::string name{};  ///< "records/h200-580.159.04-cublas-13.1.0.jsonl"
  const record* observations = nullptr;
};

/// Takes records one at a time, and keeps of each arm of a stack the latest that was observed; of the others, only what they came to. The
/// order of records changes nothing.
class report_builder {
 public:
  report_builder();
  ~report_builder();
  report_builder(const report_builder&) = delete;
  report_builder& operator=(const report_builder&) = delete;
  void add(const std::string& name, record r);  ///< a name that was added before is passed over
  void add_unread(std::string why);
  [[nodiscard]] bool empty() const;  ///< no record was added
  /// Judges what is kept. To be called once, after the last record.
  report result(const baselines& recorded, const std::vector<claim>& claims, const cost_notes& costs = {});
  /// After result(). They point into this.
  [[nodiscard]] std::vector<report_file> files() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace cufault
