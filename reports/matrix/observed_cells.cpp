// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/matrix/observed_cells.hpp"

#include "reports/judge/claims.hpp"
#include "reports/judge/usual_messages.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/sweep_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

constexpr const char *succeeded = "SUCCESS", *unchecked = "SUCCESS, numbers unchecked",
                     *wrong_numbers = "WRONG_NUMBERS", *then = ", then ";
constexpr const char* driver_returned = "driver_call";
constexpr const char *preparation = "check.preparation", *unprepared = "could not be prepared";

// ---- what a trial of a cell came to ----

/// What ended the process, or the child in which a step was made.
std::string end_of(const step& s) {
  const auto signal = s.facts.find("signal");
  if (signal != s.facts.end())
    if (const auto* name = std::get_if<std::string>(&signal->second)) return *name;
  return s.status;
}
/// Of the trial's process; empty where it came to its end.
std::string end_of(const observation& o) {
  if (o.ended == outcome::completed) return {};
  if (o.ended == outcome::timed_out) return status_timed_out;
  if (!o.signal && o.exit_code) return fmt::format("exit {}", *o.exit_code);
  return o.why.empty() ? fmt::format("signal {}", o.signal.value_or(0)) : o.why;
}

bool says_success(const step& s) {
  return is_success_status(s.status);
}

/// In a word. `steps`: those before a remedy, or those behind it. `name`: of the operation, where that is known; else the first step is it.
/// `end`: what ended the process in them or behind; empty where nothing did.
std::string word_of(const std::string& end, std::span<const step* const> steps, const step_name& name) {
  if (!steps.empty() && steps.front()->name == step_name{preparation} && !steps.front()->status.empty())
    return unprepared;
  const auto is_operation = [&](const step* s) { return name.api.empty() || s->name == name; };
  auto first = std::ranges::find_if(steps, is_operation);
  // A remedy may put another operation in its place: then that is what has numbers.
  if (first == steps.end())
    first = std::ranges::find_if(steps, [](const step* s) { return s->numbers != numbers_found::unchecked; });
  if (first == steps.end()) {
    // A call of the remedy failed, or nothing was made.
    const auto failing = std::ranges::find_if(steps, [](const step* s) { return !s->ok; });
    if (failing == steps.end() || (*failing)->status.empty())
      return end.empty() ? "nothing was made" : end + " before the operation";
    if ((*failing)->name.api == preparation) return unprepared;
    return fmt::format("{} of {}", short_status((*failing)->status), (*failing)->name.api);
  }
  const step& made = **first;
  if (made.status.empty()) return end;  // the process ended in it
  std::string word(says_success(made) ? succeeded : short_status(end_of(made)));
  if (says_success(made)) {
    const auto behind = std::span(first, steps.end());
    const auto any = [&](numbers_found n) {
      return std::ranges::any_of(behind, [&](const step* s) { return s->numbers == n; });
    };
    // A proof that was stopped is told by the step behind it.
    const auto failing = std::find_if(behind.begin() + 1, behind.end(), [](const step* s) {
      return !s->ok && s->status != "STOPPED" && !s->status.empty() && !says_success(*s);
    });
    if (any(numbers_found::wrong)) return wrong_numbers;
    if (failing != behind.end())
      word += then + std::string(short_status(end_of(**failing)));
    else if (!made.ok)
      word += ", not done";
    else if (end.empty() && !any(numbers_found::right))
      return unchecked;
  }
  return end.empty() ? word : word + then + end;
}

/// The call that did; none: nothing failed.
step_name first_failing(std::span<const step* const> steps) {
  const auto found = std::ranges::find_if(steps, [](const step* s) { return !s->ok; });
  return found == steps.end() ? step_name{} : (*found)->name;
}

/// "cudaErrorAssert of cudaLaunchKernelExC"
std::string word_of_diagnosis(const std::string& end, std::span<const step* const> steps,
                              const step_name& failing) {
  return fmt::format("{} of {}", word_of(end, steps, failing), failing.api);
}

