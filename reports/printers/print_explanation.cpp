// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/print_explanation.hpp"

#include "reports/base/json_input.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

constexpr std::size_t most_remedies = 4, most_words = 4;

std::string state_line(const process_state& s) {
  const std::string why = s.why.empty() ? "" : " (" + s.why + ")";
  if (s.state == "lost") return "This process is lost" + why + ": start a new one.";
  if (s.state == "usable") return "This process can go on" + why + ".";
  if (s.state == "ended") return "This process has ended" + why + ".";
  return "Whether this process can go on is not known" + why + ".";
}

/// Statuses that no library returns, in words. Records have the name of the exception in their place.
std::string status_text(const std::string& status) {
  if (status == "SHAPES_REFUSED") return "the framework refused the shapes of the operands";
  if (status == "TYPES_REFUSED") return "the framework refused the types of the operands";
  if (status == "DEVICES_REFUSED") return "the framework refused operands on different devices";
  if (status == "INDEX_REFUSED") return "the framework refused an index";
  if (status == "CUDNN_NO_ENGINE") return "cuDNN found no algorithm";
  return status;
}

std::string event_text(const log_event& e) {
  return e.line > 0 ? fmt::format("line {}: \"{}\"", e.line, e.words) : e.words;
}

std::string failure_text(const log_event& e) {
  if (e.role == event_role::cause) return event_text(e);
  const std::string said = status_text(e.status), text = e.call.empty() ? said : e.call + ": " + said;
  return e.line > 0 ? fmt::format("line {}: {}", e.line, text) : text;
}

