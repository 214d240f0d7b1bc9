// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/explanation.hpp"

#include "reports/base/json_input.hpp"
#include "reports/explain/line_context.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

/// Words so many lines behind a failure can still name its cause: programs print what they know of it below.
constexpr std::uint64_t lines_behind = 12;
/// Words of a finer cause are near in a traceback and what stands above it.
constexpr std::uint64_t lines_before = 40;

bool is_of(const std::vector<std::string>& patterns, const log_event& e) {
  return matches_any(patterns, e.id) || (!e.status.empty() && matches_any(patterns, "error." + e.status));
}

struct candidate {
  ranked_cause cause;
  std::size_t index = 0;
  std::uint64_t named_at = ~std::uint64_t{0};  ///< line
  int speaks = 0;                              ///< circumstances for it, less those against it
  int told = 0;       ///< of a status alone: how often it is behind it, of whichever call
  bool near = false;  ///< words that name it stand beside the failure
  [[nodiscard]] auto key() const {
    const int seen = cause.natural_trials > 0 ? 2 : cause.injected_trials > 0 ? 1 : 0;
    // Smaller is better.
    return std::tuple{cause.sure != confidence::named,
                      named_at,
                      cause.sure == confidence::possible,
                      -cause.points,
                      -speaks,
                      -cause.fits,
                      -told,
                      -seen,
                      -static_cast<std::int64_t>(cause.reports),
                      index};
  }
};

/// A number speaks where it is near: far above it is a step or a time, and memory that was free at the start.
bool is_far(const log_event& e, const log_event& failure) {
  if (e.role != event_role::condition || e.line == 0) return false;
  const bool is_number = e.words.find_first_not_of("0123456789^*- ") == std::string::npos;
  if (!is_number && !e.id.starts_with("memory.") && !e.id.starts_with("sizes.")) return false;
  return e.line + lines_before < failure.line || (!is_number && e.line > failure.line + lines_behind);
}

void weigh_words(candidate& c, const log_findings& log, const log_event& failure) {
  const known_cause& what = *c.cause.what;
  std::set<std::string> spoken;
  std::ptrdiff_t names = 0;
  for (const log_event& e : log.events) {
    if (e.role == event_role::noise || is_far(e, failure)) continue;
    const bool in_time = e.anywhere || e.line <= failure.line + lines_behind;
    if (is_of(what.named_by, e) && in_time) {
      c.cause.sure = confidence::named;
      c.near = c.near || e.anywhere || e.line + lines_before >= failure.line || e.line == 0;
      // A failure that may stand anywhere is of a GPU or another process, and the others follow from it.
      c.named_at = std::min(c.named_at, e.anywhere && e.role == event_role::failure ? 0 : e.line);
      c.cause.words.insert(c.cause.words.begin() + names++, e);
      continue;
    }
    // Several events of one entry are one circumstance.
    for (const auto* list : {&what.supported_by, &what.named_by, &what.against})
      for (const std::string& pattern : *list) {
        // The failure itself does not speak for what may be behind it.
        if (e.role == event_role::failure && e.status == failure.status) continue;
        if (!is_of({pattern}, e) || !spoken.insert(pattern).second) continue;
        c.speaks += list == &what.against ? -1 : 1;
        (list == &what.against ? c.cause.against : c.cause.words).push_back(e);
      }
  }
  std::stable_partition(c.cause.words.begin() + names, c.cause.words.end(),
                        [](const log_event& e) { return e.ratio.has_value(); });
  // Words of a finer cause are common ones, so that they name it only beside the failure and where nothing speaks against it.
  if (!what.finer_than.empty() && (!c.near || c.speaks < 0)) {
    c.cause.sure = confidence::possible;
    c.named_at = ~std::uint64_t{0};
  }
  if (c.cause.sure != confidence::named && c.speaks > 0) c.cause.sure = confidence::supported;
}

void weigh_machine(candidate& c, const knowledge& known) {
  std::vector<std::string> cases = c.cause.what->arms;
  for (std::string& pattern : cases) pattern.resize(std::min(pattern.find('/'), pattern.size()));
  std::set<std::string> spoken;
  for (const machine_finding& f : known.machine) {
    if (!matches_any(cases, f.case_name)) continue;
    c.cause.machine.push_back(f.text);
    if (known.ran_here && f.decides == c.cause.what->id) {
      c.cause.sure = confidence::named;
      c.named_at = 0;
    }
    c.speaks += spoken.insert(f.case_name).second ? 1 : 0;
  }
  if (c.cause.sure == confidence::possible && c.speaks > 0) c.cause.sure = confidence::supported;
}

/// Whether one arm shows them all.
bool shows_all(const candidate& c, const std::vector<failure_seen>& failures, const knowledge& known) {
  if (failures.size() < 2) return false;
  std::set<std::string> arms;
  bool is_first = true;
  for (const failure_seen& failure : failures) {
    std::set<std::string> these;
    for (const recorded_failure& f : known.records.failures)
      if (f.cause == c.index && f.natural && fit(failure, f.status, f.call) >= 2)
        these.insert(f.arms.begin(), f.arms.end());
    if (is_first) {
      arms = std::move(these);
      is_first = false;
    } else {
      std::erase_if(arms, [&](const std::string& arm) { return !these.contains(arm); });
    }
  }
  return !arms.empty();
}

