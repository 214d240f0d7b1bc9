// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/sweep_codes.hpp"

#include "harness/injector/driver_functions.hpp"

namespace cufault::sweeping {

std::vector<std::string> codes_for(std::string_view function) {
  std::vector<std::string> codes;
  for (const char* code : {"OUT_OF_MEMORY", "INVALID_VALUE", "NOT_INITIALIZED", "LAUNCH_FAILED", "UNKNOWN"})
    if (injector::can_return(function, *injector::driver_code(code))) codes.emplace_back(code);
  if (codes.empty()) codes.emplace_back("UNKNOWN");
  return codes;
}

}  // namespace cufault::sweeping
