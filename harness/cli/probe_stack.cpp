// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/command_line.hpp"
#include "harness/trial/stack_probe.hpp"

#include <memory>

namespace cufault {
namespace {

void add_probe(command_line& line) {
  const auto where = std::make_shared<target>();
  add_target(line.own_command("probe-stack", [where] { return probe_stack(*where); }), *where);
}

const register_command probe_stack_here{"probe-stack", add_probe, hidden};

}  // namespace
}  // namespace cufault