/// The framework that the program of the log is of; empty: none is known.
std::string framework_in(const log_findings& log) {
  const auto named = log.facts.find("framework");
  return named == log.facts.end() ? std::string() : named->second.front();
}

/// A look that only some logs can have supports the cause where it holds, and records where documents know this failure of it, too. Neither
/// does where the log speaks against the cause.
void weigh_records(candidate& c, const failure_seen& failure, const log_findings& log,
                   const knowledge& known) {
  ranked_cause& cause = c.cause;
  for (const failure_pattern& look : cause.what->looks) {
    const auto when =
        std::ranges::find_if(log.events, [&](const log_event& e) { return is_of(look.when, e); });
    const int fits = look.when.empty() || when != log.events.end() ? fit(failure, look) : 0;
    if (fits == 0) continue;
    cause.fits = std::max(cause.fits, fits);
    if (log.lines <= 1 && failure.call.empty()) c.told = std::max(c.told, static_cast<int>(look.how));
    // Where the log names no call, it may have been another one than the look is about.
    const bool surely = look.call.empty() || !failure.call.empty();
    // That a framework tells of it says how often it is the cause, and speaks for none.
    const bool speaks = surely && !look.when.empty() && when->role != event_role::failure &&
                        when->framework.empty() && when->id != "framework.python" &&
                        when->id != "log.plain_program";
    if (speaks && cause.sure == confidence::possible && cause.against.empty()) {
      cause.sure = confidence::supported;
      cause.words.push_back(*when);
    }
    cause.often = std::max(cause.often, std::max(1, static_cast<int>(look.how) - (surely ? 0 : 1)));
  }
  trial_numbers trials, returned, of_framework;
  for (const recorded_failure& f : known.records.failures) {
    if (f.cause != c.index) continue;
    const int fits = fit(failure, f.status, f.call);
    if (f.natural) cause.fits = std::max(cause.fits, fits);
    if (fits < 2) continue;
    if (!f.natural) {
      cause.injected_trials += f.injected;
      continue;
    }
    cause.stacks.insert(f.stacks.begin(), f.stacks.end());
    cause.natural_arms.insert(f.arms.begin(), f.arms.end());
    trials.insert(trials.end(), f.trials.begin(), f.trials.end());
    if (!f.by_driver) returned.insert(returned.end(), f.trials.begin(), f.trials.end());
    if (!f.framework.empty() && f.framework == framework_in(log))
      of_framework.insert(of_framework.end(), f.trials.begin(), f.trials.end());
  }
  cause.natural_trials = distinct(std::move(trials));
  cause.returned_trials = distinct(std::move(returned));
  cause.framework_trials = distinct(std::move(of_framework));
  if (cause.sure == confidence::possible && cause.natural_trials > 0 && cause.often > 0 &&
      cause.against.empty())
    cause.sure = confidence::supported;
}

struct check_outcome {
  std::string says;        ///< empty: not known, or not always the same
  std::size_t trials = 0;  ///< that show it
  bool own = false;        ///< not what is said of all causes that the check is not about
};

/// What a check comes out as under a cause: by its records, else by the table.
check_outcome outcome_of(const known_check& check, const candidate& c, const failure_seen& failure,
                         const knowledge& known) {
  std::map<std::string, trial_numbers> seen;
  if (!check.observes.empty())
    for (const recorded_failure& f : known.records.failures)
      if (f.cause == c.index && f.natural && fit(failure, f.status, f.call) >= 2)
        if (const auto at = f.observed.find(check.observes); at != f.observed.end())
          for (const auto& [says, trials] : at->second)
            seen[says].insert(seen[says].end(), trials.begin(), trials.end());
  if (seen.size() == 1)
    return {seen.begin()->first, distinct(seen.begin()->second), seen.begin()->first != check.otherwise};
  if (seen.size() > 1) return {};
  for (const check_answer& a : check.answers)
    if (matches_any(a.causes, c.cause.what->id)) return {a.says, 0, true};
  return {check.otherwise, 0, false};
}

std::string filled_in(std::string text, const failure_seen& failure) {
  const std::string place = "{call}";
  for (auto at = text.find(place); at != std::string::npos; at = text.find(place))
    text.replace(at, place.size(), failure.call.empty() ? "the call" : failure.call);
  return text;
}

/// With the names that the log has in its places, if it has all of them.
std::string text_of(const known_cause& cause, const log_findings& log) {
  for (std::string text : cause.with_names) {
    bool has_all = true;
    for (auto at = text.find('{'); has_all && at != std::string::npos; at = text.find('{')) {
      const auto end = text.find('}', at);
      const auto fact = log.facts.find(text.substr(at + 1, end - at - 1));
      has_all = fact != log.facts.end();
      if (has_all) text.replace(at, end - at + 1, fact->second.front());
    }
    if (has_all) return text;
  }
  return cause.text;
}

