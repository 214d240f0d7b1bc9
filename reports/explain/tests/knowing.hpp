// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/explanation.hpp"
#include "reports/explain/tests/examples.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace cufault {

inline log_findings found_in(std::string_view text) {
  static event_finder finder(known());  // takes long to make
  finder.add(text);
  return finder.finish();
}

/// Explains by some records and the catalogue of failures.
struct knowing {
  explicit knowing(const std::vector<record>& records)
      : seen(evidence_in(records, known())),
        reports(reports_of_causes(load_failures(CUFAULT_FAILURES_FILE), known())) {}
  [[nodiscard]] explanation of(log_findings found, std::vector<machine_finding> machine = {}) const {
    return explain(std::move(found), {known(), seen, reports, std::move(machine)});
  }
  [[nodiscard]] explanation of(std::string_view text, std::vector<machine_finding> machine = {}) const {
    return of(found_in(text), std::move(machine));
  }
  evidence seen;
  std::vector<std::size_t> reports;
};

}  // namespace cufault
