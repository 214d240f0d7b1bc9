// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/causes.hpp"

#include "reports/explain/evidence.hpp"
#include "reports/judge/claims.hpp"
#include "reports/judge/remedy_outcome.hpp"
#include "reports/matrix/observed_cells.hpp"
#include "reports/printers/advice.hpp"
#include "reports/printers/atlas.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr const char* stacks_key = "stacks";

bool returned(const call_record& call, const std::string& status) {
  if (status == status_wrong_numbers)
    return is_success_status(call.what.status) && call.what.numbers == numbers_found::wrong;
  return call.what.status == status;
}

constexpr const char* made_up_words = "made up: ";

/// Fault arms that made a call return the status, but for cells of the matrix: natural ones first. `calls`: how many calls these are.
named_table arms_that_cause(const std::string& status, std::span<const record> records,
                            std::size_t* calls_of_them = nullptr) {
  // made up, call, case/arm -> what it is, stacks
  std::map<std::tuple<bool, std::string, std::string>, std::pair<std::string, std::set<std::string>>> found;
  std::set<std::string> calls;
  for (const auto& r : records)
    for (const auto& c : r.cases) {
      if (control_unresolved(c) || c.name.starts_with(matrix_family)) continue;
      for (const auto& arm : c.arms) {
        if (arm.kind != arm_kind::fault) continue;  // remedies and dead ends begin with a fault of these
        if (!arm.counterpart_of.empty()) continue;  // what is injected stands for one of these
        for (const auto& o : arm.trials)
          for (const auto& call : o.calls) {
            if (!returned(call, status) || !comparable(o) || call.swept)
              continue;  // sweeps have a table of their own
            auto& [summary, stacks] =
                found[{is_made_up(arm), call.what.name.api, fmt::format("{}/{}", c.name, arm.name)}];
            summary = arm.summary;
            stacks.insert(stack_label(r));
            calls.insert(call.what.name.api);
          }
      }
    }
  if (calls_of_them != nullptr) *calls_of_them = calls.size();
  named_table table{.name = "arms",
                    .columns = {{"call", "call"},
                                {"arm", "arm"},
                                {"what it does", "summary"},
                                {"", "made_up"},
                                {"stack", stacks_key}}};
  for (const auto& [key, entry] : found) {
    const auto& [made_up, call, name] = key;
    const bool unsaid = made_up && !entry.first.starts_with(made_up_words);
    table.rows.push_back({call,
                          name,
                          {(unsaid ? made_up_words : "") + entry.first, entry.first},
                          {"", made_up},
                          table_value::lines(entry.second)});
  }
  return table;
}

/// Cells of the matrix that came to the status, by fault, with what that depends on: natural faults first.
named_table cells_that_cause(const std::string& status, std::span<const record> records) {
  std::vector<std::pair<bool, std::vector<table_value>>> rows;
  for (const stack_matrix& m : matrix_of(records))
    for (const matrix_section& s : sections_of(m, axis::operation)) {
      const auto all = std::ranges::count_if(s.cells, was_observed);
      const auto those =
          std::ranges::count_if(s.cells, [&](const observed_cell& c) { return came_to(c, status); });
      if (!s.remedy.empty() || those == 0) continue;
      const bool made_up = s.cells.front().made_up;
      const std::string fault = std::string(matrix_family) + s.name;
      const auto where =
          describe_where(conditions_of(s.cells, axis::operation, status), short_status(status), "cell");
      rows.emplace_back(made_up, std::vector<table_value>{{(made_up ? made_up_words : "") + fault, fault},
                                                          {"", made_up},
                                                          {fmt::format("{} of {}", those, all), those},
                                                          {"", all},
                                                          {fmt::format("{}", fmt::join(where, "\n")), where},
                                                          table_value::lines({m.stack})});
    }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.first < b.first; });
  named_table table{.name = "cells",
                    .columns = {{"fault", "fault"},
                                {"", "made_up"},
                                {"cells", "cells"},
                                {"", "of_cells"},
                                {"where", "where"},
                                {"stack", stacks_key}}};
  for (auto& [made_up, cells] : rows) table.rows.push_back(std::move(cells));
  return table;
}

/// Driver calls inside of operations whose failure, which is always made up, leads to the status.
named_table driver_failures_that_cause(const std::string& status, std::span<const record> records) {
  named_table table{.name = "driver_calls",
                    .columns = {{"operation", "operation"},
                                {"driver calls", "driver_calls"},
                                {"what the operation returns", "leads_to"},
                                {"stack", stacks_key}}};
  for (const auto& [stack, operations] : operations_in(records))
    for (const driver_failure& f : driver_failures_of(operations))
      if (std::ranges::find(f.statuses, status) != f.statuses.end())
        table.rows.push_back({f.operation, f.functions, f.leads_to, table_value::lines({stack})});
  return table;
}

