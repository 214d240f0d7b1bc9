// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/step.hpp"

#include "reports/model/api_functions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cufault {

std::string defect_of(const step_name& name) {
  if (!is_step_name(name.api))
    return fmt::format(
        "\"{}\" is no function of the CUDA headers or of a framework, and no check of cufault's own; "
        "reports/model/api_functions.hpp lists them",
        name.api);
  constexpr std::size_t longest = 120;
  const auto usual = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.+-=").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (name.variant.size() > longest || !std::ranges::all_of(name.variant, usual))
    return fmt::format("\"{}\" is no variant: at most {} letters, digits and \"_.+-=\"", name.variant,
                       longest);
  return {};
}

std::string variant_of(std::string_view words) {
  std::string variant;
  for (const char c : words) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '+' || c == '=' || c == '-';
    if (kept)
      variant += c;
    else if (!variant.empty() && variant.back() != '_')
      variant += '_';
  }
  while (!variant.empty() && variant.back() == '_') variant.pop_back();
  return variant;
}

step_name named_by_words(std::string_view words) {
  const auto end = std::min(words.find_first_of(" ,:"), words.size());
  return {std::string(words.substr(0, end)), variant_of(words.substr(end))};
}

std::string describe(const step_name& name) {
  return name.variant.empty() ? name.api : name.api + " " + name.variant;
}

std::string describe(const step& s) {
  const std::string facts = describe(s.facts);
  return fmt::format("{}: {}{}{}", describe(s.name), s.status,
                     s.numbers == numbers_found::right   ? ", numbers right"
                     : s.numbers == numbers_found::wrong ? ", numbers wrong"
                                                         : "",
                     facts.empty() ? "" : " (" + facts + ")");
}

}  // namespace cufault