/// The steps of a trial, before a remedy and behind it.
struct parts {
  std::vector<const step*> before, behind;
  bool applied = false;
};
parts parts_of(const observation& o) {
  parts p;
  p.applied = !o.applied.empty();
  for (const call_record& c : o.calls) {
    (c.after_remedy ? p.behind : p.before).push_back(&c.what);
    p.applied = p.applied || c.after_remedy;
  }
  return p;
}

/// 0: it succeeded; 1: a status said otherwise; 2: wrong numbers, a crash or a hang.
int severity_of(std::string_view word) {
  if (word == succeeded || word == unchecked) return 0;
  const auto says = [&](std::string_view text) { return word.find(text) != word.npos; };
  const bool severe = word == wrong_numbers || says("SIG") || says("exit ") || says("signal ") ||
                      says(status_timed_out) || says(status_crashed) || says(status_exited);
  return severe ? 2 : 1;
}

int severity_of(const outcome_counts& o) {
  int most = 0;
  for (const auto& [word, times] : o) most = std::max(most, severity_of(word));
  return most;
}

bool damaged(const observed_cell& c) {
  return c.context.find("damaged") != c.context.npos;
}

/// It was not made.
bool never_prepared(const outcome_counts& o) {
  return o.size() == 1 && o.contains(unprepared);
}

remedy_result result_of(const outcome_counts& without, const outcome_counts& with, bool damaged_without,
                        bool damaged_with) {
  if (without.empty() || with.empty()) return remedy_result::unknown;
  if (never_prepared(with)) return remedy_result::not_prepared;
  const int before = severity_of(without), behind = severity_of(with);
  const bool failed = before > 0 || damaged_without;
  const bool worse = behind > std::max(1, before) || (damaged_with && !damaged_without);
  if (worse || (!failed && behind > 0)) return remedy_result::made_worse;
  if (!failed) return remedy_result::nothing_to_clear;
  const bool right = with.size() == 1 && with.contains(succeeded) && !damaged_with;
  return right ? remedy_result::cleared : remedy_result::still_fails;
}

// ---- cells of a stack ----

/// Facts of operations in a handle state, where nothing fails.
using facts_of_operations = std::map<std::tuple<std::string, std::string, std::string>, fact_map>;

/// From controls: each makes an operation cold and then warm. What it shows of it after that holds for both.
void add_facts(facts_of_operations& facts, const case_result& c) {
  for (const arm_result& a : c.arms) {
    if (a.kind != arm_kind::control) continue;
    for (const observation& o : a.trials) {
      std::map<std::pair<std::string, std::string>, int> times;
      for (const call_record& call : o.calls) {
        const step_name& name = call.what.name;
        const int time = times[{name.api, name.variant}]++;
        if (!call.what.ok || call.what.facts.empty()) continue;
        for (const auto& [state, unlike] : {std::pair{"cold", 1}, std::pair{"warm", 0}})
          if (time != unlike)
            facts[{name.api, name.variant, state}].insert(call.what.facts.begin(), call.what.facts.end());
      }
    }
  }
}

/// From a sweep whose operations are the first of their processes, and so cold: how many driver calls there are to fail.
void add_swept_calls(facts_of_operations& facts, const case_result& c) {
  std::set<std::tuple<std::string, std::string, std::string>> cold;
  std::int64_t most = -1;
  for (const arm_result& a : c.arms)
    for (const observation& o : a.trials) {
      if (a.kind == arm_kind::control && !o.calls.empty())
        cold.insert({o.calls.front().what.name.api, o.calls.front().what.name.variant, "cold"});
      if (!a.name.starts_with(first_of_process)) continue;
      for (const measurement& m : o.measurements)
        if (m.name == clean_calls) most = std::max(most, static_cast<std::int64_t>(m.value));
    }
  if (most < 0) return;
  for (const auto& operation : cold) facts[operation].try_emplace("driver_calls", most);
}

