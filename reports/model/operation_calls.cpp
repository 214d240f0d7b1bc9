// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/operation_calls.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/model/cell_name.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace cufault {
namespace {

std::string operation_of(std::string_view arm) {
  const auto cell = cell_named(arm);
  return cell ? cell->operation : std::string();
}

/// Whether the text of a step begins with this name of it, and not with a longer one.
bool is_step_named(std::string_view text, std::string_view name) {
  return text.starts_with(name) &&
         (text.size() == name.size() || text[name.size()] == ',' || text[name.size()] == ':');
}

/// In the steps of all trials of a line. Whether any was called so.
template <class Json>
bool rename_steps(Json& line, std::string_view from, std::string_view to) {
  bool found = false;
  if (!line.contains("trials") || !line["trials"].is_array()) return found;
  for (Json& trial : line["trials"])
    for (const char* list : {"calls", "after"}) {
      if (!trial.is_object() || !trial.contains(list) || !trial[list].is_array()) continue;
      for (Json& call : trial[list]) {
        Json& step = call.is_object() && call.contains("step") ? call["step"] : call;
        if (!step.is_string()) continue;
        const auto text = step.template get<std::string>();
        if (!is_step_named(text, from)) continue;
        step = std::string(to) + text.substr(from.size());
        found = true;
      }
    }
  return found;
}

}  // namespace

operation_calls calls_of_operations(const std::vector<case_result*>& cases) {
  std::map<std::string, std::map<std::string, int>> first;
  for (const case_result* c : cases)
    for (const arm_result& arm : c->arms) {
      const std::string operation = operation_of(arm.name);
      if (operation.empty() || arm.trials.empty() || arm.trials[0].calls.empty()) continue;
      ++first[operation][describe(arm.trials[0].calls[0].what.name)];
    }
  operation_calls calls;
  for (const auto& [operation, names] : first)
    calls[operation] = std::max_element(names.begin(), names.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->first;
  return calls;
}

nlohmann::ordered_json operations_json(const operation_calls& calls) {
  return {{"operations", calls}};
}

operation_calls operations_from(const json_cursor& at) {
  at.only({"operations"});
  operation_calls calls;
  for (const auto& [operation, call] : at.at("operations").members()) calls[operation] = call.string();
  return calls;
}

nlohmann::ordered_json without_own_call(nlohmann::ordered_json line, const operation_calls& calls) {
  const auto known = calls.find(operation_of(line.at("arm").get<std::string>()));
  if (known != calls.end() && !line.contains("base_hash")) rename_steps(line, known->second, own_call);
  return line;
}

bool may_have_own_call(std::string_view line) {
  return line.find(fmt::format("\"{}", own_call)) != line.npos;
}

std::vector<std::string> with_own_calls(const json_cursor& line, const operation_calls& calls,
                                        const std::function<bool(const std::string&)>& wanted,
                                        std::size_t& room) {
  const bool several = line.has("arms");
  std::map<std::string, nlohmann::json> arms;  // by operation
  const auto add = [&](const std::string& arm, const nlohmann::json& time) {
    if (!wanted || wanted(arm)) arms[operation_of(arm)][arm] = time;
  };
  if (several)
    for (const auto& [arm, time] : line.at("arms").members()) add(arm, time.value());
  else
    add(line.at("arm").string(), nullptr);
  nlohmann::json shared = line.value();
  shared.erase("arms");
  std::vector<std::string> lines;
  for (const auto& [operation, of_it] : arms) {
    nlohmann::json own = shared;
    if (several) own["arms"] = of_it;
    const auto call = calls.find(operation);
    if (rename_steps(own, own_call, call == calls.end() ? own_call : std::string_view(call->second)) &&
        call == calls.end())
      line.fail(fmt::format(
          "a step is \"{}\", and the file does not say what {} calls; state it in its first line, "
          "{{\"operations\": {{...}}}}",
          own_call, operation.empty() ? "an arm that is no cell" : operation));
    lines.push_back(dump_json(own));
    if (lines.back().size() > room) line.fail("more is shared than fits into memory; state it in each arm");
    room -= lines.back().size();
  }
  return lines;
}

std::vector<plateau> without_own_call(std::vector<plateau> seen, std::string_view arm) {
  if (!cell_named(arm) || seen.empty()) return seen;
  const auto is_call = [](const step& s) { return !s.name.api.starts_with("check."); };
  const signature& first = seen[0].seen;
  auto found = std::ranges::find_if(first.fault, is_call);
  if (found == first.fault.end()) {
    found = std::ranges::find_if(first.after, is_call);
    if (found == first.after.end()) return seen;
  }
  const step_name call = found->name;
  for (plateau& each : seen)
    for (std::vector<step>* list : {&each.seen.fault, &each.seen.after})
      for (step& s : *list)
        if (s.name == call) s.name = {std::string(own_call), {}};
  return seen;
}

}  // namespace cufault
