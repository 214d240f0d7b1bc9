// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

namespace cufault {

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