/// What was done against the status, or where an arm that returned it was avoided: against natural faults first, then what cleared it on
/// most stacks.
named_table remedies_tried(const std::string& status, std::span<const record> records,
                           const cost_notes& costs) {
  struct outcome_by_stack {
    bool made_up = false;
    std::string words{};
    std::set<std::string> calls{}, cleared_on{}, failed_on{}, costs{};
  };
  std::map<std::string, outcome_by_stack> found;
  for (const auto& r : records)
    for (const auto& c : r.cases) {
      if (control_unresolved(c) || c.name.starts_with(matrix_family)) continue;
      for (const auto& arm : c.arms) {
        const auto tried = remedy_outcome_of(c, arm);
        if (!tried) continue;
        std::set<std::string> calls;
        const auto note = [&](const call_record& call) {
          if (returned(call, status)) calls.insert(call.what.name.api);
        };
        for (const call_record* call : tried->before) note(*call);
        for (const auto& fault : c.arms)
          if (join_key(c.name, fault.name) == tried->against)
            for (const auto& o : fault.trials)
              if (comparable(o)) std::for_each(o.calls.begin(), o.calls.end(), note);
        if (calls.empty()) continue;
        auto& entry = found[join_key(c.name, arm.name)];
        entry.made_up = is_made_up(arm);
        entry.words = tried->words;
        if (const std::string cost = cost_beside(costs, stack_label(r), c, arm); !cost.empty())
          entry.costs.insert(cost);
        entry.calls.merge(calls);
        (tried->cleared ? entry.cleared_on : entry.failed_on).insert(stack_label(r));
      }
    }
  std::vector<std::pair<std::string, outcome_by_stack>> sorted(found.begin(), found.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
    const auto order = [](const outcome_by_stack& o) {
      return std::pair{o.made_up, -std::ssize(o.cleared_on)};
    };
    return order(a.second) < order(b.second);
  });
  named_table table{.name = "remedies",
                    .columns = {{"what was done", "remedy"},
                                {"", "made_up"},
                                {"arm", "arm"},
                                {"after a failed", "calls"},
                                {"came to", "cleared"},
                                {"", "costs"},
                                {"stack", stacks_key}}};
  for (const auto& [name, entry] : sorted)
    for (const bool cleared : {true, false}) {
      const auto& stacks = cleared ? entry.cleared_on : entry.failed_on;
      if (stacks.empty()) continue;
      const std::string said = cleared ? fmt::format("cleared{}{}", entry.costs.empty() ? "" : "; ",
                                                     fmt::join(entry.costs, "; or "))
                                       : "not cleared";
      table.rows.push_back(
          {{(entry.made_up ? made_up_words : "") + entry.words, entry.words},
           {"", entry.made_up},
           name,
           {fmt::format("{}", fmt::join(entry.calls, ", ")), table_value::lines(entry.calls).value},
           {said, cleared},
           {"", table_value::lines(entry.costs).value},
           table_value::lines(stacks)});
    }
  return table;
}

/// A table whose last column is the stack; where that is the same in every row, it is said once.
void print_by_stack(std::ostream& out, named_table table, table_style style, std::size_t width) {
  const std::string stack = table.rows.front().back().text;
  const auto is_of_it = [&](const auto& row) { return row.back().text == stack; };
  if (stack.find('\n') == std::string::npos && std::ranges::all_of(table.rows, is_of_it)) {
    table.columns.back().heading.clear();
    out << fmt::format("On {}:\n\n", cell(stack, style));
  }
  print_table(out, table.head(), table.shown_rows(), style, width);
}

}  // namespace

std::vector<named_table> tables_of_causes(const std::string& status, std::span<const record> records,
                                          const cost_notes& costs) {
  return {cells_that_cause(status, records), arms_that_cause(status, records),
          remedies_tried(status, records, costs), driver_failures_that_cause(status, records)};
}

void print_causes(std::ostream& out, const std::string& status, std::span<const record> records,
                  table_style style, const cost_notes& costs, std::size_t width) {
  const auto cells = cells_that_cause(status, records);
  std::size_t calls = 0;
  const auto arms = arms_that_cause(status, records, &calls);
  const auto driver_calls = driver_failures_that_cause(status, records);
  if (!cells.rows.empty()) {
    out << "Cells of the matrix, by fault, and what it depends on:\n\n";
    print_by_stack(out, cells, style, width);
  }
  if (arms.rows.empty()) {
    out << fmt::format("no call of a fault arm with a working control returned {} in {}\n", status,
                       plural(records.size(), "record"));
  } else {
    print_by_stack(out, arms, style, width);
    out << fmt::format("{} by {}\n", plural(arms.rows.size(), "way"), plural(calls, "call"));
  }
  std::string gap = "\n";  // after the count; a table ends with a blank line itself
  if (const auto remedies = remedies_tried(status, records, costs); !remedies.rows.empty()) {
    out << gap
        << "What was done against it. Cleared: it failed before, and then the same work gave right "
           "numbers.\n\n";
    print_by_stack(out, remedies, style, width);
    gap.clear();
  }
  if (driver_calls.rows.empty()) return;
  out << gap << "Made up, by failing a driver call inside of an operation:\n\n";
  print_by_stack(out, driver_calls, style, width);
}

}  // namespace cufault
