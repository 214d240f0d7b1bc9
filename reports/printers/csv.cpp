// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A line an arm: for spreadsheets.
#include "reports/printers/printers.hpp"
#include "reports/printers/table.hpp"

namespace cufault {
namespace {

std::string report_as_csv(const report& r) {
  std::string text;
  const auto put = [&](std::initializer_list<std::string_view> fields) {
    for (const auto& field : fields) text += (&field == fields.begin() ? "" : ",") + csv_field(field);
    text += "\r\n";
  };
  put({"stack", "case", "arm", "kind", "verdict", "seen", "why", "repeat"});
  for (const report::stack& s : r.stacks)
    for (const report_arm& a : s.run.arms)
      put({s.run.stack, a.case_name, a.arm, a.kind, to_string(a.judged), a.seen, a.why, a.repeat});
  return text;
}

}  // namespace

const report_printer as_csv{"csv", "arms.csv", "a line an arm as CSV", report_as_csv};

}  // namespace cufault
