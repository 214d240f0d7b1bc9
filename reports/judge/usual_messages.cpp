// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/usual_messages.hpp"

#include "reports/model/sweep_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace cufault {

std::string key_of(const driver_message& m) {
  return fmt::format("{}\n{}\n{}", m.function, m.code, general_text(m.text));
}

std::string general_text(const std::string& text) {
  // A text that was cut has no closing parenthesis.
  static const std::regex name(R"(\((\$|_Z)[^)]*(\)|$))"), number("0x[0-9a-fA-F]+|[0-9]+"),
      repeated(R"((Kernel \(NAME\)[^;]*)(; Kernel \(NAME\)[^;]*)+)");
  return std::regex_replace(std::regex_replace(std::regex_replace(text, name, "(NAME)"), repeated, "$1"),
                            number, "N");
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
