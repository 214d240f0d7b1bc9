// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/command_line.hpp"
#include "harness/doctor/diagnosis.hpp"
#include "harness/doctor/measured.hpp"
#include "reports/explain/explanation.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cufault {

struct doctor_arguments {
  std::vector<std::string> command{};  ///< to run once, as `cufault why` does; may be empty
  bool json = false, strict = false;
  bool verbose = false;  ///< of the command: what `trace` tells, too
};

struct library_arguments {
  std::filesystem::path file{};
  bool json = false;
  bool load = true;  ///< ask the library itself for its version
};

/// The commands doctor and library, and what doctor starts this program again for.
void add_doctor_commands(command_line& line);

/// What the records that come with cufault say; nothing where they cannot be read.
measured_facts measured_here();
known_issues_list known_issues_here();  ///< likewise
int run_doctor(const doctor_arguments& arguments);

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
int show_library(const library_arguments& arguments);

// What only a build with CUDA can do.
int serve_product(const target& where);  ///< a product; writes to report_fd which files are mapped after it

}  // namespace cufault
