// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/doctor/diagnosis.hpp"
#include "harness/doctor/measured.hpp"
#include "reports/explain/explanation.hpp"

#include <map>
#include <string>
#include <vector>

namespace cufault {

/// What the records that come with cufault say; nothing where they cannot be read.
measured_facts measured_here();

/// Releases of frameworks ("torch": "2.11.0") by the metadata in these folders; without folders on the path of the Python here. Empty without a
/// Python.
std::map<std::string, std::string> frameworks_in(const std::vector<std::string>& folders);

/// What `explain` and `why` use of the checks.
struct looked_at_machine {
  std::string driver{};             ///< "580.159.04"; empty where NVML does not say
  std::vector<std::string> gpus{};  ///< likewise
  std::string counts{};             ///< of findings
  std::vector<machine_finding> findings{};
};
/// Runs the checks, each for 5 s at most.
looked_at_machine look_at_machine();
/// Warnings and failures that name a case.
std::vector<machine_finding> findings_of_cases(const diagnosis& d);

}  // namespace cufault
