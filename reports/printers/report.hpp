// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/evidence/baselines.hpp"
#include "reports/judge/claims.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/matrix/observed_cells.hpp"
#include "reports/printers/groups.hpp"
#include "reports/printers/run_report.hpp"
#include "reports/printers/table.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cufault {

/// A record that was read, of a run or of a stack.
struct report_run {
  std::string name{}, started{};
  std::string stack{}, gpu{};  ///< `stack` tells stacks apart
  std::size_t arms = 0;
  int exit_code = 2;
  bool complete = false, filed = false;  ///< filed: of a stack, which runs are judged by
  bool asked = false;                    ///< it was named as what to compare with
  /// As expected: a gate that passed, what is filed, or what somebody names.
  bool green = false;
};

/// Of a history: arms that did not always show the same, the one that changed last first.
struct report_trends {
  struct result {
    std::string seen{}, first{}, last{};  ///< when the first and the last of these runs started
    std::size_t runs = 0;
  };
  struct arm {
    std::string name{}, on{}, how{};
    bool on_all = false;            ///< over all stacks; else on one
    std::vector<result> results{};  ///< the most frequent first
  };
  std::vector<arm> arms{};
  std::size_t runs = 0;
  std::string first{}, last{};  ///< when the first and the last run started
};

/// What differs on the stack of the latest run from the last green run before it.
struct report_change {
  std::string letter{}, now{};              ///< of the stack: its letter, its label
  std::string green{}, started{}, label{};  ///< the green run's record, its start, its stack
  bool filed = false;                       ///< it is no run, but what is recorded of a stack
  std::vector<stack_difference> stacks{};   ///< green, now
  struct group {
    change_group of{};
    compared_arm what{};   ///< the first of its arms
    std::string repeat{};  ///< a command, of that one
  };
  std::vector<group> groups{};  ///< in the order of groups_of()
  std::size_t changed = 0, same = 0;
  std::size_t unknown = 0;  ///< arms that only one of the two observed
};

/// A part of a report that is as other commands print it: a line, a list, tables, and a line.
struct report_part {
  struct table {
    std::string title{};
    table_row head{};
    std::vector<table_row> rows{};
  };
  const char *id = "", *title = "";
  const char* otherwise = "";  ///< what stands there where there is no table
  std::string before{};
  std::vector<std::string> list{};
  std::vector<table> tables{};
  std::string after{};
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
  std::string command = "cufault report";
  std::vector<stack> stacks{};
  std::vector<report_run> runs{};          ///< by start
  std::optional<report_change> change{};   ///< nothing where there is no green run to compare with
  std::optional<report_trends> history{};  ///< of `cufault history`, where one was given
  std::vector<stack_matrix> matrix{};
  std::vector<report_part> parts{};       ///< memory, atlas, claims
  std::vector<std::string> unread{};      ///< why files could not be read, a line each
  std::vector<std::string> incomplete{};  ///< records of runs that did not come to their end
};

/// Of one run: `cufault run`. `file`: its record.
report report_of_run(run_report run, std::string file);

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
  /// A record to compare with, whose arms are not shown.
  void add_green(const std::string& name, const record& r);
  [[nodiscard]] bool empty() const;  ///< no record was added
  /// Judges what is kept. To be called once, after the last record.
  report result(const baselines& recorded, const std::vector<claim>& claims, const cost_notes& costs = {});
  /// After result(): the record that change_since() is to get: of those that were named or are of the same stack, or else of the same GPU,
  /// the latest green one before the latest run. Nothing where there is none.
  [[nodiscard]] std::optional<std::string> last_green(const report& all) const;
  [[nodiscard]] report_change change_since(const std::string& name, const record& green,
                                           const report& all) const;
  /// After result(). They point into this.
  [[nodiscard]] std::vector<report_file> files() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace cufault
