// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Stands in for the files of commands that a build with CUFAULT_ANSWERS_ONLY, that of the Python package, leaves out.
#include "harness/cli/bisect.hpp"
#include "harness/cli/command_line.hpp"

#include <initializer_list>

namespace cufault {
namespace {

void add_absent(command_line& line, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    CLI::App* const c = line.command(name, "(in a build of the source tree: ci/suite)", "", [] { return 0; });
    c->preparse_callback([name](std::size_t) {
      throw usage_error(
          fmt::format("cufault {} is not in this package; a build of the source tree has it: "
                      "ci/suite, then build/bin/cufault {}",
                      name, name));
    });
  }
}

}  // namespace

void add_run(command_line& line) {
  add_absent(line, {"run"});
}
void add_sweep(command_line& line) {
  add_absent(line, {"sweep"});
}
void add_baseline_commands(command_line& line) {
  add_absent(line, {"baseline"});
}
void add_matrix(command_line& line) {
  add_absent(line, {"matrix"});
}
void add_cost(command_line& line) {
  add_absent(line, {"cost"});
}
void add_compare_commands(command_line& line) {
  add_absent(line, {"diff", "gate", "merge", "history", "report"});
}
void add_bisect(command_line& line) {
  add_absent(line, {"bisect"});
}
void add_node(command_line& line) {
  add_absent(line, {"node"});
}
void add_ctest_commands(command_line& line) {
  add_absent(line, {"ctest-files", "preflight", "resources", "floor"});
}

}  // namespace cufault
