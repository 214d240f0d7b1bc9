// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/command_line.hpp"
#include "harness/model/case.hpp"
#include "reports/judge/counterparts.hpp"
#include "reports/printers/render.hpp"

#include <nlohmann/json.hpp>

#include <iostream>
#include <vector>

namespace cufault {
namespace {

int show_counterparts(const records_to_read& records, print_form form) {
  std::vector<counterpart_pair> known;
  for (const failure_case& c : all_cases())
    for (const arm& a : c.arms)
      if (!a.counterpart_of.empty()) known.push_back({c.name, a.counterpart_of, a.name});
  const auto compared = compare_counterparts(load_judged(records), known);
  if (form.json) return print_json(to_json(compared));
  print_counterparts(std::cout, compared, form.style());
  return 0;
}

void add_counterparts(command_line& line) {
  const auto said = std::make_shared<to_read>();
  CLI::App* command =
      line.command("compare-injected",
                   "Injected counterparts of fault arms: do they come to what the natural arms came to?",
                   codes_of_reading, [said] { return show_counterparts(said->records, *said); });
  add_to_read(command, said->records);
  add_form(command, *said, "counterparts");
}

const register_command compare_injected_here{"compare-injected", add_counterparts, also(section::more, 6)};

}  // namespace
}  // namespace cufault
