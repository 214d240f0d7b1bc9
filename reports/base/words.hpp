// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// Of the environment; empty where it is not set.
inline std::string variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

/// The last one that is not empty.
inline std::string last_line(std::string_view text) {
  text = text.substr(0, text.find_last_not_of('\n') + 1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

/// Of a-z, 0-9 and '_', and not empty: what cases, arms, operations, faults and remedies are called.
constexpr bool is_word(std::string_view s) {
  return !s.empty() && s.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == s.npos;
}

/// Letters of ASCII.
inline std::string in_lower_case(std::string_view text) {
  std::string all(text);
  std::transform(all.begin(), all.end(), all.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return all;
}

/// Characters to insert, remove or replace, to make one of the other.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

/// Of the names the one that differs least from what was asked; empty where none is near.
template <class Names>
std::string nearest_of(std::string_view asked, const Names& names) {
  std::string nearest;
  std::size_t least = 1 + std::max<std::size_t>(2, asked.size() / 4);
  for (const auto& name : names)
    if (const std::size_t d = edit_distance(in_lower_case(asked), in_lower_case(name));
        d < least && d < asked.size()) {
      least = d;
      nearest = name;
    }
  return nearest;
}

/// "; did you mean NAME?"; empty where no name is near.
template <class Names>
std::string did_you_mean(std::string_view asked, const Names& names) {
  const std::string nearest = nearest_of(asked, names);
  return nearest.empty() ? nearest : "; did you mean " + nearest + "?";
}

/// Of a stack: "a", and behind "z" "s26".
inline std::string letter_of(std::size_t index) {
  return index < 26 ? std::string(1, static_cast<char>('a' + index)) : "s" + std::to_string(index);
}

/// FNV-1a of 32 bits, as eight digits.
inline std::string hash_of(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  std::string digits(8, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash /= 16)
    *digit = "0123456789abcdef"[hash % 16];
  return digits;
}

}  // namespace cufault
