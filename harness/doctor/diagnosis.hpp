// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/doctor/probe.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace cufault {

/// What became of a probe.
struct probe_result {
  std::string name{}, what{};
  probe_report report{};
  std::string unanswered{};  ///< why it gave no report: it hung, or crashed
  double milliseconds = 0;
  [[nodiscard]] bool asked() const { return unanswered.empty() && report.not_asked.empty(); }
};

struct diagnosis {
  std::vector<probe_result> probes{};
  std::string command{};      ///< that ran once; empty for none
  int command_exit_code = 0;  ///< as of a shell
  [[nodiscard]] std::size_t count(finding_level level) const;
  [[nodiscard]] std::size_t asked() const;
  [[nodiscard]] std::size_t unanswered() const;
};

std::string plural_of(std::size_t count, std::string_view thing);  ///< "1 check", "2 checks"

/// Runs each probe in a process of its own, one after the other, and says of each remedy what the records say.
diagnosis examine(const std::vector<probe>& probes, const machine& m);

/// Library names that a trace saw: the rows of these are marked as loaded.
void add_loaded(diagnosis& d, const std::vector<std::string>& names);

/// 0 nothing would fail; 1 something would, or with `strict` anything was warned of or not answered; 2 no check was run.
int exit_code(const diagnosis& d, bool strict);
std::string verdict_of(
    const diagnosis& d);  ///< "failure", "warning", "ok", or "unchecked" where no check was run
std::string line_of(const diagnosis& d);  ///< the verdict for people: counts, and the worst finding

void print_findings(std::ostream& out, const diagnosis& d);  ///< all but the verdict
nlohmann::ordered_json diagnosis_json(const diagnosis& d, bool strict);

void print_library(std::ostream& out, const library_facts& facts, const library_answers& answers);
nlohmann::ordered_json library_json(const library_facts& facts, const library_answers& answers);

}  // namespace cufault
