// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/printers.hpp"

#include <algorithm>
#include <array>

namespace cufault {

std::span<const report_printer* const> report_printers() {
  static const std::array all{&as_html, &as_markdown, &as_text, &as_csv,
                              &as_json, &as_junit,    &as_ctrf, &as_prometheus};
  return all;
}

std::string print_as(std::string_view name, const report& r) {
  const auto all = report_printers();
  return (*std::ranges::find_if(all, [&](const auto* p) { return p->name == name; }))->print(r);
}

}  // namespace cufault
