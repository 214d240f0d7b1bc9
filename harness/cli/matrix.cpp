// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault matrix`: the cells of the matrix, read from records.
#include "reports/printers/matrix.hpp"

#include "harness/cli/command_line.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <set>

namespace cufault {
namespace {

struct matrix_arguments {
  records_to_read records{default_recorded()};
  std::string fault, operation, remedy, stack;  ///< as matrix_filter; empty: all
  std::vector<std::string> by;                  ///< keys of stacks: only what differs between them
  std::string format = "text";                  ///< or "markdown", "csv", "json"
};

/// What the filter could have named, where it holds for nothing.
std::string names_in(const std::vector<stack_matrix>& all, const matrix_arguments& asked) {
  std::set<std::string> faults, operations, remedies, stacks;
  for (const stack_matrix& m : all) {
    stacks.insert(m.stack);
    for (const observed_cell& c : m.cells) {
      faults.insert(c.fault);
      operations.insert(c.at.operation);
      if (!c.at.remedy.empty()) remedies.insert(c.at.remedy);
    }
  }
  std::string text = "no cell in these records is one that was asked for";
  const auto add = [&](const std::string& option, const char* what, const std::set<std::string>& names) {
    if (!option.empty())
      text += fmt::format("{}; {}: {}", did_you_mean(option, names), what,
                          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  };
  add(asked.fault, "faults", faults);
  add(asked.operation, "operations", operations);
  add(asked.remedy, "remedies", remedies);
  add(asked.stack, "stacks", stacks);
  return text;
}

stack_comparison compared_by(const std::vector<stack_matrix>& cells, const std::vector<std::string>& keys) {
  std::set<std::string> known;
  for (const stack_matrix& m : cells)
    for (const auto& [key, value] : m.keys) known.insert(key);
  for (const std::string& key : keys)
    if (!known.contains(key))
      throw usage_error(
          fmt::format("--by {}: no stack has it; their keys are {}", key, fmt::join(known, ", ")));
  stack_comparison compared = compare_stacks(cells, keys);
  if (compared.groups.size() < 2)
    throw usage_error(fmt::format("--by {}: all these records are alike in that", fmt::join(keys, ",")));
  return compared;
}

int show_matrix(const matrix_arguments& arguments) {
  const std::vector<stack_matrix> all = matrix_of(load_judged(arguments.records, {"matrix", "sweep"}));
  if (all.empty())
    throw usage_error("no record has a cell of the matrix: `cufault run matrix` makes them", exit_skipped);
  std::vector<stack_matrix> cells =
      filtered(all, {arguments.fault, arguments.operation, arguments.remedy, arguments.stack});
  if (cells.empty()) throw usage_error(names_in(all, arguments));
  const matrix_layout layout{
      .style = arguments.format == "markdown" ? table_style::markdown : table_style::text,
      .width = width_of_output(),
      .along = !arguments.operation.empty() && arguments.fault.empty() ? axis::fault : axis::operation};
  const bool for_people = arguments.format == "text" || arguments.format == "markdown";
  if (!arguments.by.empty()) {
    const stack_comparison compared = compared_by(cells, arguments.by);
    if (for_people) {
      print_comparison(std::cout, compared, layout);
      return 0;
    }
    cells = differing_cells(cells, compared);
  }
  if (arguments.format == "csv")
    print_matrix_csv(std::cout, cells);
  else if (arguments.format == "json")
    print_json(matrix_json(cells, layout.along), 1);
  else
    print_matrix(std::cout, cells, layout, measured_costs(arguments.records));
  return 0;
}

void add_matrix(command_line& line) {
  const auto said = std::make_shared<matrix_arguments>();
  CLI::App* matrix = line.command(
      "matrix", "What every operation came to under every fault, what that depends on, and what remedies did",
      "Exit codes: 0; 2 bad input; 77 no record has a cell of the matrix.",
      [said] { return show_matrix(*said); });
  add_to_read(matrix, said->records);
  matrix->add_option("--fault", said->fault, "only this fault; a * is anything: 'kernel_*'")
      ->type_name("FAULT")
      ->check(not_empty);
  matrix
      ->add_option("--operation", said->operation,
                   "only this operation, or function, under every fault: sgemm_64, cublasSgemm")
      ->type_name("OPERATION")
      ->check(not_empty);
  matrix->add_option("--remedy", said->remedy, "what this remedy did; a * is anything")
      ->type_name("REMEDY")
      ->check(not_empty);
  matrix->add_option("--stack", said->stack, "only stacks whose name has this text: 'cuBLAS 13.1.0'")
      ->type_name("TEXT")
      ->check(not_empty);
  matrix
      ->add_option("--by", said->by,
                   "only cells that differ between stacks, by keys of `cufault stack --json`: cublas,gpu")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("KEY,...")
      ->check(not_empty);
  matrix->add_option("--format", said->format, "csv and json have a line or an object for each cell")
      ->check(CLI::IsMember({"text", "markdown", "csv", "json"}))
      ->capture_default_str();
  add_json_format(matrix, said->format, "matrix");
}

const register_command matrix_here{"matrix", add_matrix, also(section::more, 4), {needs::source_tree}};

}  // namespace

}  // namespace cufault
