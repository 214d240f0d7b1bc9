// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/usual_messages.hpp"

#include "reports/model/sweep_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace cufault {

std::string key_of(const driver_message& m) {
  return fmt::format("{}\n{}\n{}", m.function, m.code, without_numbers(m.text));
}

std::string without_numbers(const std::string& text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size();) {
    const auto digit = [&](std::size_t at) {
      return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
    };
    if (!digit(i)) {
      kept += text[i++];
      continue;
    }
    const bool hex = text[i] == '0' && i + 1 < text.size() && text[i + 1] == 'x';
    if (hex) i += 2;
    while (digit(i) || (hex && i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i])) != 0))
      ++i;
    kept += 'N';
  }
  return kept;
}

usual_messages::usual_messages(const record& r) {
  for (const case_result& c : r.cases) add(c);
}

void usual_messages::add(const case_result& c) {
  if (c.name.starts_with(sweep_family)) return;
  for (const arm_result& a : c.arms) {
    if (a.kind != arm_kind::control) continue;
    for (const observation& o : a.trials)
      for (const call_record& call : o.calls)
        if (call.what.ok)
          for (const driver_message& m : call.driver)
            seen_.insert(describe(call.what.name) + "\n" + key_of(m));
  }
}

bool usual_messages::has(const step_name& call, const driver_message& m) const {
  return seen_.contains(describe(call) + "\n" + key_of(m));
}

const driver_message* usual_messages::reason(const call_record& c) const {
  const auto first =
      std::ranges::find_if(c.driver, [&](const driver_message& m) { return !has(c.what.name, m); });
  return first == c.driver.end() ? nullptr : &*first;
}

}  // namespace cufault
