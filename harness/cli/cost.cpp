// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault cost`: what remedies cost, from the records of remedy_cost; and what other commands say of it beside a verdict.
#include "reports/printers/cost.hpp"

#include "harness/cli/cli.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <set>

namespace cufault {

cost_notes measured_costs(const std::vector<std::filesystem::path>& records) {
  std::vector<cost_record> all;
  for (const auto& file : cost_records_in(records))
    // A record of trials that was named as a file is none of costs.
    if (file.filename() == cost_file) all.push_back(load_cost_record(file));
  return notes_of(all);
}

int show_costs(const cost_arguments& arguments) {
  std::vector<cost_record> all;
  for (const auto& file : cost_records_in(arguments.records)) all.push_back(load_cost_record(file));
  if (all.empty() && arguments.format != "svg") {
    std::cout << costs_not_measured;
    return exit_skipped;
  }
  std::vector<cost_record> some;
  std::set<std::string> names;
  for (const cost_record& r : all) {
    for (const cost_comparison& c : r.comparisons)
      for (const cost_side& s : c.with) names.insert(s.remedy);
    if (cost_record one = filtered(r, arguments.remedy); arguments.remedy.empty() || !one.comparisons.empty())
      some.push_back(std::move(one));
  }
  if (some.empty() && !all.empty())
    throw usage_error(fmt::format("--remedy {}: none of these records has it{}; remedies: {}",
                                  arguments.remedy, did_you_mean(arguments.remedy, names),
                                  fmt::join(names, ", ")));
  if (arguments.format == "csv") {
    print_costs_csv(std::cout, some);
  } else if (arguments.format == "json") {
    print_json(costs_json(some), 1);
  } else if (arguments.format == "svg") {
    std::cout << costs_svg(some);
  } else {
    print_costs(std::cout, some,
                {.style = arguments.format == "markdown" ? table_style::markdown : table_style::text,
                 .width = width_of_output(),
                 .all_work = arguments.all_work || !arguments.remedy.empty()});
  }
  return 0;
}

}  // namespace cufault
