// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/preloaded.hpp"

#include "harness/beside.hpp"
#include "harness/injector/cufault_injector.h"

#include <filesystem>

namespace cufault {

void under_injector(arm& a, const std::string& rules) {
  const std::filesystem::path library = beside_program("libcufault.so");
  a.preload.clear();
  if (!library.empty() && library.string().find_first_of(": ") == std::string::npos) a.preload = {library};
  a.environment["CUFAULT_RULES"] = rules;
  a.environment["CUFAULT_FAIL"] = "";
  a.environment["CUFAULT_STRICT"] = "1";  // without its rules it would be another arm
  a.environment["CUFAULT_LOG"] = "/dev/null";
}

void set_rules(const std::string& json) {
  if (PRELOADED(cufault_set_rules)(json.c_str()) != 0)
    throw setup_failed(std::string("libcufault.so: ") + PRELOADED(cufault_rules_error)());
}

}  // namespace cufault
