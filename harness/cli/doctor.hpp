// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/command_line.hpp"
#include "harness/doctor/measured.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cufault {

struct doctor_arguments {
  std::vector<std::string> command{};  ///< to run under the tracer; may be empty
  bool json = false, strict = false;
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
int run_doctor(const doctor_arguments& arguments);
int show_library(const library_arguments& arguments);

// What only a build with CUDA can do.
int serve_product(const target& where);  ///< a product; writes to report_fd which files are mapped after it

}  // namespace cufault
