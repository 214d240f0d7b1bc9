// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// Removes the settings for cufault that this process inherited (CUFAULT_TIER, CUFAULT_RULES, ...).
inline void forget_settings_of_cufault() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (variable.starts_with("CUFAULT_") && !variable.starts_with("CUFAULT_TESTED_"))
      names.emplace_back(variable.substr(0, variable.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

}  // namespace cufault