/// "CUDA_MODULE_LOADING" of "CUDA_MODULE_LOADING=EAGER: does it still fail?": variables of the environment in a text.
std::set<std::string> variables_in(const std::string& text) {
  std::set<std::string> all;
  const std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (std::size_t at = text.find_first_of(letters); at != std::string::npos;
       at = text.find_first_of(letters, at)) {
    const auto end = std::min(text.find_first_not_of(letters, at), text.size());
    const std::string word = text.substr(at, end - at);
    if (word.size() > 8 && word.find('_') != std::string::npos) all.insert(word);
    at = end;
  }
  return all;
}

/// Whether records show that what the text says to set does not clear the cause, and never does.
bool is_contradicted(const std::string& text, const ranked_cause& cause) {
  std::set<std::string> said = variables_in(text);
  for (const tried_remedy& t : cause.clears)
    for (const std::string& variable : variables_in(t.words)) said.erase(variable);
  return std::ranges::any_of(cause.does_not_clear, [&](const tried_remedy& t) {
    const std::set<std::string> tried = variables_in(t.words);
    return std::ranges::any_of(tried, [&](const std::string& v) { return said.contains(v); });
  });
}

const std::string& text_for(const known_check& check, const log_findings& log) {
  const auto own = std::ranges::find(check.texts, framework_in(log), &framework_cure::of);
  return own == check.texts.end() ? check.text : own->text;
}

/// What the log says of a check near the failure, and whether that is what the causes that it asks for have.
std::pair<std::optional<log_event>, bool> answer_in(const known_check& check, const log_findings& log,
                                                    const log_event& failure) {
  for (const auto* list : {&check.holds_by, &check.refuted_by})
    for (const log_event& e : log.events)
      if (is_of(*list, e) && !is_far(e, failure)) return {e, list == &check.holds_by};
  return {};
}

/// Of the checks that say something of this failure: one that tells this cause from all others before one that tells it from some, and
/// before any that cannot come out for this cause alone; then the one that costs least for each cause that it tells this one from.
void choose_check(candidate& c, const std::vector<candidate>& all, const failure_seen& failure,
                  const log_event& at, const log_findings& log, const knowledge& known) {
  using merit = std::tuple<bool, bool, double>;  // smaller is better
  std::optional<merit> best;
  for (const known_check& check : known.words.checks) {
    if (!check.status.empty() && !matches_any(check.status, failure.status)) continue;
    const check_outcome here = outcome_of(check, c, failure, known);
    // A check that only shows the status again decides nothing, and one that calls the failed function again neither.
    if (here.says.empty() || here.says == failure.status) continue;
    if (!failure.call.empty() && text_for(check, log).starts_with(failure.call + "(")) continue;
    const bool asks_for_it = std::ranges::any_of(
        check.answers, [&](const check_answer& a) { return matches_any(a.causes, c.cause.what->id); });
    if (all.size() == 1 && !(here.own && asks_for_it)) continue;
    if (is_contradicted(check.text, c.cause)) continue;
    std::vector<std::string> others;
    for (const candidate& other : all) {
      if (other.index == c.index) continue;
      const std::string there = outcome_of(check, other, failure, known).says;
      if (!there.empty() && there != here.says) others.push_back(other.cause.what->id);
    }
    if (others.empty() && all.size() > 1) continue;
    const double told = std::max(1.0, static_cast<double>(others.size()));
    const auto answer = answer_in(check, log, at);
    const merit its{!here.own, others.size() + 1 < all.size(), answer.first ? 0 : check.seconds / told};
    if (best && its >= *best) continue;
    best = its;
    c.cause.next = next_check{.text = filled_in(text_for(check, log), failure),
                              .seconds = check.seconds,
                              .says = here.says,
                              .others = std::move(others),
                              .of_records = here.trials,
                              .answered = answer.first,
                              .holds = answer.first && answer.second == here.own};
  }
}

/// How near an arm is to the program of the log: 0 its own framework, 1 no framework, 2 another one.
int distance_to(const log_findings& log, std::string_view arm) {
  const std::string framework = framework_of(arm);
  return framework.empty() ? 1 : framework == framework_in(log) ? 0 : 2;
}

/// Whether an arm is of another framework than the program of the log.
bool is_of_another(const log_findings& log, std::string_view arm) {
  return !framework_in(log).empty() && distance_to(log, arm) == 2;
}

