// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
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

/// `words`: the values as they are written: "control, fault".
template <class E, std::size_t N>
constexpr std::array<enum_name<E>, N> named_by(const std::array<E, N>& values, std::string_view words) {
  std::array<enum_name<E>, N> all{};
  for (std::size_t i = 0; i < N; ++i) {
    all[i] = {values[i], words.substr(0, words.find(','))};
    words.remove_prefix(std::min(all[i].name.size() + 2, words.size()));
  }
  return all;
}

}  // namespace cufault

/// Behind an enumeration that has no other values: their names are as they are written.
#define CUFAULT_NAMES(type, ...)                                                          \
  inline std::span<const enum_name<type>> names_of(type) {                                \
    using enum type;                                                                      \
    static constexpr auto all = cufault::named_by(std::array{__VA_ARGS__}, #__VA_ARGS__); \
    return all;                                                                           \
  }                                                                                       \
  inline std::string to_string(type value) {                                              \
    return name_of(value);                                                                \
  }
