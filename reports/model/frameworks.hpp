// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cufault {

/// A Python framework that cases run in: what its table says of it (cases/frameworks/python/framework_trials/NAME.json). Its family of
/// cases and the key of its version in a stack have its name.
struct python_framework {
  std::string_view name, title, package;  ///< "pytorch", "PyTorch", "torch"
};
inline constexpr python_framework python_frameworks[] = {
#define CUFAULT_FRAMEWORK(name, title, package) {name, title, package},
#define CUFAULT_FRAMEWORK_FUNCTION(name)
#include "frameworks.inc"
#undef CUFAULT_FRAMEWORK
#undef CUFAULT_FRAMEWORK_FUNCTION
};

/// The framework that a case, or an arm of it, runs in; null: none.
constexpr const python_framework* framework_of_case(std::string_view name) {
  for (const python_framework& each : python_frameworks)
    if (name.starts_with(each.name) && name.substr(each.name.size()).starts_with('.')) return &each;
  return nullptr;
}

}  // namespace cufault
