// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/html_text.hpp"

#include <cstdint>

namespace cufault {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

/// Bytes of the character at the beginning, 0 where there is none.
std::size_t length_of_character(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80           ? 1
                             : (first >> 5) == 0x06 ? 2
                             : (first >> 4) == 0x0e ? 3
                             : (first >> 3) == 0x1e ? 4
                                                    : 0;
  if (length == 0 || length > text.size()) return 0;
  code = length == 1 ? first : first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < least[length] || code > 0x10ffff || surrogate ? 0 : length;
}

bool is_shown(std::uint32_t code) {
  const bool control = (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0);
  const bool direction = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                         (code >= 0x2066 && code <= 0x2069);
  const bool no_character = (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
  return !control && !direction && !no_character;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string safe;
  safe.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t length = length_of_character(text, code);
    if (length == 0 || !is_shown(code))
      safe += replacement;
    else if (code == '&')
      safe += "&amp;";
    else if (code == '<')
      safe += "&lt;";
    else if (code == '>')
      safe += "&gt;";
    else if (code == '"')
      safe += "&quot;";
    else if (code == '\'')
      safe += "&#39;";
    else
      safe += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return safe;
}

std::string beginning_of(std::string_view text, std::size_t most, std::string_view mark) {
  if (text.size() <= most) return std::string(text);
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;  // between characters
  return std::string(text.substr(0, end)).append(mark);
}

}  // namespace cufault
