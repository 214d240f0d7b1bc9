// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Stands in for inject.cpp where there was no cuda.h to build the injector from.
#include "harness/cli/bisect.hpp"
#include "harness/cli/cli.hpp"

namespace cufault {
namespace {

constexpr auto build_it_with_headers =
    "this cufault was built without cuda.h and has no injector; build it where CMake finds one: ci/suite "
    "--cuda";

}  // namespace

std::string inject_help() {
  return std::string(build_it_with_headers) + "\n";
}

std::vector<std::string> injectable_libraries() {
  return {};
}

std::set<std::string> libraries_asked_for(const std::vector<std::string>&) {
  throw usage_error(build_it_with_headers);
}

int inject(const inject_arguments&) {
  throw usage_error(build_it_with_headers);
}

int bisect_releases(const bisect_arguments&) {
  throw usage_error(build_it_with_headers);
}

int sweep_program(const program_sweep_arguments&) {
  throw usage_error(build_it_with_headers);
}

int trace_command(const trace_arguments&) {
  throw usage_error(build_it_with_headers);
}

int why_command(const why_arguments&, const diagnosis*, std::set<std::string>*) {
  throw usage_error(build_it_with_headers);
}

}  // namespace cufault
