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
#include <set>
#include <span>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

constexpr std::size_t most_remedies = 4, most_words = 4;
/// Of the first answer.
constexpr std::size_t answer_lines = 10, columns = 100, narrow_columns = 60;
constexpr int most_given = 9;

std::size_t width_in(const terminal& shown) {
  return shown.width == 0 ? columns : std::min(columns, shown.width);
}

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
  if (status == "COLLECTIVE_TIMEOUT") return "a collective timed out";
  if (status == "LAUNCH_REFUSED") return "the driver refused a launch";
  return status;
}

std::string event_text(const log_event& e) {
  return e.line > 0 ? fmt::format("line {}: \"{}\"", e.line, e.words) : e.words;
}

std::string failure_text(const log_event& e) {
  if (e.role == event_role::cause) return event_text(e);
  if (e.driver) return fmt::format("line {}: {}", e.line, e.words);
  std::string said = status_text(e.status);
  // In the words of the log, where those are not the name of the error.
  if (said == e.status && e.words.find(e.status) == std::string::npos && !e.words.empty())
    said = fmt::format("\"{}\" ({})", e.words, said);
  const std::string text = e.call.empty() ? said : e.call + ": " + said;
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

/// "rank 3 is the first of 8, by time"; empty where the log is of one.
std::string ranks_text(const failing_ranks& r) {
  if (r.all < 2) return {};
  return fmt::format("rank {} is the first of {}, by {}", r.first, r.all, r.by_time ? "time" : "order");
}

void line(std::ostream& out, std::string_view head, const std::string& text) {
  print_entry(out, fmt::format("   {:<14} ", head), text);
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
  print_entry(out, fmt::format("{}. ", place + 1),
              fmt::format("{} ({}): {}", c.what->id, how_sure(c), c.text));
  for (std::size_t i = 0; i < std::min(c.words.size(), most_words); ++i)
    line(out, i == 0 ? "the log says" : "", event_text(c.words[i]));
  for (std::size_t i = 0; i < std::min(c.machine.size(), most_words); ++i)
    line(out, i == 0 ? "this machine" : "", one_line(c.machine[i]));
  line(out, "seen", seen_text(c));
  if (c.next) {
    line(out, "check next", fmt::format("{} ({})", c.next->text, time_text(c.next->seconds)));
    std::vector<std::string> others;
    for (std::size_t i = 0; i < e.causes.size(); ++i)
      if (std::ranges::find(c.next->others, e.causes[i].what->id) != c.next->others.end())
        others.push_back(std::to_string(i + 1));
    line(out, "",
         fmt::format(
             "this cause: {}{}{}", c.next->says,
             c.next->of_records > 0 ? fmt::format(" ({})", plural(c.next->of_records, "recorded trial")) : "",
             others.empty() ? "" : fmt::format("; otherwise under {}", fmt::join(others, " and "))));
  }
  for (const std::string& said : c.cures) line(out, "said to clear", said + " (not measured)");
  print_remedies(out, "clears it", c.clears, costs);
  print_remedies(out, "does not", c.does_not_clear);
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

/// Of the records of the causes, each once.
std::set<std::string> measured_gpus(const explanation& e) {
  std::set<std::string> gpus;
  for (const ranked_cause& c : e.causes)
    for (const std::string& stack : c.stacks) {
      const auto from = stack.find(", "), to = stack.find(", driver");
      if (to == std::string::npos || from >= to) continue;
      std::string gpu = stack.substr(from + 2, to - from - 2);
      if (gpu.starts_with("NVIDIA ")) gpu.erase(0, 7);
      gpus.insert(std::move(gpu));
    }
  return gpus;
}

nlohmann::ordered_json event_json(const log_event& e) {
  nlohmann::ordered_json json;
  if (e.line > 0) json["line"] = e.line;
  json["event"] = e.id;
  json["words"] = e.words;
  if (e.ratio) json["ratio"] = *e.ratio;
  return json;
}

nlohmann::ordered_json events_json(const std::vector<log_event>& all) {
  auto list = nlohmann::ordered_json::array();
  for (const log_event& e : all) list.push_back(event_json(e));
  return list;
}

nlohmann::ordered_json remedies_json(const std::vector<tried_remedy>& all) {
  auto list = nlohmann::ordered_json::array();
  for (const tried_remedy& t : all)
    list.push_back(
        {{"text", t.words}, {"arm", t.arm}, {"stacks_cleared", t.cleared}, {"stacks_failed", t.failed}});
  return list;
}

nlohmann::ordered_json cause_json(const ranked_cause& c, const explanation& e) {
  nlohmann::ordered_json json;
  json["class"] = c.what->cause_class();
  json["cause"] = c.what->id;
  json["text"] = c.text;
  json["confidence"] = to_string(c.sure);
  json["how_sure"] = how_sure(c);
  json["rests_on"] = one_line(rests_on(c, e));
  json["evidence"] = {
      {"log", events_json(c.words)},
      {"against", events_json(c.against)},
      {"machine", c.machine},
      {"measured", {{"trials", c.natural_trials}, {"arms", c.natural_arms}, {"stacks", c.stacks}}},
      {"injected_trials", c.injected_trials},
      {"reports", c.reports}};
  if (c.next) {
    json["next_check"] = {{"text", c.next->text},
                          {"seconds", c.next->seconds},
                          {"says", c.next->says},
                          {"tells_from", c.next->others},
                          {"recorded_trials", c.next->of_records}};
    if (c.next->answered) {
      json["next_check"]["answered"] = event_json(*c.next->answered);
      json["next_check"]["holds"] = c.next->holds;
    }
  }
  json["clears"] = remedies_json(c.clears);
  json["does_not_clear"] = remedies_json(c.does_not_clear);
  json["said_to_clear"] = c.cures;
  if (!c.reproduce.empty()) json["reproduce"] = c.reproduce;
  return json;
}

/// A program for GPUs of another vendor is not helped by `why`.
std::string next_step(const explanation& e) {
  const auto by_driver = std::ranges::find_if(
      e.log.events, [](const log_event& event) { return event.id.starts_with("driver."); });
  if (by_driver != e.log.events.end())
    return fmt::format("Next: cufault messages '{}': what had happened where the driver said this",
                       one_line(by_driver->words));
  if (e.aside && e.aside->id == "process.other_gpu") return {};
  return "Next: cufault why -- COMMAND runs it once, and says which call failed";
}

std::string without_cause(const explanation& e, const std::string& log) {
  const std::string where = fmt::format("({}: {})", one_line(log), plural(e.log.lines, "line"));
  if (e.failure) return fmt::format("No cause is known of {} {}.", failure_text(*e.failure), where);
  if (e.not_understood) return fmt::format("Not understood: {} {}", event_text(*e.not_understood), where);
  return fmt::format("No failure of a GPU library in this log {}.", where);
}

/// Empty where a record is of it, or where the causes are of its status itself.
std::string unmeasured_library(const explanation& e) {
  const status_library* const of = e.kind.empty() ? nullptr : library_of_status(e.failure->status);
  return e.kind.empty() ? ""
                        : fmt::format("not measured with {}: causes are those of similar statuses",
                                      of == nullptr ? "this library" : of->title);
}

std::string tells_apart(const explanation& e) {
  return e.tell_apart.empty() ? "" : e.tell_apart + ": the log does not tell which of these it is";
}

/// What cleared it in records, and what did not: of the foremost remedies the one in the fewest words.
std::string tried_first(const ranked_cause& c) {
  std::vector<std::string> said;
  const auto add = [&](std::string_view head, const std::vector<tried_remedy>& all) {
    const auto foremost = std::span(all).first(std::min(all.size(), most_remedies));
    if (foremost.empty()) return;
    const auto size = [](const tried_remedy& t) { return t.words.size(); };
    said.push_back(fmt::format("{}: {}", head, std::ranges::min(foremost, {}, size).words));
  };
  add("cleared it", c.clears);
  add("did not", c.does_not_clear);
  return fmt::format("{}", fmt::join(said, "; "));
}

/// A check of this machine decided.
bool is_found_here(const ranked_cause& c) {
  return c.sure == confidence::named && c.words.empty();
}

/// What clears it, by documents, else by records; empty where neither says.
std::string fix_text(const ranked_cause& c) {
  if (!c.cures.empty()) return c.cures.front() + " (not measured)";
  return c.clears.empty() ? "" : c.clears.front().words + " (measured)";
}

std::string next_check_text(const ranked_cause& c) {
  if (is_found_here(c)) return "made on this machine: " + c.machine.front();
  if (!c.next) return {};
  const next_check& check = *c.next;
  if (!check.answered) return fmt::format("{} If it is this: {}.", check.text, check.says);
  const std::string by = check.answered->line > 0 ? fmt::format("line {}", check.answered->line) : "the log";
  const std::string against = check.holds ? "" : "; that speaks against it";
  // `Why` has these words already.
  if (!c.words.empty() && c.words.front().words == check.answered->words)
    return "answered by " + by + against;
  return fmt::format("answered by {}: {}{}", by, check.answered->words, against);
}

}  // namespace

std::vector<answer_row> answer_rows(const explanation& e) {
  if (e.causes.empty()) {
    if (!e.aside) return {};
    const std::string said = event_text(*e.aside);
    if (e.aside->driver) return {{"", "The driver said: " + said}};
    return {{"", fmt::format("Something else: {}{}", said,
                             e.aside_cause == nullptr ? "" : ": " + e.aside_cause->text)}};
  }
  const ranked_cause& c = e.causes.front();
  std::string failed = failure_text(e.failure ? *e.failure : c.words.front());
  if (const std::string ranks = ranks_text(e.ranks); !ranks.empty())
    failed += "; " + ranks;
  else if (e.failure && e.failure->rank >= 0)
    failed += fmt::format("; rank {}", e.failure->rank);
  const bool behind = e.driver && !(e.failure && e.failure->driver);
  std::vector<std::string> notes;
  if (e.process.state == "lost" && c.what->cause_class() != "environment_other")
    notes.emplace_back("this process is lost: start a new one");
  if (const std::string gpus = unmeasured_gpus(e); !gpus.empty())
    notes.push_back(fmt::format("measured on {}, not on {}", fmt::join(measured_gpus(e), " and "), gpus));
  else if (!e.kind.empty())
    notes.push_back(unmeasured_library(e));
  else if (!e.from_records)
    notes.emplace_back("no record shows this failure");
  if (!c.machine.empty() && !c.words.empty()) notes.push_back("this machine: " + c.machine.front());
  std::vector<answer_row> rows{{"Failed", failed, 4, 1},
                               {"Driver", behind ? failure_text(*e.driver) : "", 5},
                               {"Cause", c.text, 2, 1},
                               {"Why", is_found_here(c) ? how_sure(c) : rests_on(c, e), 2, 1},
                               {"Check", next_check_text(c)},
                               {"Fix", fix_text(c)},
                               {"Tried", is_found_here(c) ? "" : tried_first(c), 7},
                               {"Known", e.known_issues.empty() ? "" : e.known_issues.front(), 5, 1}};
  for (std::size_t i = 1; i < e.causes.size(); ++i)
    rows.push_back({"Or", fmt::format("{}. {}", i + 1, e.causes[i].text),
                    i == 1 && c.sure != confidence::named ? 6 : most_given});
  rows.push_back({"Note", fmt::format("{}", fmt::join(notes, "; ")), 3});
  rows.push_back({"More", e.page == nullptr ? "--more" : "--more; " + e.page->command(), 1});
  return rows;
}

void print_rows(std::ostream& out, std::vector<answer_row> rows, const terminal& shown,
                std::size_t most_lines) {
  const std::size_t width = width_in(shown);
  const bool narrow = width < narrow_columns;
  std::erase_if(rows, [](const answer_row& r) { return r.text.empty(); });
  // All answers of a command look alike, whichever rows they have.
  const bool long_heads = std::ranges::any_of(rows, [](const answer_row& r) { return r.head.size() > 6; });
  const std::size_t indent = narrow ? 2 : long_heads ? 13 : 8;
  std::size_t lines = 0;
  std::vector<std::vector<std::string>> parts;
  for (const answer_row& r : rows) {
    const std::string text = one_line(narrow && !r.head.empty() ? r.head + ": " + r.text : r.text);
    lines += parts.emplace_back(wrapped(text, width - (r.head.empty() ? 0 : indent))).size();
  }
  for (int gives = most_given; gives > 0; --gives)
    for (std::size_t i = rows.size(); i-- > 0;) {
      if (rows[i].gives != gives || lines <= most_lines || parts[i].size() <= rows[i].least) continue;
      const std::size_t over = lines - most_lines, had = parts[i].size();
      const std::size_t kept = rows[i].least == 0 ? 0 : std::max(rows[i].least, had - std::min(over, had));
      parts[i].resize(kept);
      lines -= had - kept;
      if (kept == 0) continue;
      std::string& last = parts[i].back();
      while (last.size() + 4 > width - indent && last.find(' ') != std::string::npos)
        last.resize(last.rfind(' '));
      last = last.substr(0, width - indent - 4) + " ...";
    }
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < parts[i].size(); ++j) {
      const std::string head = rows[i].head.empty() || (narrow && j == 0)
                                   ? ""
                                   : fmt::format("{:<{}}", narrow || j > 0 ? "" : rows[i].head, indent);
      out << painted(head, paint::bold, shown) << parts[i][j] << '\n';
    }
}

