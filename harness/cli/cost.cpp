// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault cost`: what remedies cost, from the records of remedy_cost.
#include "reports/printers/cost.hpp"

#include "harness/cli/command_line.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <set>

namespace cufault {
namespace {

struct cost_arguments {
  records_to_read records{default_recorded()};
  std::string remedy;           ///< a pattern; empty: all
  std::string format = "text";  ///< or "markdown", "csv", "json", "svg"
  bool all_work = false;        ///< each kind of work, too
};

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

void add_cost(command_line& line) {
  const auto said = std::make_shared<cost_arguments>();
  CLI::App* cost =
      line.command("cost", "What remedies cost in time and device memory, from the records of remedy_cost",
                   "Exit codes: 0; 2 bad input; 77 not measured yet.", [said] { return show_costs(*said); });
  add_to_read(cost, said->records, "records of remedy_cost, or folders of stacks that have a cost.jsonl");
  cost->add_option("--remedy", said->remedy,
                   "only this remedy, on each kind of work; a * is anything: 'workspace_*'")
      ->type_name("REMEDY")
      ->check(not_empty);
  cost->add_flag("--all", said->all_work,
                 "each kind of work, too; csv and json always have a line or an object for each");
  cost->add_option("--format", said->format, "svg: a picture")
      ->check(CLI::IsMember({"text", "markdown", "csv", "json", "svg"}))
      ->capture_default_str();
  add_json_format(cost, said->format, "cost");
}

const register_command cost_here{"cost", add_cost, also(section::more, 5), {needs::source_tree}};

}  // namespace

}  // namespace cufault