observed_cell cell_from(const std::string& fault, const cell_name& name, const arm_result& a,
                        const usual_messages& usual) {
  observed_cell c{.fault = fault, .at = name, .summary = a.summary, .made_up = a.made_up, .source = a.source};
  if (!a.runs.empty()) {
    const auto latest = std::ranges::max_element(
        a.runs, [](const auto& one, const auto& other) { return one.started < other.started; });
    c.run = fmt::format("{} {}{}", latest->started, latest->commit, latest->dirty ? ", modified" : "");
  }
  c.heard = heard_driver_log(a);
  bool applied = false;
  std::set<std::string> contexts;
  for (const observation& o : a.trials) {
    if (!comparable(o)) {
      c.why_not = fmt::format("{}: {}", o.ended == outcome::not_provoked ? "not provoked" : "unresolved",
                              why_not_comparable(o));
      continue;
    }
    const parts p = parts_of(o);
    if (p.before.empty() && o.ended == outcome::completed) {
      c.why_not = "unresolved: no step was recorded";
      continue;
    }
    if (a.kind == arm_kind::diagnosis) {
      c.names = first_failing(p.before);
      ++c.outcome[c.names.api.empty() ? "nothing failed" : word_of_diagnosis(end_of(o), p.before, c.names)];
      contexts.insert(o.context);
      continue;
    }
    if (!p.before.empty() && p.before.front()->name.api != preparation) c.operation = p.before.front()->name;
    const auto failed = std::ranges::find_if(o.calls, [&](const call_record& call) {
      return !call.what.ok && !call.after_remedy && call.what.name == c.operation;
    });
    if (failed != o.calls.end())
      if (const driver_message* why = usual.reason(*failed); why != nullptr) c.driver = *why;
    ++c.outcome[word_of(p.applied ? std::string() : end_of(o), p.before, c.operation)];
    contexts.insert(o.context);
    applied = applied || p.applied;
    if (p.applied) ++c.after[word_of(end_of(o), p.behind, c.operation)];
  }
  if (!c.outcome.empty()) c.why_not.clear();
  if (c.outcome.empty() && c.why_not.empty()) c.why_not = "unresolved: no trial was recorded";
  c.context = fmt::format("{}", fmt::join(contexts, " or "));
  if (name.remedy.empty() || !a.against.empty()) return c;
  // Of the context only its state in the end is known, which is the remedy's doing or that of the fault.
  c.result = applied                     ? result_of(c.outcome, c.after, false, false)
             : c.outcome.empty()         ? remedy_result::unknown
             : never_prepared(c.outcome) ? remedy_result::not_prepared
                                         : remedy_result::not_reached;
  if (c.result == remedy_result::cleared && damaged(c)) c.result = remedy_result::still_fails;
  return c;
}

/// An arm of a case whose control is unresolved proves nothing, whatever it saw.
void silence(case_result& c) {
  for (arm_result& a : c.arms) {
    if (a.kind == arm_kind::control) continue;
    observation nothing;
    nothing.why = "the control of its case failed";
    a.trials.assign(1, nothing);
    a.runs.clear();
  }
}

void take_cells(stack_matrix& m, const case_result& c, const usual_messages& usual) {
  const std::string fault = c.name.substr(matrix_family.size());
  std::map<std::string, const observed_cell*> by_arm;
  std::vector<observed_cell> cells;
  std::vector<std::string> against;
  for (const arm_result& a : c.arms) {
    if (a.kind == arm_kind::control) continue;
    const auto name = cell_named(a.name);
    if (!name) continue;
    cells.push_back(cell_from(fault, *name, a, usual));
    against.push_back(a.against);
  }
  for (const observed_cell& one : cells) by_arm[to_string(one.at)] = &one;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (against[i].empty()) continue;
    const auto without = by_arm.find(against[i]);
    cells[i].result = remedy_result::unknown;
    if (without == by_arm.end()) continue;
    cells[i].without = without->second->outcome;
    cells[i].result =
        result_of(cells[i].without, cells[i].outcome, damaged(*without->second), damaged(cells[i]));
    const bool fails_without = severity_of(cells[i].without) > 0 || damaged(*without->second);
    if (!cells[i].names.api.empty() && fails_without && cells[i].names != without->second->operation)
      cells[i].result = remedy_result::diagnosed;
  }
  m.cells.insert(m.cells.end(), std::move_iterator(cells.begin()), std::move_iterator(cells.end()));
}

