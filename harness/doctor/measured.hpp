// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/record.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cufault {

/// What the records say that a doctor's findings rest on.
struct measured_facts {
  /// Remedies ("environment.driver_missing/drop_the_stub") that cleared their fault, and the stacks on which they did.
  std::map<std::string, std::set<std::string>> cleared{};
  /// Device memory that the first cublasCreate takes.
  struct footprint {
    std::string stack{}, arm{}, cublas{};
    bool eager = false;
    std::uint64_t bytes = 0;
  };
  std::vector<footprint> footprints{};
  /// Environment variables, and the libraries that were seen to ask for them.
  std::map<std::string, std::set<std::string>> asked{};
};

/// Of records that were judged. A remedy that any of its trials leaves failing has not cleared.
measured_facts facts_in(const std::vector<record>& judged);
/// The families of cases that have them.
inline constexpr const char* families_of_doctor[] = {"environment", "heuristic", "memory", "sticky"};

}  // namespace cufault