void add_remedies(ranked_cause& cause, const failure_seen& failure, const log_findings& log,
                  const knowledge& known) {
  for (const recorded_remedy& r : known.records.remedies) {
    const bool against = std::ranges::any_of(
        r.answers, [&](const std::string& arm) { return cause.natural_arms.contains(arm); });
    const bool same_cause = std::ranges::any_of(cause.what->arms, [&](const std::string& p) {
      return p.substr(0, p.find('/')) == r.arm.substr(0, r.arm.find('/'));
    });
    const bool same_failure = std::ranges::any_of(
        r.failures, [&](const failure_seen& f) { return fit(failure, f.status, f.call) >= 2; });
    const std::string case_name = r.arm.substr(0, r.arm.find('/'));
    // One that says not what it is against: where the case has arms of this cause alone.
    const auto is_of_case = [&](const std::string& arm) { return arm.substr(0, arm.find('/')) == case_name; };
    const auto& failures = known.records.failures;
    const bool of_case = r.answers.empty() && std::ranges::any_of(cause.natural_arms, is_of_case) &&
                         std::ranges::none_of(failures, [&](const recorded_failure& f) {
                           return f.natural && &known.words.causes[f.cause] != cause.what &&
                                  fit(failure, f.status, f.call) >= 2 &&
                                  std::ranges::any_of(f.arms, is_of_case);
                         });
    if (!against && !(same_cause && same_failure && of_case)) continue;
    if (matches_any(known.words.internal_remedies, r.arm) || is_of_another(log, r.arm)) continue;
    const auto here = [&](const std::set<std::string>& stacks) {
      return static_cast<std::size_t>(
          std::ranges::count_if(stacks, [&](const auto& s) { return cause.stacks.contains(s); }));
    };
    const std::size_t cleared_here = here(r.cleared_on), failed_here = here(r.failed_on);
    if (cleared_here + failed_here == 0) continue;
    auto& list = failed_here == 0 ? cause.clears : cause.does_not_clear;
    const auto same = std::ranges::find(list, r.words, &tried_remedy::words);
    if (same == list.end()) {
      list.push_back({r.words, r.arm, cleared_here, failed_here});
      continue;
    }
    same->cleared = std::max(same->cleared, cleared_here);
    same->failed = std::max(same->failed, failed_here);
  }
  // What cleared it under one condition, and not under another, is no advice against it.
  std::erase_if(cause.does_not_clear, [&](const tried_remedy& t) {
    return std::ranges::any_of(cause.clears, [&](const tried_remedy& c) { return c.words == t.words; });
  });
  for (auto* list : {&cause.clears, &cause.does_not_clear})
    std::ranges::stable_sort(*list, [&](const tried_remedy& a, const tried_remedy& b) {
      const auto key = [&](const tried_remedy& t) {
        return std::pair(distance_to(log, t.arm), -static_cast<long>(t.cleared + t.failed));
      };
      return key(a) < key(b);
    });
}

/// What people do against it: first what is meant for the framework of the log, and nothing that is for another. Nothing that records contradict.
void add_cures(ranked_cause& cause, const log_findings& log) {
  const auto add = [&](const std::string& text) {
    if (!is_contradicted(text, cause)) cause.cures.push_back(text);
  };
  for (const framework_cure& cure : cause.what->cures)
    if (cure.of == framework_in(log)) add(cure.text);
  for (const std::string& text : cause.what->said_to_clear) add(text);
}

void add_arm(ranked_cause& cause, const failure_seen& failure, const log_findings& log,
             const knowledge& known) {
  const std::string* best = nullptr;
  std::pair best_key{3, 0};  // another status or call is no repetition
  for (const recorded_failure& f : known.records.failures) {
    if (!f.natural || &known.words.causes[f.cause] != cause.what) continue;
    const int fits = fit(failure, f.status, f.call) * 2 + (f.call == failure.call ? 1 : 0);
    for (const std::string& arm : f.arms)
      if (const std::pair key{fits, -distance_to(log, arm)};
          fits > 3 && key > best_key && !is_of_another(log, arm)) {
        best = &arm;
        best_key = key;
      }
  }
  if (best != nullptr)
    cause.reproduce = "cufault run " + *best + (distance_to(log, *best) == 1 ? "" : " --python python3");
}

/// Afterwards, under one cause: from its records, else from those of the status, else by documents.
process_state state_under(const known_cause& cause, const failure_seen& failure, const knowledge& known) {
  process_state state;
  trial_numbers damaged, usable;
  const auto count = [&](auto counts) {
    for (const recorded_failure& f : known.records.failures) {
      if (!f.natural || !counts(f)) continue;
      const auto at = f.observed.find("context");
      if (at == f.observed.end()) continue;
      for (const auto& [says, trials] : at->second) {
        trial_numbers& all = says == "it fails" ? damaged : usable;
        all.insert(all.end(), trials.begin(), trials.end());
      }
    }
  };
  count([&](const recorded_failure& f) {
    return &known.words.causes[f.cause] == &cause && fit(failure, f.status, f.call) >= 2;
  });
  state.damaged = distinct(std::move(damaged));
  state.usable = distinct(std::move(usable));
  const auto total = state.damaged + state.usable;
  if (total > 0 && (state.damaged == 0 || state.usable == 0)) {
    state.state = state.usable == 0 ? "lost" : "usable";
    state.why = fmt::format("in {} of {} recorded trials", total, total);
  } else if (total > 0) {
    state.why = fmt::format("in {} of {} recorded trials it was lost", state.damaged, total);
  } else if (!cause.process.empty()) {
    state.state = cause.process;
    state.why = "by documents and reports; no record shows it";
  }
  return state;
}