std::string time_text(double seconds) {
  return seconds < 120 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

std::string seen_text(const ranked_cause& c) {
  std::vector<std::string> parts;
  if (c.natural_trials > 0)
    parts.push_back(fmt::format("measured: {} of {} on {}", plural(c.natural_trials, "trial"),
                                plural(c.natural_arms.size(), "arm"), plural(c.stacks.size(), "stack")));
  if (c.injected_trials > 0) parts.push_back(fmt::format("made up: {}", plural(c.injected_trials, "trial")));
  if (c.natural_trials == 0) parts.emplace_back("no record shows this cause of it");
  if (c.reports > 0) parts.push_back(fmt::format("reported, not measured: {}", plural(c.reports, "source")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

void line(std::ostream& out, std::string_view head, const std::string& text) {
  out << fmt::format("   {:<14} {}\n", head, text);
}

/// Each stack on which it was measured says what it costs.
std::string costs_text(const cost_notes& costs, const std::string& arm) {
  std::string text;
  for (const auto& [stack, of_stack] : costs)
    if (const std::string note = note_of(costs, stack, remedy_of_arm(arm)); !note.empty())
      text += fmt::format("; {} on {}", note, stack);
  return text;
}

void print_remedies(std::ostream& out, std::string_view head, const std::vector<tried_remedy>& all,
                    const cost_notes& costs = {}) {
  for (std::size_t i = 0; i < std::min(all.size(), most_remedies); ++i) {
    const tried_remedy& t = all[i];
    const std::string stacks = t.cleared > 0 && t.failed > 0
                                   ? fmt::format("cleared it on {}, not on {}", plural(t.cleared, "stack"),
                                                 plural(t.failed, "stack"))
                                   : plural(t.cleared + t.failed, "stack");
    line(out, i == 0 ? head : "",
         fmt::format("{} ({}: {}){}", one_line(t.words), t.arm, stacks, costs_text(costs, t.arm)));
  }
  if (all.size() > most_remedies) line(out, "", fmt::format("and {} more", all.size() - most_remedies));
}

void print_cause(std::ostream& out, std::size_t place, const explanation& e, const cost_notes& costs) {
  const ranked_cause& c = e.causes[place];
  out << fmt::format("{}. {} ({}): {}\n", place + 1, c.what->id, to_string(c.sure), c.what->text);
  for (std::size_t i = 0; i < std::min(c.words.size(), most_words); ++i)
    line(out, i == 0 ? "the log says" : "", event_text(c.words[i]));
  for (std::size_t i = 0; i < std::min(c.machine.size(), most_words); ++i)
    line(out, i == 0 ? "this machine" : "", one_line(c.machine[i]));
  line(out, "seen", seen_text(c));
  if (c.next) {
    line(out, "check next", fmt::format("{} ({})", c.next->text, time_text(c.next->seconds)));
    std::vector<std::string> others;
    for (std::size_t i = 0; i < e.causes.size(); ++i)
      if (std::find(c.next->others.begin(), c.next->others.end(), e.causes[i].what->id) !=
          c.next->others.end())
        others.push_back(std::to_string(i + 1));
    line(out, "",
         fmt::format(
             "this cause: {}{}{}", c.next->says,
             c.next->of_records > 0 ? fmt::format(" ({})", plural(c.next->of_records, "recorded trial")) : "",
             others.empty() ? "" : fmt::format("; otherwise under {}", fmt::join(others, " and "))));
  }
  print_remedies(out, "clears it", c.clears, costs);
  print_remedies(out, "does not", c.does_not_clear);
  if (c.clears.empty())
    for (const std::string& said : c.what->said_to_clear)
      line(out, "said to clear", said + " (not measured)");
  if (!c.reproduce.empty()) line(out, "see it here", c.reproduce);
}

/// GPUs that the log names, if the records that are shown are of none of them.
std::string unmeasured_gpus(const explanation& e) {
  const auto gpus = e.log.facts.find("gpu");
  if (gpus == e.log.facts.end() || !e.from_records) return {};
  for (const ranked_cause& c : e.causes)
    for (const std::string& stack : c.stacks)
      for (const std::string& gpu : gpus->second)
        if (stack.find(gpu) != std::string::npos) return {};
  return fmt::format("{}", fmt::join(gpus->second, ", "));
}

nlohmann::ordered_json event_json(const log_event& e) {
  nlohmann::ordered_json json;
  if (e.line > 0) json["line"] = e.line;
  json["event"] = e.id;
  json["words"] = e.words;
  return json;
}

nlohmann::ordered_json remedies_json(const std::vector<tried_remedy>& all) {
  auto list = nlohmann::ordered_json::array();
  for (const tried_remedy& t : all)
    list.push_back(
        {{"text", t.words}, {"arm", t.arm}, {"stacks_cleared", t.cleared}, {"stacks_failed", t.failed}});
  return list;
}

nlohmann::ordered_json cause_json(const ranked_cause& c) {
  nlohmann::ordered_json json;
  json["class"] = c.what->cause_class();
  json["cause"] = c.what->id;
  json["text"] = c.what->text;
  json["confidence"] = to_string(c.sure);
  auto words = nlohmann::ordered_json::array();
  for (const log_event& e : c.words) words.push_back(event_json(e));
  json["evidence"] = {
      {"log", std::move(words)},
      {"machine", c.machine},
      {"measured", {{"trials", c.natural_trials}, {"arms", c.natural_arms}, {"stacks", c.stacks}}},
      {"injected_trials", c.injected_trials},
      {"reports", c.reports}};
  if (c.next)
    json["next_check"] = {{"text", c.next->text},
                          {"seconds", c.next->seconds},
                          {"says", c.next->says},
                          {"tells_from", c.next->others},
                          {"recorded_trials", c.next->of_records}};
  json["clears"] = remedies_json(c.clears);
  json["does_not_clear"] = remedies_json(c.does_not_clear);
  json["said_to_clear"] = c.what->said_to_clear;
  if (!c.reproduce.empty()) json["reproduce"] = c.reproduce;
  return json;
}

}  // namespace

void print_explanation(std::ostream& out, const explanation& e, const std::string& log,
                       const cost_notes& costs) {
  if (e.causes.empty()) {
    const std::string where = fmt::format("{}: {}", one_line(log), plural(e.log.lines, "line"));
    if (e.failure)
      out << fmt::format("No cause is known of {} ({}).\n", failure_text(*e.failure), where);
    else
      out << fmt::format("No failure of a GPU library in this log ({}).\n", where);
    if (e.aside)
      out << fmt::format("Something else: {}{}\n", event_text(*e.aside),
                         e.aside_cause == nullptr ? "" : ": " + e.aside_cause->text);
    out << "Next: cufault doctor -- COMMAND checks this machine and runs the command under the tracer; "
           "cufault "
           "trace -- COMMAND only traces it.\n";
    return;
  }
  out << state_line(e.process) << '\n';
  if (e.failure) out << "First failure that can be causal: " << failure_text(*e.failure) << '\n';
  std::vector<std::string> facts;
  for (const auto& [name, values] : e.log.facts)
    if (name == "gpu" || name == "driver" || name == "cuda" || name == "built_for_cuda" ||
        name == "framework" || name == "cublas")
      facts.push_back(fmt::format("{} {}", name, fmt::join(values, ", ")));
  if (!facts.empty()) out << fmt::format("The log names: {}\n", fmt::join(facts, "; "));
  if (const std::string gpus = unmeasured_gpus(e); !gpus.empty())
    out << fmt::format("No record behind this answer is of {}.\n", gpus);
  if (!e.machine.empty()) out << fmt::format("This machine: {}\n", e.machine);
  if (!e.from_records)
    out << "No record shows this failure: the order is that of reports, which are not measurements.\n";
  for (std::size_t i = 0; i < e.causes.size(); ++i) {
    out << '\n';
    print_cause(out, i, e, costs);
  }
}

nlohmann::ordered_json explanation_json(const explanation& e, const std::string& log) {
  nlohmann::ordered_json json;
  json["schema"] = explanation_schema;
  json["rules"] = explain_rules;
  json["log"] = {{"name", one_line(log)},
                 {"bytes", e.log.bytes},
                 {"lines", e.log.lines},
                 {"lines_in_parts", e.log.cut_lines},
                 {"events_dropped", e.log.dropped}};
  if (!e.machine.empty()) json["machine"] = e.machine;
  json["process"] = {{"state", e.process.state},
                     {"why", e.process.why},
                     {"trials_lost", e.process.damaged},
                     {"trials_usable", e.process.usable}};
  if (e.failure) {
    json["failure"] = event_json(*e.failure);
    json["failure"]["status"] = e.failure->status;
    if (!e.failure->call.empty()) json["failure"]["call"] = e.failure->call;
  }
  if (e.aside) {
    json["aside"] = event_json(*e.aside);
    if (e.aside_cause != nullptr) json["aside"]["text"] = e.aside_cause->text;
  }
  json["answer"] = !e.causes.empty() ? "causes" : e.failure ? "no cause known" : "no failure";
  json["basis"] = e.causes.empty() ? "none" : e.from_records ? "records" : "reports";
  auto causes = nlohmann::ordered_json::array();
  for (const ranked_cause& c : e.causes) causes.push_back(cause_json(c));
  json["causes"] = std::move(causes);
  auto events = nlohmann::ordered_json::array();
  for (const log_event& found : e.log.events) {
    auto one = event_json(found);
    one["role"] = name_of(found.role);
    if (!found.status.empty()) one["status"] = found.status;
    if (!found.call.empty()) one["call"] = found.call;
    if (found.times > 1) one["times"] = found.times;
    events.push_back(std::move(one));
  }
  json["events"] = std::move(events);
  json["facts"] = e.log.facts;
  return json;
}

}  // namespace cufault
