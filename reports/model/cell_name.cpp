// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/cell_name.hpp"

#include "reports/base/words.hpp"

#include <fmt/format.h>

#include <charconv>

namespace cufault {
namespace {

/// Takes the part before the first dot off the text.
std::string_view next_part(std::string_view& text) {
  const auto dot = text.find('.');
  const std::string_view part = text.substr(0, dot);
  text = dot == text.npos ? std::string_view() : text.substr(dot + 1);
  return part;
}

std::string joined(const cell_name& c, std::string_view between, std::string_view before_remedy) {
  std::string text = fmt::format("{}{}{}", c.operation, between, c.state);
  if (!c.timing.empty()) text += fmt::format("{}{}", between, c.timing);
  if (c.level) text += fmt::format("{}{}", between, *c.level);
  if (!c.remedy.empty()) text += fmt::format("{}{}", before_remedy, c.remedy);
  return text;
}

}  // namespace

std::string to_string(const cell_name& c) {
  return joined(c, ".", "+");
}

std::string in_words(const cell_name& c) {
  return joined(c, ", ", "; ");
}

std::optional<cell_name> cell_named(std::string_view arm) {
  cell_name c;
  const auto plus = arm.find('+');
  if (plus != arm.npos) {
    c.remedy = arm.substr(plus + 1);
    if (!is_word(c.remedy)) return {};
  }
  std::string_view rest = arm.substr(0, plus);
  if (rest.ends_with('.')) return {};
  c.operation = next_part(rest);
  c.state = next_part(rest);
  if (!is_word(c.operation) || (c.state != "cold" && c.state != "warm")) return {};
  while (!rest.empty()) {
    const std::string_view part = next_part(rest);
    std::int64_t number = 0;
    const auto [end, bad] = std::from_chars(part.data(), part.data() + part.size(), number);
    const bool is_number = !part.empty() && bad == std::errc{} && end == part.data() + part.size();
    if (c.level || number < 0) return {};
    if (is_number)
      c.level = number;
    else if (c.timing.empty() && is_word(part))
      c.timing = part;
    else
      return {};
  }
  return to_string(c) == arm ? std::optional(c) : std::nullopt;
}

std::string without_remedy(std::string_view arm) {
  const auto plus = arm.find('+');
  return plus == arm.npos ? std::string() : std::string(arm.substr(0, plus));
}

}  // namespace cufault
