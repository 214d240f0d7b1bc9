// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/machine.hpp"

#include <unistd.h>

#include <chrono>
#include <string_view>

namespace cufault {

machine this_machine() {
  machine m;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != text.npos) m.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  m.driver = ask_driver;
  m.management = ask_management;
  m.ask = [](const std::filesystem::path& file) { return ask_library(file, std::chrono::seconds(10)); };
  return m;
}

}  // namespace cufault
