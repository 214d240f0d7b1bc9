// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The matrix for programs: CSV and JSON.
#include "reports/printers/matrix.hpp"
#include "reports/printers/table.hpp"

#include <nlohmann/json.hpp>

#include <ostream>
#include <variant>

namespace cufault {
namespace {

nlohmann::ordered_json counts_json(const outcome_counts& counts) {
  auto j = nlohmann::ordered_json::object();
  for (const auto& [word, times] : counts) j[word] = times;
  return j;
}

nlohmann::ordered_json cell_json(const observed_cell& c, const std::string& libraries) {
  nlohmann::ordered_json j{{"fault", c.fault}, {"operation", c.at.operation}, {"state", c.at.state}};
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) j[name] = text;
  };
  add("timing", c.at.timing);
  if (c.at.level) j["level"] = *c.at.level;
  add("remedy", c.at.remedy);
  if (c.made_up) j["made_up"] = true;
  add("api", c.operation.api);
  add("variant", c.operation.variant);
  add("summary", c.summary);
  j["outcomes"] = counts_json(c.outcome);
  add("not_observed", c.why_not);
  add("context", c.context);
  if (c.result != remedy_result::none) j["result"] = to_string(c.result);
  if (!c.without.empty()) j["without_remedy"] = counts_json(c.without);
  if (!c.after.empty()) j["after_remedy"] = counts_json(c.after);
  if (!c.facts.empty()) j["facts"] = facts_json(c.facts);
  add("run", c.run);
  add("source", c.source);
  j["repeat"] = repeats(c, libraries);
  return j;
}

constexpr std::string_view relation_name(relation r) {
  return r == relation::is ? "is" : r == relation::at_most ? "at_most" : "at_least";
}

nlohmann::ordered_json rule_json(const rule& r) {
  nlohmann::ordered_json j{{"outcome", r.outcome}};
  if (!r.alone.empty()) j["alone"] = r.alone;
  j["where"] = nlohmann::ordered_json::array();
  for (const condition& c : r.where) {
    nlohmann::ordered_json one{{"property", c.property}, {"relation", relation_name(c.how)}};
    std::visit([&](const auto& v) { one["value"] = v; }, c.value);
    j["where"].push_back(std::move(one));
  }
  j["cells"] = r.size();
  j["contradicting"] = nlohmann::ordered_json::array();
  for (const auto& [name, outcome] : r.contradicts)
    j["contradicting"].push_back({{"cell", name}, {"outcome", outcome}});
  return j;
}

}  // namespace

void print_matrix_csv(std::ostream& out, const std::vector<stack_matrix>& all) {
  out << "stack,fault,operation,api,variant,state,timing,level,remedy,made_up,outcome,after_remedy,without_"
         "remedy,result,context,not_observed,run,source,repeat\n";
  for (const stack_matrix& m : all)
    for (const observed_cell& c : m.cells) {
      const std::vector<std::string> fields{m.stack,
                                            c.fault,
                                            c.at.operation,
                                            c.operation.api,
                                            c.operation.variant,
                                            c.at.state,
                                            c.at.timing,
                                            c.at.level ? std::to_string(*c.at.level) : std::string(),
                                            c.at.remedy,
                                            c.made_up ? "yes" : "no",
                                            with_rates(c.outcome),
                                            with_rates(c.after),
                                            with_rates(c.without),
                                            to_string(c.result),
                                            c.context,
                                            c.why_not,
                                            c.run,
                                            c.source,
                                            repeats(c, m.libraries)};
      for (std::size_t i = 0; i < fields.size(); ++i) out << (i == 0 ? "" : ",") << csv_field(fields[i]);
      out << '\n';
    }
}

nlohmann::ordered_json matrix_json(const std::vector<stack_matrix>& all, axis along) {
  nlohmann::ordered_json j{{"schema", matrix_schema}};
  j["stacks"] = nlohmann::ordered_json::array();
  for (const stack_matrix& m : all) {
    nlohmann::ordered_json stack{{"stack", m.stack}, {"keys", m.keys}};
    stack["cells"] = nlohmann::ordered_json::array();
    for (const observed_cell& c : m.cells) stack["cells"].push_back(cell_json(c, m.libraries));
    stack["conditions"] = nlohmann::ordered_json::array();
    for (const matrix_section& s : sections_of(m, along)) {
      nlohmann::ordered_json rules = nlohmann::ordered_json::array();
      for (const rule& r : conditions_of(s.cells, along)) rules.push_back(rule_json(r));
      nlohmann::ordered_json one;
      one[along == axis::operation ? "fault" : "operation"] = s.name;
      if (!s.remedy.empty()) one["remedy"] = s.remedy;
      one["rules"] = std::move(rules);
      stack["conditions"].push_back(std::move(one));
    }
    j["stacks"].push_back(std::move(stack));
  }
  return j;
}

}  // namespace cufault