/// A cell that was not observed has its operation's identity from another one.
void complete_names(stack_matrix& m) {
  std::map<std::string, step_name> names;
  for (const observed_cell& c : m.cells) {
    if (c.operation.api.empty()) continue;
    const auto [known, fresh] = names.try_emplace(c.at.operation, c.operation);
    if (!fresh &&
        std::tie(c.operation.api, c.operation.variant) < std::tie(known->second.api, known->second.variant))
      known->second = c.operation;
  }
  for (observed_cell& c : m.cells)
    if (c.operation.api.empty()) c.operation = names[c.at.operation];
}

auto order_of(const observed_cell& c) {
  return std::tie(c.fault, c.at.operation, c.at.remedy, c.at.level, c.at.timing, c.at.state);
}

// ---- conditions ----

example example_of(const observed_cell& c, axis along) {
  example e{.name = along == axis::operation ? to_string(c.at) : name_of(c)};
  e.properties["state"] = c.at.state;
  if (!c.at.timing.empty()) e.properties["timing"] = c.at.timing;
  // Levels of two faults have two units.
  if (c.at.level) e.properties[along == axis::operation ? "level" : "level of " + c.fault] = *c.at.level;
  if (!c.driver.function.empty() && !c.driver.code.empty())
    e.properties[driver_returned] = fmt::format("{} returned {}", c.driver.function, c.driver.code);
  if (along == axis::fault) {
    e.properties["fault"] = c.fault;
    return e;
  }
  e.properties["operation"] = c.at.operation;
  if (!c.operation.api.empty()) e.properties["api"] = c.operation.api;
  if (!c.operation.variant.empty()) e.properties["variant"] = c.operation.variant;
  for (const auto& [name, value] : c.facts) {
    if (const auto* yes = std::get_if<bool>(&value)) e.properties[name] = std::string(*yes ? "yes" : "no");
    if (const auto* number = std::get_if<std::int64_t>(&value)) e.properties[name] = *number;
    if (const auto* word = std::get_if<std::string>(&value)) e.properties[name] = *word;
  }
  return e;
}

std::vector<rule> rules_of(const std::vector<observed_cell>& cells, axis along,
                           const std::function<std::string(const observed_cell&)>& word) {
  std::vector<example> examples;
  std::map<std::string, std::size_t> facts, counts;
  for (const observed_cell& c : cells) {
    if (!was_observed(c)) continue;
    examples.push_back(example_of(c, along));
    examples.back().outcome = word(c);
    for (const auto& [name, value] : c.facts)
      ++(std::holds_alternative<std::int64_t>(value) ? counts : facts)[name];
  }
  // A count that is known of some of them would tell these from the others, whatever it is.
  for (const auto& [name, times] : counts)
    if (times < examples.size())
      for (example& e : examples) e.properties.erase(name);
  // Likewise what the driver said.
  if (std::ranges::any_of(cells, [](const observed_cell& c) { return was_observed(c) && !c.heard; }))
    for (example& e : examples) e.properties.erase(driver_returned);
  const auto named = [](std::vector<std::string_view>& all, const auto& names) {
    for (const auto& [name, times] : names) all.push_back(name);
  };
  std::vector<std::string_view> preferred{"state", "timing", "level"};
  named(preferred, facts);
  // How many driver calls there are says least of why.
  const auto driver_calls = counts.extract("driver_calls");
  named(preferred, counts);
  preferred.insert(preferred.end(),
                   {driver_returned, "api", "variant", "operation", "fault", "driver_calls"});
  return rules_for(std::move(examples), {.preferred = preferred});
}

/// What it came to in the end: of a remedy what it did.
std::string word_of(const observed_cell& c) {
  return c.result == remedy_result::none ? describe(c.outcome) : to_string(c.result);
}

}  // namespace

std::string_view short_status(std::string_view status) {
  constexpr std::string_view prefix = "CUBLAS_STATUS_";
  return status.starts_with(prefix) ? status.substr(prefix.size()) : status;
}

std::string describe(const outcome_counts& o) {
  std::vector<std::string> words;
  for (const auto& [word, times] : o) words.push_back(word);
  return fmt::format("{}", fmt::join(words, " or "));
}

