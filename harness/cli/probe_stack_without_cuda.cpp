// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/command_line.hpp"
#include "harness/doctor/loader.hpp"
#include "harness/doctor/machine_stack.hpp"
#include "harness/system/process.hpp"
#include "reports/base/files.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace cufault {
namespace {

int serve_probe(const target& where) {
  machine m = this_machine();
  m.program = program_of(m, own_path());
  const std::filesystem::path cublas = where.cublas.empty() ? "" : std::filesystem::absolute(where.cublas);
  return write_all(report_fd, dump_json(stack_of(m, cublas, where.device))) ? 0 : 1;
}

void add_probe(command_line& line) {
  const auto where = std::make_shared<target>();
  add_target(line.own_command("probe-stack", [where] { return serve_probe(*where); }), *where);
}

const register_command probe_stack_here{"probe-stack", add_probe, hidden};

}  // namespace
}  // namespace cufault
