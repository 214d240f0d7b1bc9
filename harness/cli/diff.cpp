// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/command_line.hpp"
#include "harness/cli/gate.hpp"
#include "reports/judge/comparison.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct diff_arguments : comparison_style {
  std::vector<std::filesystem::path> records;
  bool by_stack = false;  ///< records of one stack are one
};

int show_differences(const diff_arguments& arguments) {
  std::vector<record> compared;
  for (const fs::path& file : arguments.records) compared.push_back(load_record(file));
  if (arguments.by_stack) compared = merged_by_stack(std::move(compared));
  if (compared.size() < 2)
    throw usage_error(
        "diff --by-stack: all these records are of one stack; leave --by-stack out to compare them");
  comparison all = compare(compared, terms_of(compared));
  for (std::size_t i = 0; i < compared.size(); ++i) {
    if (all.records[i].observed == 0)
      throw usage_error(
          fmt::format("{} shows no arm that could be compared",
                      arguments.by_stack ? all.records[i].label : arguments.records[i].string()));
    if (!arguments.by_stack && !compared[i].started.empty())
      all.records[i].label += fmt::format(" ({})", compared[i].started);
  }
  return print_compared(all, "diff", arguments);
}

void add_diff(command_line& line) {
  const auto said = std::make_shared<diff_arguments>();
  CLI::App* diff = line.command(
      "diff", "Arms that differ between records: signatures, measurements, rates",
      "Each record is compared with the first, as by gate. What a record was not asked for is only counted.\n"
      "Exit codes: 0 none differ; 1 some do; 2 bad input.",
      [said] { return show_differences(*said); });
  diff->add_option("RECORD", said->records, "two records or more, the oldest first")
      ->required()
      ->expected(-2)  // at least
      ->check(CLI::ExistingPath);
  diff->add_flag("--by-stack", said->by_stack, "records of one stack are one");
  add_comparison_style(diff, *said);
}

const register_command diff_here{"diff", add_diff, first(section::what_changed, 2), {needs::source_tree}};

}  // namespace
}  // namespace cufault
