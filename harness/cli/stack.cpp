// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// stack, and for CTest: preflight and resources.
#include "harness/run/stack.hpp"

#include "harness/cli/cli.hpp"
#include "harness/run/resources.hpp"
#include "harness/system/process.hpp"
#include "reports/base/files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {

int show_stack(const target& where, bool json) {
  const interrupt_guard guard;
  const nvml management;
  nlohmann::json stack = read_stack(own_path(), where, management, guard.descriptor());
  if (json) {
    stack["schema"] = 1;
    print_json(stack);
  } else {
    print_stack(std::cout, stack);
  }
  return stack.value("error", std::string()).empty() ? 0 : exit_unresolved;
}

fs::path preflight_stamp(const fs::path& records) {
  return records / "preflight-stamp";
}

namespace {

std::string spec_of(const nlohmann::json& stack) {
  return resource_spec(stack.value("devices", std::vector<std::string>())).dump(2) + "\n";
}

void write_spec(const fs::path& file, const nlohmann::json& stack) {
  if (fs::exists(file) && !fs::is_regular_file(file))
    throw usage_error(fmt::format("{}: it is there and is not a file; give another path", file.string()));
  write_whole(file, spec_of(stack));
}

/// What a stack without a GPU comes to. Throws usage_error where libraries are wrong, or a GPU is required.
int code_of(const nlohmann::json& stack) {
  if (const std::string why = stack.value("error", std::string()); !why.empty()) throw usage_error(why);
  if (stack["gpu"].is_object()) return 0;
  const std::string why = stack.value("no_gpu", std::string("unknown"));
  if (gpu_required()) throw usage_error("CUFAULT_REQUIRE_GPU is set and there is no GPU: " + why, exit_gate);
  return exit_skipped;
}

}  // namespace

int preflight(const target& where, const fs::path& records, const fs::path& resources) {
  fs::create_directories(records);
  const nvml management;
  const nlohmann::json stack = read_stack(own_path(), where, management);
  write_whole(preflight_stamp(records), stack["gpu"].is_object() ? "gpu\n" : "no gpu\n");
  if (!resources.empty()) write_spec(resources, stack);
  print_stack(std::cout, stack);
  std::cout << std::flush;
  const int code = code_of(stack);
  if (code != 0)
    std::cout << fmt::format("no GPU: {}; only what needs none will run\n",
                             stack.value("no_gpu", std::string("unknown")));
  return code;
}

int write_resources(const target& where, const fs::path& file) {
  const nvml management;
  const nlohmann::json stack = read_stack(own_path(), where, management);
  const int code = code_of(stack);
  if (file.empty() || file == "-")
    std::cout << spec_of(stack);
  else
    write_spec(file, stack);
  return code;
}

}  // namespace cufault