/// What a framework refuses before it calls a library; the program often goes on.
bool is_refusal(const log_event& e) {
  return e.role == event_role::failure && e.status.ends_with("_REFUSED");
}

/// What ended the process or its context after the failure that is explained.
std::optional<process_state> ended_later(const explanation& e, const lexicon& words) {
  static const std::set<std::string> ends{"SIGSEGV", "SIGABRT", "SIGFPE"};
  for (const log_event& event : e.log.events) {
    const std::string where = fmt::format("line {}: {}", event.line, event.words);
    if (event.id.starts_with("end.")) return process_state{.state = "ended", .why = where};
    if (!e.failure || event.line <= e.failure->line || event.status == e.failure->status) continue;
    if (ends.contains(event.status) || event.id == "process.killed" || event.id == "kernel.oom_killer")
      return process_state{.state = "ended", .why = where};
    if (words.is_sticky(event.status) || event.status.starts_with("Xid "))
      return process_state{.state = "lost", .why = where};
  }
  return std::nullopt;
}

/// The first one is ahead by two points, or alone.
bool is_clear(const std::vector<ranked_cause>& causes) {
  return causes.size() == 1 || causes[0].points >= causes[1].points + 2;
}

/// Afterwards, as far as the causes agree: a cause that the log names, or that is ahead by two points, decides alone.
process_state state_after(const explanation& e, const failure_seen& failure, const knowledge& known) {
  if (auto later = ended_later(e, known.words)) return *later;
  if (e.causes.empty()) return {};
  process_state first = state_under(*e.causes.front().what, failure, known);
  if (is_clear(e.causes) || e.causes.front().sure == confidence::named) return first;
  std::map<std::string, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < e.causes.size(); ++i)
    places[state_under(*e.causes[i].what, failure, known).state].push_back(i + 1);
  if (places.size() == 1) return first;
  std::vector<std::string> parts;
  for (const auto& [state, causes] : places)
    parts.push_back(fmt::format("{} under {}",
                                state == "lost"     ? "lost"
                                : state == "usable" ? "it can go on"
                                                    : "not known",
                                fmt::join(causes, " and ")));
  return {.why = fmt::format("{}", fmt::join(parts, ", "))};
}

/// "not ready", "already enabled": what a call says of what goes well.
bool is_answer(const log_event& e, const lexicon& words) {
  return e.role == event_role::failure && words.kind_of(e.status) == "kind.answer";
}

/// Without failures of common words that lack a call or a word of a GPU. Where another one stands, words of people ("out of memory is ruled
/// out") and what a framework refused are none either.
void leave_out_what_is_not_sure(log_findings& log, const lexicon& words) {
  std::erase_if(log.events, [&](const log_event& e) {
    return e.call.empty() &&
           (e.lacks == event_needs::call || (e.lacks == event_needs::gpu && !log.names_gpu));
  });
  // A program for another vendor's GPUs names exceptions as one for CUDA does.
  if (std::ranges::any_of(log.events, [](const log_event& e) { return e.id == "process.other_gpu"; }))
    std::erase_if(log.events, [](const log_event& e) {
      return e.role == event_role::failure && e.id.starts_with("error.") &&
             e.words.find("CUDA") == std::string::npos && !e.words.starts_with("cu");
    });
  // A wrong address of the host is none of a library for the GPU unless a call or a word of it stands there.
  std::erase_if(log.events, [](const log_event& e) {
    return e.lacks == event_needs::gpu && e.call.empty() && e.id == "process.segfault";
  });
  const auto is_sure = [&](const log_event& e) {
    return e.role == event_role::failure && !is_refusal(e) && !words.follows(e.status) &&
           !is_answer(e, words) && (e.lacks == event_needs::nothing || !e.call.empty());
  };
  if (std::ranges::none_of(log.events, is_sure)) return;
  std::erase_if(log.events, [&](const log_event& e) {
    return e.role == event_role::failure && !is_sure(e) && (is_refusal(e) || e.id.starts_with("error."));
  });
}

/// What was caught and tried again is no failure, unless the program ended all the same and nothing else tells why.
void leave_out_what_was_survived(explanation& e, const lexicon& words) {
  log_findings& log = e.log;
  const auto fails = [&](const log_event& event) {
    return event.role == event_role::failure ||
           std::ranges::any_of(words.events,
                               [&](const event_pattern& p) { return p.id == event.id && !p.fails.empty(); });
  };
  const auto first = std::ranges::find_if(
      log.events, [&](const log_event& event) { return event.survived && fails(event); });
  if (first == log.events.end()) return;
  const bool another = std::ranges::any_of(
      log.events, [&](const log_event& event) { return !event.survived && fails(event); });
  const bool ended =
      std::ranges::any_of(log.events, [](const log_event& event) { return event.id.starts_with("end."); });
  // What is tried again at the end was not got over.
  if (!another && (ended || log.tried_again >= log.lines)) return;
  if (!another) {
    e.aside = *first;
    e.aside->words += " (caught, and tried again)";
  }
  std::erase_if(log.events, [](const log_event& event) { return event.survived; });
}

