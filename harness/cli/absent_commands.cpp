// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Stands in for the files of commands that a build with CUFAULT_ANSWERS_ONLY, that of the Python package, leaves out.
#include "harness/cli/bisect.hpp"
#include "harness/cli/command_line.hpp"

namespace cufault {

void add_run(command_line& line) {
  for (const char* const name :
       {"run", "sweep", "baseline", "matrix", "cost", "diff", "gate", "merge", "history", "report", "bisect",
        "node", "ctest-files", "preflight", "resources", "floor"})
    line.command(name, "(in a build of the source tree: ci/suite)", "", [] { return 0; })
        ->preparse_callback([name](std::size_t) {
          throw usage_error(
              fmt::format("cufault {0} is not in this package; a build of the source tree has it: "
                          "ci/suite, then build/bin/cufault {0}",
                          name));
        });
}

void add_sweep(command_line&) {}
void add_baseline_commands(command_line&) {}
void add_matrix(command_line&) {}
void add_cost(command_line&) {}
void add_compare_commands(command_line&) {}
void add_bisect(command_line&) {}
void add_node(command_line&) {}
void add_ctest_commands(command_line&) {}

}  // namespace cufault
