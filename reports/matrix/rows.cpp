// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/json_input.hpp"
#include "reports/judge/table.hpp"
#include "reports/matrix/observed_cells.hpp"

#include <nlohmann/json.hpp>

#include <istream>
#include <ostream>

namespace cufault {
namespace {

using json = nlohmann::ordered_json;

struct cells_column {
  row_writer::column says;
  json (*of)(const observed_cell&);
};
// clang-format off
const cells_column cell_columns[] = {
    {{"fault", "what was provoked"}, [](const observed_cell& c) -> json { return c.fault; }},
    {{"operation", "what was made under it"}, [](const observed_cell& c) -> json { return c.at.operation; }},
    {{"state", "of its handle: cold or warm"}, [](const observed_cell& c) -> json { return c.at.state; }},
    {{"timing", "when the fault arrives"}, [](const observed_cell& c) { return or_null(c.at.timing); }},
    {{"level", "of the fault"}, [](const observed_cell& c) { return c.at.level ? json(*c.at.level) : json(); }},
    {{"remedy", "what was tried against it"}, [](const observed_cell& c) { return or_null(c.at.remedy); }},
    {{"made_up", "1: its fault is injected, or a stand-in"}, [](const observed_cell& c) -> json { return int{c.made_up}; }},
    {{"summary", "what the arm does"}, [](const observed_cell& c) { return or_null(c.summary); }},
    {{"api", "the function of the operation"}, [](const observed_cell& c) { return or_null(c.operation.api); }},
    {{"variant", "which use of it"}, [](const observed_cell& c) { return or_null(c.operation.variant); }},
    {{"outcomes", "what the operation came to, and how often, as JSON; {}: it was not observed"}, [](const observed_cell& c) -> json { return c.outcome; }},
    {{"after_remedy", "likewise behind a remedy that is applied afterwards"}, [](const observed_cell& c) -> json { return c.after; }},
    {{"without_remedy", "likewise of the cell without a remedy that is in place from the start"}, [](const observed_cell& c) -> json { return c.without; }},
    {{"result", "what the remedy did: cleared, still fails, ..."}, [](const observed_cell& c) { return or_null(to_string(c.result)); }},
    {{"shown", "what the operation came to and, of a remedy, what that did, in words"}, [](const observed_cell& c) -> json { return shown_outcome(c); }},
    {{"context", "the CUDA context afterwards"}, [](const observed_cell& c) { return or_null(c.context); }},
    {{"not_observed", "why"}, [](const observed_cell& c) { return or_null(c.why_not); }},
    {{"driver_said", "what the driver said of the failure, as JSON: [function, code]"}, [](const observed_cell& c) -> json { return {c.driver.function, c.driver.code}; }},
    {{"heard", "1: its run kept what the driver logged"}, [](const observed_cell& c) -> json { return int{c.heard}; }},
    {{"facts", "of the operation where nothing fails, as JSON"}, [](const observed_cell& c) { return facts_json(c.facts); }},
    {{"run", "the latest: when it began, and its commit"}, [](const observed_cell& c) { return or_null(c.run); }},
    {{"source", "FILE:LINE, of ours in the folder of all records"}, [](const observed_cell& c) { return or_null(c.source); }},
};
// clang-format on

json rule_json(const rule& r, const std::string& says) {
  json j{{"outcome", r.outcome}};
  if (!r.alone.empty()) j["alone"] = r.alone;
  j["where"] = json::array();
  for (const condition& c : r.where) {
    const char* how = c.how == relation::is ? "is" : c.how == relation::at_most ? "at_most" : "at_least";
    j["where"].push_back({{"property", c.property}, {"relation", how}});
    std::visit([&](const auto& v) { j["where"].back()["value"] = v; }, c.value);
  }
  j["cells"] = r.size();
  j["contradicting"] = json::array();
  for (const auto& [name, outcome] : r.contradicts)
    j["contradicting"].push_back({{"cell", name}, {"outcome", outcome}});
  return {says, std::move(j)};
}

}  // namespace

void write_cells(row_writer& to, std::span<const record> judged, const cost_notes& costs) {
  std::vector<row_writer::column> columns{{"stack_id", "of the table stacks: of its first record"},
                                          {"cost", "of its remedy, where that was measured on the stack"}};
  for (const cells_column& column : cell_columns) columns.push_back(column.says);
  to.begin("observed_cells", "a cell of the matrix on a stack, by all of its records", columns);
  for (const stack_matrix& m : matrix_of(judged))
    for (const observed_cell& c : m.cells) {
      json values{m.record, or_null(note_of(costs, m.stack, c.at.remedy))};
      for (const cells_column& column : cell_columns) values.push_back(column.of(c));
      to.row(values);
    }
}

void answer_conditions(std::istream& in, std::ostream& out) {
  for (std::string line; std::getline(in, line);) {
    const json_cursor asked(parse_json("conditions", line));
    std::vector<observed_cell> cells;
    for (const json_cursor& cell : asked.at("cells").items()) {
      const auto of = cell.items();
      observed_cell& c = cells.emplace_back();
      c = {.fault = of[0].string(),
           .at = *cell_named(of[1].string()),
           .operation = {of[2].string(), of[3].string()},
           .outcome = {{of[4].string(), 1}},
           .driver = {.function = of[5].items()[0].string(), .code = of[5].items()[1].string()},
           .heard = of[6].integer() != 0,
           .facts = facts_from(of[7])};
    }
    const auto rules =
        conditions_of(cells, asked.at("along").text() == "fault" ? axis::fault : axis::operation);
    json all = json::array();
    if (const auto outcome = asked.find("where")) {
      out << json(describe_where(rules, outcome->text(), "cell")).dump() << std::endl;
      continue;
    }
    const auto says = describe(rules, "cell");
    for (std::size_t i = 0; i < rules.size(); ++i) all.push_back(rule_json(rules[i], says[i]));
    out << all.dump() << std::endl;
  }
}

}  // namespace cufault