std::string with_rates(const outcome_counts& o) {
  if (o.size() < 2) return describe(o);
  int all = 0;
  for (const auto& [word, times] : o) all += times;
  std::vector<std::string> words;
  for (const auto& [word, times] : o) words.push_back(fmt::format("{} {} of {}", word, times, all));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string to_string(remedy_result r) {
  constexpr std::array names{"",           "cleared",     "nothing to clear", "still fails", "diagnosed",
                             "made worse", "not reached", unprepared,         "unknown"};
  return names.at(static_cast<std::size_t>(r));
}

bool was_observed(const observed_cell& c) {
  return !c.outcome.empty();
}

std::string shown_outcome(const observed_cell& c) {
  if (!was_observed(c)) return {};
  if (c.result == remedy_result::none) return with_rates(c.outcome);
  std::string word = to_string(c.result);
  const bool says_all = c.result == remedy_result::cleared || c.result == remedy_result::nothing_to_clear ||
                        c.result == remedy_result::not_prepared || c.result == remedy_result::unknown;
  if (says_all) return word;
  return fmt::format("{}: {}", word, with_rates(c.after.empty() ? c.outcome : c.after));
}

std::string name_of(const observed_cell& c) {
  return fmt::format("{}/{}", c.fault, to_string(c.at));
}

std::string repeats(const observed_cell& c, std::string_view libraries) {
  return fmt::format("cufault run '{}{}'{}", matrix_family, name_of(c), libraries);
}

std::vector<stack_matrix> matrix_of(std::span<const record> records) {
  // By time, so that the order in which they were named does not matter.
  std::map<std::string, std::vector<const record*>> by_stack;
  for (const record& r : records) by_stack[stack_label(r)].push_back(&r);
  std::vector<stack_matrix> all;
  for (auto& [label, of_stack] : by_stack) {
    std::ranges::stable_sort(of_stack,
                             [](const record* a, const record* b) { return a->started < b->started; });
    const record& first = *of_stack.front();
    stack_matrix m{.stack = label,
                   .record = static_cast<std::size_t>(&first - records.data()),
                   .libraries = library_options(first)};
    // Mostly one record has a case. Only those that several have, or whose control is unresolved, are copied.
    std::map<std::string, std::vector<const case_result*>> by_name;
    for (const record* r : of_stack)
      for (const case_result& c : r->cases)
        if (c.name.starts_with(matrix_family) || c.name.starts_with(sweep_family))
          by_name[c.name].push_back(&c);
    std::deque<case_result> changed;
    std::vector<const case_result*> cases;
    for (const auto& [name, parts] : by_name) {
      const auto silent = [&, of_matrix = name.starts_with(matrix_family)](const case_result& c) {
        return of_matrix && control_unresolved(c);
      };
      if (parts.size() == 1 && !silent(*parts.front())) {
        cases.push_back(parts.front());
        continue;
      }
      case_result& together = changed.emplace_back(case_result{.name = name});
      for (const case_result* part : parts) {
        case_result copy = *part;
        if (silent(copy)) silence(copy);
        for (arm_result& arm : copy.arms) merge(together, std::move(arm));
      }
      cases.push_back(&together);
    }
    facts_of_operations facts;
    for (const case_result* c : cases) add_facts(facts, *c);
    usual_messages usual;
    for (const case_result* c : cases) usual.add(*c);
    for (const case_result* c : cases)
      c->name.starts_with(sweep_family) ? add_swept_calls(facts, *c) : take_cells(m, *c, usual);
    complete_names(m);
    for (observed_cell& c : m.cells)
      if (const auto f = facts.find({c.operation.api, c.operation.variant, c.at.state}); f != facts.end())
        c.facts = f->second;
    std::ranges::sort(
        m.cells, [](const observed_cell& a, const observed_cell& b) { return order_of(a) < order_of(b); });
    if (!m.cells.empty()) all.push_back(std::move(m));
  }
  return all;
}

std::vector<rule> conditions_of(const std::vector<observed_cell>& cells, axis along) {
  return rules_of(cells, along, [](const observed_cell& c) { return word_of(c); });
}

}  // namespace cufault
