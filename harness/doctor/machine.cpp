// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/machine.hpp"

#include <unistd.h>

#include <chrono>
#include <string_view>
#include <system_error>

namespace cufault {

namespace {

/// The levels of the x86-64 psABI, by the features that tell one from the one below. The loader has none for other processors.
std::vector<std::string> hwcaps_here() {
  std::vector<std::string> levels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") == 0 || __builtin_cpu_supports("popcnt") == 0) return levels;
  levels.emplace_back("x86-64-v2");
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("bmi") == 0 ||
      __builtin_cpu_supports("bmi2") == 0 || __builtin_cpu_supports("fma") == 0)
    return levels;
  levels.insert(levels.begin(), "x86-64-v3");
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0)
    levels.insert(levels.begin(), "x86-64-v4");
#endif
  return levels;
}

}  // namespace

machine this_machine() {
  machine m;
  m.hwcaps = hwcaps_here();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != text.npos) m.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  // Of the Python package: the libraries of packages beside it, whether or not its environment is activated.
  std::error_code unseen;
  const std::string own = std::filesystem::read_symlink("/proc/self/exe", unseen);
  if (const auto at = own.find("/lib/python"); at != own.npos && own.find("/site-packages/", at) != own.npos)
    m.environment.emplace("VIRTUAL_ENV", own.substr(0, at));
  m.driver = ask_driver;
  m.management = ask_management;
  m.ask = [](const std::filesystem::path& file) { return ask_library(file, std::chrono::seconds(10)); };
  return m;
}

}  // namespace cufault
