// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/stack.hpp"

#include "harness/cli/cli.hpp"
#include "harness/system/process.hpp"

#include <nlohmann/json.hpp>

#include <iostream>
#include <string>

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

}  // namespace cufault
