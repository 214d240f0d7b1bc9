// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// An enumeration with names has `std::span<const enum_name<E>> names_of(E)`.
namespace cufault {

template <class E>
struct enum_name {
  E value;
  std::string_view name;
};

template <class E>
std::string name_of(E value) {
  for (const auto& known : names_of(value))
    if (known.value == value) return std::string(known.name);
  return "unknown";
}

}  // namespace cufault