/// The first event that names a cause and is a failure by itself.
std::optional<log_event> named_failure(const log_findings& log, const lexicon& words) {
  for (log_event e : log.events) {
    const auto of = std::ranges::find_if(
        words.events, [&](const event_pattern& p) { return p.id == e.id && !p.fails.empty(); });
    if (of == words.events.end()) continue;
    e.status = of->fails;
    return e;
  }
  return std::nullopt;
}

/// An answer is the failure only where nothing else failed and the program ended at it.
void leave_out_answers(explanation& e, const lexicon& words) {
  std::vector<log_event>& events = e.log.events;
  std::vector<log_event> answers;
  bool another = named_failure(e.log, words).has_value(), ended = false;
  for (const log_event& event : events)
    if (is_answer(event, words))
      answers.push_back(event);
    else
      another = another || event.role == event_role::failure;
  if (answers.empty()) return;
  for (const log_event& a : answers)
    ended = ended || std::ranges::any_of(events, [&](const log_event& event) {
              // A signal does not say what it ended at.
              const bool ends = (event.id.starts_with("end.") && !event.words.ends_with("core dumped)")) ||
                                event.role == event_role::fatal;
              return ends && event.id != "fatal.library" && event.line >= a.line && event.line - a.line <= 2;
            });
  if (ended && !another) return;
  if (!another && !e.aside) {
    e.aside = answers.front();
    const auto cause = std::ranges::find(words.causes, "no_failure.answer", &known_cause::id);
    e.aside_cause = cause == words.causes.end() ? nullptr : &*cause;
  }
  std::erase_if(events, [&](const log_event& event) {
    return is_answer(event, words) ||
           (event.role == event_role::fatal &&
            std::ranges::find(answers, event.line, &log_event::line) != answers.end());
  });
}

/// Where something else failed, what has no causes only follows from it, or leads to it.
void leave_out_what_has_no_causes(log_findings& log, const lexicon& words) {
  const auto is_failure = [&](const log_event& e, bool follows) {
    return e.role == event_role::failure && words.follows(e.status) == follows;
  };
  if (named_failure(log, words) ||
      std::ranges::any_of(log.events, [&](const log_event& e) { return is_failure(e, false); }))
    std::erase_if(log.events, [&](const log_event& e) { return is_failure(e, true); });
}

/// The driver's failure that explains the others: the one that they report, else the first that no later call gets over, else the first.
/// The others follow from it.
std::optional<log_event> take_driver_failure(log_findings& log, const lexicon& words) {
  std::vector<const log_event*> said;
  std::set<std::string> others;
  for (const log_event& e : log.events)
    if (e.role == event_role::failure) {
      if (e.driver)
        said.push_back(&e);
      else
        others.insert(e.status);
    }
  if (said.empty()) return std::nullopt;
  const auto first = [&](auto wanted) {
    const auto at = std::ranges::find_if(said, [&](const log_event* e) { return wanted(e->status); });
    return at == said.end() ? nullptr : *at;
  };
  const log_event* chosen = first([&](const std::string& status) { return others.contains(status); });
  if (chosen == nullptr) chosen = first([&](const std::string& status) { return words.is_sticky(status); });
  if (chosen == nullptr) chosen = said.front();
  const log_event result = *chosen;
  std::erase_if(log.events, [&](const log_event& e) {
    return e.role == event_role::failure && e.driver && (e.status != result.status || e.line != result.line);
  });
  return result;
}

/// Of several ranks the one that failed first, by time where all lines have one, else by order: what the others say follows from it.
void leave_out_other_ranks(explanation& result) {
  log_findings& log = result.log;
  if (log.ranks.size() < 2) return;
  std::vector<const log_event*> failures;
  for (const log_event& e : log.events)
    if (e.role == event_role::failure && e.rank >= 0) failures.push_back(&e);
  if (failures.empty()) return;
  const bool timed = std::ranges::all_of(failures, [&](const log_event* e) {
    return e->seconds && comparable_times(*e->seconds, *failures.front()->seconds);
  });
  const auto first = std::ranges::min_element(failures, [&](const log_event* a, const log_event* b) {
    return timed ? *a->seconds < *b->seconds : a->line < b->line;
  });
  const int rank = (*first)->rank;
  result.ranks = {.first = rank, .all = log.ranks.size(), .by_time = timed};
  std::erase_if(log.events, [&](const log_event& e) {
    return (e.role == event_role::failure || e.role == event_role::cause) && !e.anywhere && e.rank >= 0 &&
           e.rank != rank;
  });
}

