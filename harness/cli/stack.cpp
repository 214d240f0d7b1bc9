// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// stack, and for CTest: preflight.
#include "harness/run/stack.hpp"

#include "harness/cli/cli.hpp"
#include "harness/system/process.hpp"
#include "reports/base/files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <string>

namespace fs = std::filesystem;

namespace cufault {

int show_stack(const target& where, bool json) {
  const interrupt_guard guard;
  const nvml management;
  const nlohmann::json stack = read_stack(own_path(), where, management, guard.descriptor());
  if (json) {
    std::cout << stack.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    print_stack(std::cout, stack);
  }
  return stack.value("error", std::string()).empty() ? 0 : exit_unresolved;
}

fs::path preflight_stamp(const fs::path& records) {
  return records / "preflight-stamp";
}

int preflight(const target& where, const fs::path& records) {
  fs::create_directories(records);
  const nvml management;
  const nlohmann::json stack = read_stack(own_path(), where, management);
  const bool gpu = stack["gpu"].is_object();
  write_whole(preflight_stamp(records), gpu ? "gpu\n" : "no gpu\n");
  print_stack(std::cout, stack);
  std::cout << std::flush;
  if (const std::string why = stack.value("error", std::string()); !why.empty()) throw usage_error(why);
  if (gpu) return 0;
  const std::string why = stack.value("no_gpu", std::string("unknown"));
  if (gpu_required()) throw usage_error("CUFAULT_REQUIRE_GPU is set and there is no GPU: " + why, exit_gate);
  fmt::print("no GPU: {}; only what needs none will run\n", why);
  return exit_skipped;
}

}  // namespace cufault
