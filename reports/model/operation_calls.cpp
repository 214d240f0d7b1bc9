// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/operation_calls.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"
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

/// Whether the text of a step ("API VARIANT, NUMBERS: STATUS") has exactly this API and variant.
bool is_step_named(std::string_view text, std::string_view name) {
  return text.starts_with(name) &&
         (text.size() == name.size() || text[name.size()] == ',' || text[name.size()] == ':');
}

/// A call of a library, not work of cufault's own.
bool is_call(const step_name& name) {
  return !name.api.starts_with("check.");
}

/// Replaces `from` by `to` in the steps of all trials. Returns how many steps had it.
template <class Json>
std::size_t rename_steps(Json& line, std::string_view from, std::string_view to) {
  std::size_t found = 0;
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
        ++found;
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
      if (operation.empty() || arm.trials.empty()) continue;
      const auto& made = arm.trials[0].calls;
      const auto call = std::ranges::find_if(made, [](const call_record& r) { return is_call(r.what.name); });
      if (call != made.end()) ++first[operation][describe(call->what.name)];
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
  for (const auto& [operation, call] : at.at("operations").members()) {
    if (!is_word(operation)) call.fail("the name of an operation is of a-z, 0-9 and '_'");
    const std::string text = call.string();
    const auto space = std::min(text.find(' '), text.size());
    const step_name name{text.substr(0, space), space < text.size() ? text.substr(space + 1) : ""};
    if (const auto defect = defect_of(name); !defect.empty()) call.fail(defect);
    if (!is_call(name)) call.fail("check.* is no call of an operation");
    calls[operation] = text;
  }
  return calls;
}

nlohmann::ordered_json with_call_sign(nlohmann::ordered_json line, const operation_calls& calls) {
  const auto known = calls.find(operation_of(line.at("arm").get<std::string>()));
  if (known != calls.end() && !line.contains("base_hash")) rename_steps(line, known->second, call_sign);
  return line;
}

bool may_have_call_sign(std::string_view line) {
  return line.find(fmt::format("\"{}", call_sign)) != line.npos;
}

std::vector<std::string> restore_calls(const json_cursor& line, const operation_calls& calls,
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
  const std::size_t steps = rename_steps(shared, call_sign, call_sign), bytes = dump_json(shared).size();
  std::vector<std::string> lines;
  for (const auto& [operation, of_it] : arms) {
    const auto call = calls.find(operation);
    if (steps > 0 && operation.empty())
      line.fail(fmt::format("a step is \"{}\", but {} is no cell of the matrix", call_sign,
                            one_line(of_it.begin().key())));
    if (steps > 0 && call == calls.end())
      line.fail(fmt::format(
          "a step is \"{}\", but the file does not state the call of {}; add it to the first line, "
          "{{\"operations\": {{...}}}}",
          call_sign, operation));
    const std::size_t needed = bytes + (steps > 0 ? steps * call->second.size() : 0);
    if (needed > room) line.fail("more is shared than fits into memory; state it in each arm");
    room -= needed;
    nlohmann::json restored = shared;
    if (several) restored["arms"] = of_it;
    if (steps > 0) rename_steps(restored, call_sign, call->second);
    lines.push_back(dump_json(restored));
  }
  return lines;
}

std::vector<plateau> with_call_sign_for_digest(std::vector<plateau> seen, std::string_view arm) {
  if (!cell_named(arm) || seen.empty()) return seen;
  const signature& first = seen[0].seen;
  const auto calls_name = [](const step& s) { return is_call(s.name); };
  auto found = std::ranges::find_if(first.fault, calls_name);
  if (found == first.fault.end()) {
    found = std::ranges::find_if(first.after, calls_name);
    if (found == first.after.end()) return seen;
  }
  const step_name call = found->name;
  for (plateau& each : seen)
    for (std::vector<step>* list : {&each.seen.fault, &each.seen.after})
      for (step& s : *list)
        if (s.name == call) s.name = {std::string(call_sign), {}};
  return seen;
}

}  // namespace cufault