/// Of what ended the program and names a GPU library, the first; not where another vendor's GPU failed.
void add_not_understood(explanation& e) {
  const auto& events = e.log.events;
  const bool ended =
      std::ranges::any_of(events, [](const log_event& event) { return event.id.starts_with("end."); });
  const auto first = std::ranges::find_if(events, [&](const log_event& event) {
    return event.role == event_role::fatal && !event.survived &&
           (event.id != "fatal.library" || ended || e.log.lines - event.line <= lines_behind);
  });
  if (first != events.end() &&
      std::ranges::none_of(events, [](const log_event& event) { return event.id == "process.other_gpu"; }))
    e.not_understood = *first;
}

void add_aside(explanation& e, const lexicon& words) {
  if (e.aside) return;
  auto first = std::ranges::find_if(e.log.events, [](const log_event& event) {
    return event.role == event_role::aside && event.id != "driver.said";
  });
  if (first == e.log.events.end())
    first = std::ranges::find(e.log.events, event_role::aside, &log_event::role);
  if (first == e.log.events.end()) return;
  e.aside = *first;
  const auto named =
      std::ranges::find_if(words.causes, [&](const known_cause& c) { return is_of(c.named_by, *first); });
  if (named != words.causes.end()) e.aside_cause = &*named;
}

/// The one in whose lines or traceback the failure stands.
void put_framework_first(log_findings& log, const std::string& framework) {
  if (framework.empty()) return;
  auto& all = log.facts["framework"];
  std::erase(all, framework);
  all.insert(all.begin(), framework);
}

/// A status that is told twice is that of the call with which it is told once.
void take_call_of_status(log_event& failure, const log_findings& log) {
  if (!failure.call.empty() || failure.driver) return;
  std::set<std::string> calls;
  for (const log_event& e : log.events)
    if (e.role == event_role::failure && !e.driver && e.status == failure.status && !e.call.empty())
      calls.insert(e.call);
  if (calls.size() == 1) failure.call = *calls.begin();
}

/// The call is not one that records have steps of where the driver names it. Looks of its kind count where those of its status say too little:
/// most are of cuBLAS and of the runtime.
failure_seen seen_of(const log_event& failure, const lexicon& words) {
  const status_library* const of = library_of_status(failure.status);
  const bool is_known = of == nullptr || of->prefix.starts_with("cublas") || of->prefix == "cuda";
  const bool has_looks = is_known && std::ranges::any_of(words.causes, [&](const known_cause& c) {
                           return std::ranges::any_of(c.looks, [&](const failure_pattern& look) {
                             return matches_any(look.status, failure.status);
                           });
                         });
  return {failure.status, failure.driver ? "" : failure.call, has_looks ? "" : words.kind_of(failure.status)};
}

std::string recorded_trials(std::uint64_t count) {
  return fmt::format("{} recorded trial{}", count, count == 1 ? "" : "s");
}

/// Causes that say more of what the log names go before those that they are finer than.
void put_finer_first(std::vector<candidate>& all) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    const candidate& c = all[i];
    if (c.cause.sure != confidence::named || c.cause.what->finer_than.empty()) continue;
    const auto coarse = std::find_if(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const candidate& other) { return matches_any(c.cause.what->finer_than, other.cause.what->id); });
    std::rotate(coarse, all.begin() + static_cast<std::ptrdiff_t>(i),
                all.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

/// Empty where words of the log or findings on the machine choose the first cause, or where no other is nearly as frequent.
std::string what_tells_apart(const std::vector<ranked_cause>& causes, const failure_seen& failure) {
  if (causes.empty() || is_clear(causes) || causes[0].sure == confidence::named ||
      !causes[0].machine.empty() || (causes[0].sure == confidence::supported && !causes[0].words.empty()))
    return {};
  if (failure.status.starts_with("nccl")) return "NCCL_DEBUG=INFO COMMAND";  // it names the call that failed
  static const std::set<std::string> of_machine{"driver_too_old", "environment_other", "hardware",
                                                "mixed_libraries", "no_code_for_gpu"};
  if (causes[0].what->cause_class() == "mixed_libraries") return "cufault stack";
  const bool all = std::ranges::all_of(
      causes, [](const ranked_cause& c) { return of_machine.contains(c.what->cause_class()); });
  return all ? "cufault doctor" : "cufault why -- COMMAND";
}

std::vector<candidate> candidates_for(const log_findings& log, const log_event& failure,
                                      const knowledge& known) {
  const failure_seen seen = seen_of(failure, known.words);
  std::vector<failure_seen> failures;
  for (const log_event& e : log.events)
    if (e.role == event_role::failure && !e.call.empty() && !e.driver &&
        std::ranges::none_of(failures,
                             [&](const failure_seen& f) { return f.status == e.status && f.call == e.call; }))
      failures.push_back({e.status, e.call});
  std::vector<candidate> all;
  for (std::size_t i = 0; i < known.words.causes.size(); ++i) {
    candidate c;
    c.index = i;
    c.cause.what = &known.words.causes[i];
    c.cause.text = text_of(*c.cause.what, log);
    c.cause.reports = known.reports[i];
    weigh_words(c, log, failure);
    weigh_machine(c, known);
    weigh_records(c, seen, log, known);
    c.cause.shows_all = shows_all(c, failures, known);
    c.cause.points = c.speaks + c.cause.often + (c.cause.shows_all ? 1 : 0);
    if (c.cause.sure == confidence::named || c.cause.fits > 0) all.push_back(std::move(c));
  }
  std::ranges::sort(all, [](const candidate& a, const candidate& b) { return a.key() < b.key(); });
  put_finer_first(all);
  return all;
}

}  // namespace

