// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/preloaded.hpp"

#include "harness/system/bundled_file.hpp"

#include <filesystem>

#include "cufault/cufault_injector.h"

namespace cufault {

namespace {

void add_preload(arm& a, const std::string& name) {
  const std::filesystem::path library = bundled_file(name);
  if (!library.empty() && library.string().find_first_of(": ") == std::string::npos)
    a.preload.push_back(library);
}

}  // namespace

void under_injector(arm& a, const std::string& rules, const std::vector<std::string>& libraries) {
  a.preload.clear();
  for (const std::string& library : libraries) add_preload(a, "libcufault_" + library + ".so");
  add_preload(a, "libcufault.so");
  a.environment["CUFAULT_RULES"] = rules;
  a.environment["CUFAULT_FAIL"] = "";
  a.environment["CUFAULT_STRICT"] = "1";  // fail rather than run without the rules
  a.environment["CUFAULT_LOG"] = "/dev/null";
}

void under_host_injector(arm& a, const std::string& rules) {
  under_injector(a, rules);
  add_preload(a, "libcufault_host.so");
}

void set_rules(const std::string& json) {
  if (CUFAULT_PRELOADED(cufault_set_rules)(json.c_str()) != 0)
    throw setup_failed(std::string("libcufault.so: ") + CUFAULT_PRELOADED(cufault_rules_error)());
}

}  // namespace cufault
