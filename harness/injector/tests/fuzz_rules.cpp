// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Any text is either refused in one line, or a rule that can act as it says.
#include "harness/injector/rules.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

namespace {

using namespace cufault;
using namespace cufault::injector;

constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();

template <typename Read>
void tolerate(Read read) {
  try {
    read();
  } catch (const input_error& e) {
    if (std::string_view{e.what()}.find('\n') != std::string_view::npos) std::abort();
  }
}

void use(const rule& r) {
  if (r.function.empty() || r.every == 0 || r.hits == 0) std::abort();
  const auto functions = driver_functions();
  const auto is_met = [&](const function_name& name) { return is_for_function(r, name); };
  const auto stands_in_front = [&](const driver_function& f) { return is_met(f.name); };
  if (r.sticky && (r.does != effect::fail || (!r.force && !is_sticky(r.code)))) std::abort();
  if (r.of != nullptr && std::none_of(r.of->functions.begin(), r.of->functions.end(), is_met)) std::abort();
  if (r.of == nullptr && !r.force && !is_host_function(r.function) &&
      std::none_of(functions.begin(), functions.end(), stands_in_front))
    std::abort();

  call_facts call{.function = functions.front().name.text, .caller = "libcublas.so.13", .thread = 1};
  static_cast<void>(holds_for(r, call));
  call.device = 0;
  call.bytes = unlimited;
  static_cast<void>(holds_for(r, call));

  for (const std::uint64_t begin : std::array{std::uint64_t{1}, r.skip, unlimited - 100}) {
    std::uint64_t acted = 0;
    for (std::uint64_t i = 0, n = begin; i < 100 && n != 0; ++i, ++n)
      if (acts_on(r, n, 0) && (n <= r.skip || (++acted > r.hits && r.probability >= 1))) std::abort();
  }
}

/// JSON can express every text.
void use_text(const rule& r) {
  use(r);
  if (std::any_of(r.function.begin(), r.function.end(), [](char c) { return c < ' ' || c > '~'; })) return;
  const std::string code = is_host_function(r.function) ? "ENOMEM" : code_name(r.of, r.code);
  nlohmann::json entry{{"function", r.function}, {"return", code}, {"skip", r.skip}};
  if (r.hits != unlimited) entry["hits"] = r.hits;
  if (r.at_stack) {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(*r.at_stack));
    entry["stack"] = digits.data();
  }
  try {
    if (rules_from(json_cursor{parse_json("again", nlohmann::json{{"rules", {entry}}}.dump())}).rules.at(0) !=
        r)
      std::abort();
  } catch (const input_error&) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  tolerate([&] {
    for (const rule& r : rules_from(json_cursor{parse_json("rules", text)}).rules) use(r);
  });
  tolerate([&] {
    for (const rule& r : rules_of("", text).rules) use_text(r);
  });
  return 0;
}