std::string to_string(confidence c) {
  return c == confidence::named ? "named" : c == confidence::supported ? "supported" : "possible";
}

std::string how_sure(const ranked_cause& c) {
  if (!c.words.empty() && c.sure != confidence::possible)
    return c.words.front().line > 0 ? fmt::format("{} by line {}", to_string(c.sure), c.words.front().line)
                                    : to_string(c.sure) + " by the log";
  if (c.sure == confidence::possible) return "possible, by documents and reports";
  if (!c.machine.empty()) return to_string(c.sure) + " by this machine";
  return fmt::format("supported by {}", recorded_trials(c.natural_trials));
}

std::string rests_on(const ranked_cause& c, const explanation& e) {
  std::string sure = how_sure(c);
  if (c.sure != confidence::possible && !c.words.empty()) return sure + ": " + c.words.front().words;
  if (c.sure != confidence::possible && !c.machine.empty()) return sure + ": " + one_line(c.machine.front());
  if (c.sure == confidence::possible && c.natural_trials > 0)
    return fmt::format("{}; {} with {}", sure, recorded_trials(c.natural_trials),
                       e.failure ? e.failure->status : "it");
  return sure;
}

explanation explain(log_findings log, const knowledge& known, std::size_t at_most,
                    std::size_t of_each_class) {
  explanation result{
      .failure = {}, .process = {}, .causes = {}, .aside = {}, .log = std::move(log), .machine = {}};
  std::vector<candidate> all;
  leave_out_what_was_survived(result, known.words);
  leave_out_what_is_not_sure(result.log, known.words);
  leave_out_answers(result, known.words);
  leave_out_what_has_no_causes(result.log, known.words);
  leave_out_other_ranks(result);
  result.driver = take_driver_failure(result.log, known.words);
  // The first failure of which anything is known: what stands behind it follows from it.
  if (result.driver) {
    // The library's status stands for it in the log; its cause is that of the driver's.
    all = candidates_for(result.log, *result.driver, known);
    const auto of_library = std::ranges::find_if(
        result.log.events, [](const log_event& e) { return e.role == event_role::failure && !e.driver; });
    result.failure = of_library == result.log.events.end() ? *result.driver : *of_library;
  }
  for (log_event e : result.log.events) {
    if (result.driver || e.role != event_role::failure) continue;
    take_call_of_status(e, result.log);
    if (!result.failure) result.failure = e;
    all = candidates_for(result.log, e, known);
    if (std::ranges::any_of(all, [](const candidate& c) { return c.cause.fits > 0; })) {
      result.failure = e;
      break;
    }
  }
  if (!result.failure) result.failure = named_failure(result.log, known.words);
  if (!result.failure) {
    add_not_understood(result);
    add_aside(result, known.words);
    return result;
  }
  result.aside.reset();
  std::erase_if(result.log.events, [](const log_event& e) { return e.role == event_role::fatal; });
  put_framework_first(result.log, result.failure->framework);
  if (all.empty()) all = candidates_for(result.log, *result.failure, known);

  const std::string framework = framework_in(result.log);
  result.page = known.words.page_of(result.failure->status, result.failure->call, {&framework, 1},
                                    all.empty() ? std::string_view() : all.front().cause.what->id);

  std::vector<candidate> chosen;
  std::map<std::string, std::size_t> classes;
  for (candidate& c : all) {
    if (chosen.size() == at_most) break;
    if (classes[c.cause.what->cause_class()]++ < of_each_class) chosen.push_back(std::move(c));
  }
  const failure_seen seen = seen_of(result.driver ? *result.driver : *result.failure, known.words);
  for (candidate& c : chosen) {
    add_remedies(c.cause, seen, result.log, known);
    add_cures(c.cause, result.log);
    choose_check(c, chosen, seen, *result.failure, result.log, known);
    add_arm(c.cause, seen, result.log, known);
  }
  for (candidate& c : chosen) {
    result.from_records = result.from_records || c.cause.natural_trials > 0;
    result.causes.push_back(std::move(c.cause));
  }
  result.tell_apart = what_tells_apart(result.causes, seen);
  if (!result.from_records && seen.kind.starts_with("kind.")) result.kind = seen.kind.substr(5);
  result.process = state_after(result, seen, known);
  return result;
}

}  // namespace cufault
