// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/operation_calls.hpp"

#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"
#include "reports/model/cell_name.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
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

/// Replaces the call by the call sign in the steps of all trials.
void replace_by_call_sign(nlohmann::ordered_json& line, std::string_view call_name) {
  for (auto& trial : line.at("trials"))
    for (const char* list : {"calls", "after"}) {
      if (!trial.contains(list)) continue;
      for (auto& call : trial[list]) {
        auto& step = call.is_object() ? call.at("step") : call;
        const auto& text = step.get_ref<const std::string&>();
        if (is_step_named(text, call_name)) step = std::string(call_sign) + text.substr(call_name.size());
      }
    }
}

/// Those of all trials that have the call sign. What has another shape than a line of an arm is left to who reads the arm.
std::vector<json_cursor> steps_with_call_sign(const json_cursor& line) {
  std::vector<json_cursor> found;
  const auto trials = line.find("trials");
  if (!trials || !trials->is_array()) return found;
  for (const json_cursor& trial : trials->items())
    for (const char* name : {"calls", "after"}) {
      const auto list = trial.is_object() ? trial.find(name) : std::nullopt;
      if (!list || !list->is_array()) continue;
      for (const json_cursor& call : list->items()) {
        const auto step = call.is_object() ? call.find("step") : call;
        if (step && step->is_string() && is_step_named(step->text(), call_sign)) found.push_back(*step);
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
  if (known != calls.end() && !line.contains("base_hash")) replace_by_call_sign(line, known->second);
  return line;
}

bool may_have_call_sign(std::string_view line) {
  return line.find(fmt::format("\"{}", call_sign)) != line.npos;
}

void restore_calls(const json_cursor& line, const operation_calls& calls,
                   const std::function<bool(const std::string&)>& wanted, std::size_t& room,
                   const std::function<void(const json_cursor& own,
                                            const std::function<bool(const std::string&)>& taken)>& take) {
  const std::vector<json_cursor> steps = steps_with_call_sign(line);
  if (steps.empty()) return take(line, wanted);
  std::map<std::string, std::set<std::string>> arms;  // by operation
  const auto add = [&](const std::string& arm) {
    if (!wanted || wanted(arm)) arms[operation_of(arm)].insert(arm);
  };
  if (const auto several = line.find("arms"))
    for (const auto& [arm, time] : several->members()) add(arm);
  else
    add(line.at("arm").string());
  std::size_t text = 0;
  for (const json_cursor& step : steps) text += step.text().size();
  for (const auto& [operation, of_it] : arms) {
    const auto call = calls.find(operation);
    if (operation.empty())
      line.fail(fmt::format("a step is \"{}\", but {} is no cell of the matrix", call_sign,
                            one_line(*of_it.begin())));
    if (call == calls.end())
      line.fail(fmt::format(
          "a step is \"{}\", but the file does not state the call of {}; add it to the first line, "
          "{{\"operations\": {{...}}}}",
          call_sign, operation));
    const std::size_t needed = line.bytes_of_text() + text + steps.size() * call->second.size();
    if (needed > room) line.fail("more is shared than fits into memory; state it in each arm");
    room -= needed;
    std::vector<std::string> restored;
    for (const json_cursor& step : steps)
      restored.push_back(call->second + std::string(step.text().substr(call_sign.size())));
    std::vector<std::pair<json_cursor, std::string_view>> texts;
    for (std::size_t n = 0; n < steps.size(); ++n) texts.emplace_back(steps[n], restored[n]);
    take(line.with_texts(texts), [&names = of_it](const std::string& arm) { return names.contains(arm); });
  }
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