void print_first_answer(std::ostream& out, const explanation& e, const std::string& log) {
  std::vector<answer_row> rows = answer_rows(e);
  if (e.causes.empty()) {
    rows.insert(rows.begin(), {"", without_cause(e, log)});
    rows.push_back({"", next_step(e)});
  } else {
    rows.insert(rows.begin() + 1, {"Run", tells_apart(e)});
  }
  // What tells all causes apart stands in the place of what tells the first one from the others.
  if (!e.tell_apart.empty())
    for (answer_row& r : rows) {
      if (r.head == "Check") r.text.clear();
      if (r.head == "Or") r.gives = 2;
    }
  print_rows(out, std::move(rows), terminal_of(out), answer_lines);
}

void print_explanation(std::ostream& out, const explanation& e, const std::string& log,
                       const cost_notes& costs) {
  if (e.causes.empty()) {
    print_first_answer(out, e, log);
    return;
  }
  if (e.process.state != "ended") out << state_line(e.process) << '\n';
  if (e.failure) out << "First failure that can be causal: " << failure_text(*e.failure) << '\n';
  if (e.driver) out << "The driver said: " << failure_text(*e.driver) << '\n';
  if (const std::string ranks = ranks_text(e.ranks); !ranks.empty())
    out << "Of the ranks, " << ranks << ".\n";
  std::vector<std::string> facts;
  for (const auto& [name, values] : e.log.facts)
    if (name == "gpu" || name == "driver" || name == "cuda" || name == "built_for_cuda" ||
        name == "framework" || name == "cublas")
      facts.push_back(fmt::format("{} {}", name, fmt::join(values, ", ")));
  if (!facts.empty()) out << fmt::format("The log names: {}\n", fmt::join(facts, "; "));
  if (const std::string gpus = unmeasured_gpus(e); !gpus.empty())
    out << fmt::format("No record behind this answer is of {}.\n", gpus);
  if (!e.machine.empty()) out << fmt::format("This machine: {}\n", e.machine);
  if (!e.tell_apart.empty()) out << "Run " << tells_apart(e) << ".\n";
  if (!e.kind.empty()) out << "It is " << unmeasured_library(e) << ".\n";
  if (!e.from_records)
    out << "No record shows this failure: the order is that of reports, which are not measurements.\n";
  for (std::size_t i = 0; i < e.causes.size(); ++i) {
    out << '\n';
    print_cause(out, i, e, costs);
  }
  for (const std::string& issue : e.known_issues) out << "\nKnown issue: " << one_line(issue) << '\n';
  if (e.page != nullptr) out << "\nPage: " << e.page->command() << '\n';
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
    if (e.failure->rank >= 0) json["failure"]["rank"] = e.failure->rank;
  }
  if (e.driver) {
    json["driver"] = event_json(*e.driver);
    json["driver"]["status"] = e.driver->status;
    json["driver"]["function"] = e.driver->call;
  }
  if (e.ranks.all > 1)
    json["ranks"] = {
        {"first", e.ranks.first}, {"that_fail", e.ranks.all}, {"by", e.ranks.by_time ? "time" : "order"}};
  if (e.aside) {
    json["aside"] = event_json(*e.aside);
    if (e.aside_cause != nullptr) json["aside"]["text"] = e.aside_cause->text;
  }
  json["answer"] = !e.causes.empty()  ? "causes"
                   : e.failure        ? "no cause known"
                   : e.not_understood ? "not understood"
                                      : "no failure";
  if (e.not_understood) json["not_understood"] = event_json(*e.not_understood);
  if (e.page != nullptr) json["page"] = e.page->address();
  if (!e.kind.empty()) json["kind"] = e.kind;
  if (!e.tell_apart.empty()) json["tell_apart"] = e.tell_apart;
  json["basis"] = e.causes.empty() ? "none" : e.from_records ? "records" : "reports";
  auto causes = nlohmann::ordered_json::array();
  for (const ranked_cause& c : e.causes) causes.push_back(cause_json(c, e));
  json["causes"] = std::move(causes);
  if (!e.known_issues.empty()) json["known_issues"] = e.known_issues;
  auto events = nlohmann::ordered_json::array();
  for (const log_event& found : e.log.events) {
    auto one = event_json(found);
    one["role"] = name_of(found.role);
    if (!found.status.empty()) one["status"] = found.status;
    if (!found.call.empty()) one["call"] = found.call;
    if (found.rank >= 0) one["rank"] = found.rank;
    if (found.times > 1) one["times"] = found.times;
    events.push_back(std::move(one));
  }
  json["events"] = std::move(events);
  json["facts"] = e.log.facts;
  return json;
}

}  // namespace cufault
