// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/lexicon.hpp"

#include "reports/base/members.hpp"
#include "reports/explain/text_pattern.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <set>

namespace fs = std::filesystem;

namespace cufault {

CUFAULT_MEMBERS(event_pattern, CUFAULT_STATED(id, role, match)
                                   CUFAULT_OTHERS(status, call, fails, needs, fact, anywhere, last))
CUFAULT_MEMBERS(error_name, CUFAULT_STATED(name)
                                CUFAULT_OTHERS(also, code, older, texts, common_texts, short_texts, sticky))
CUFAULT_MEMBERS(status_kind, CUFAULT_STATED(kind, status) CUFAULT_OTHERS(texts))
CUFAULT_MEMBERS(log_grammar, CUFAULT_STATED(before_texts, begin_names, gpu_words, statuses,
                                            statuses_that_follow, no_statuses, libraries, behind_cuda,
                                            other_exceptions, changes, source, not_made, make, made,
                                            questions, denials, denials_within, denials_behind, quoted))
CUFAULT_MEMBERS(failure_pattern, CUFAULT_STATED(status) CUFAULT_OTHERS(call, how, when))
CUFAULT_MEMBERS(framework_cure, CUFAULT_STATED(of, text))
CUFAULT_MEMBERS(known_cause,
                CUFAULT_STATED(id, text)
                    CUFAULT_OTHERS(with_names, arms, failures, looks, named_by, supported_by, against,
                                   finer_than, driver_codes, process, said_to_clear, cures))
CUFAULT_MEMBERS(check_answer, CUFAULT_STATED(causes, says))
CUFAULT_MEMBERS(known_check,
                CUFAULT_STATED(id, text, seconds)
                    CUFAULT_OTHERS(texts, status, observes, answers, otherwise, holds_by, refuted_by))
CUFAULT_MEMBERS(gpu_model, CUFAULT_STATED(match, family, capability))
CUFAULT_MEMBERS(toolkit, CUFAULT_STATED(version, from, to, driver, own_driver))
CUFAULT_MEMBERS(message_page,
                CUFAULT_STATED(name, status, says) CUFAULT_OTHERS(call, framework, cause, texts, snippet))

namespace {

#include "library_statuses.inc"  // generated from libraries.json by CMakeLists.txt

/// A file of one list, or of two.
json_cursor top_of(const fs::path& file, std::initializer_list<std::string_view> keys) {
  json_cursor top{read_json(file)};
  top.only(keys);
  if (top.at("schema").integer() != 1) top.at("schema").fail("this version of cufault reads schema 1");
  return top;
}

template <class T>
std::vector<T> list_of(const json_cursor& top, std::string_view key) {
  return read_json_value<std::vector<T>>(top.at(key));
}

bool any_fits(const std::string& pattern, const std::set<std::string>& ids) {
  return std::ranges::any_of(ids, [&](const std::string& id) { return matches(pattern, id); });
}

/// A word that is spelt wrong in a table would never be found out.
void check_names(const lexicon& known, const fs::path& folder) {
  const auto refuse = [&](const std::string& what) {
    throw input_error(fmt::format("{}: {}", folder.string(), what));
  };
  std::set<std::string> events{"log.gpu_newer_than_toolkit",
                               "log.gpu_older_than_toolkit",
                               "log.driver_older_than_toolkit",
                               "log.two_cuda_versions",
                               "memory.full",
                               "memory.asked",
                               "memory.enough",
                               "log.extents_over_32_bits",
                               "log.plain_program",
                               "log.type_newer_than_gpu",
                               "log.memory_of_others",
                               "end.exception",
                               "driver.said"};
  for (const error_name& e : known.errors) events.insert("error." + e.name);
  for (const gpu_model& g : known.gpus) events.insert("gpu." + g.family);
  for (int xid = 1; xid < 200; ++xid) events.insert(fmt::format("error.Xid {}", xid));
  std::set<std::string> ids;
  for (const event_pattern& e : known.events) {
    if (!ids.insert(e.id).second) refuse("the event " + e.id + " is there twice");
    // Words of people are no evidence.
    if (e.role != event_role::context && e.role != event_role::survived) events.insert(e.id);
    if (!e.fails.empty() && e.role != event_role::cause)
      refuse("the event " + e.id + " fails and is no cause");
  }
  std::set<std::string> pages;
  for (const message_page& p : known.pages)
    if (!pages.insert(p.name).second) refuse("the page " + p.name + " is there twice");
  std::set<std::string> causes, arms;
  for (const known_cause& c : known.causes) {
    if (!causes.insert(c.id).second) refuse("the cause " + c.id + " is there twice");
    for (const std::string& arm : c.arms)
      if (!arms.insert(arm).second || arm.find('*') != arm.npos)
        refuse(c.id + " has the arm " + arm + ", which is no name, or is of a cause before");
    std::vector<const std::vector<std::string>*> lists{&c.named_by, &c.supported_by, &c.against};
    for (const failure_pattern& look : c.looks) lists.push_back(&look.when);
    for (const auto* list : lists)
      for (const std::string& pattern : *list)
        if (!pattern.starts_with("driver.") && !any_fits(pattern, events))
          refuse(c.id + " names the event " + pattern + ", which is not there");
  }
  for (const known_cause& c : known.causes)
    for (const std::string& other : c.finer_than)
      if (!causes.contains(other)) refuse(c.id + " is finer than " + other + ", which is not there");
  static const std::set<std::string> observed{"", "last_error", "context", "error_before", "free_memory"};
  for (const known_check& c : known.checks) {
    if (!observed.contains(c.observes)) refuse("the check " + c.id + " observes " + c.observes);
    for (const auto* list : {&c.holds_by, &c.refuted_by})
      for (const std::string& pattern : *list)
        if (!any_fits(pattern, events))
          refuse("the check " + c.id + " names the event " + pattern + ", which is not there");
    for (const check_answer& a : c.answers)
      for (const std::string& pattern : a.causes)
        if (!any_fits(pattern, causes)) refuse(c.id + " names the cause " + pattern + ", which is not there");
  }
}

}  // namespace

bool matches(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& text) {
  return std::ranges::any_of(patterns, [&](const std::string& p) { return matches(p, text); });
}

bool lexicon::is_question(const std::string& status, const std::string& call) const {
  return std::ranges::any_of(questions, [&](const failure_pattern& p) {
    return matches_any(p.status, status) && (p.call.empty() || matches_any(p.call, call));
  });
}

std::string lexicon::canonical(std::string_view status) const {
  for (const error_name& e : errors) {
    if (e.name == status || std::ranges::find(e.also, status) != e.also.end()) return e.name;
    if (e.name.starts_with("CUBLAS_STATUS_") && std::string_view(e.name).substr(14) == status) return e.name;
  }
  return std::string(status);
}

const message_page* lexicon::page_of(const std::string& status, const std::string& call,
                                     std::span<const std::string> frameworks,
                                     std::string_view first_cause) const {
  const message_page* best = nullptr;
  int most = -1;
  for (const message_page& p : pages) {
    if (p.status != status || (!p.call.empty() && !matches(p.call, call))) continue;
    if (!p.cause.empty() && !first_cause.empty() && !matches(p.cause, std::string(first_cause))) continue;
    if (!p.framework.empty() && std::ranges::find(frameworks, p.framework) == frameworks.end()) continue;
    const int says = (p.framework.empty() ? 0 : 2) + (p.call.empty() ? 0 : 1);
    if (says > most) best = &p;
    most = std::max(most, says);
  }
  return best;
}

bool lexicon::is_sticky(std::string_view status) const {
  return std::ranges::any_of(errors, [&](const error_name& e) { return e.sticky && e.name == status; });
}

/// matches_any(), which is too slow for each word of a log.
static bool is_pattern_of(const std::vector<std::string>& patterns, std::string_view word) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    const auto star = pattern.find('*');
    if (star == std::string::npos) return word == pattern;
    return word.starts_with(std::string_view(pattern).substr(0, star)) &&
           (star + 1 == pattern.size() || matches(pattern, std::string(word)));
  });
}

bool lexicon::is_status(std::string_view word) const {
  // "CURAND_STATUS_xxx" stands for any.
  if (is_pattern_of(grammar.no_statuses, word) || (word.find("_STATUS_x") != word.npos)) return false;
  const status_library* const of = library_of_status(word);
  return is_pattern_of(grammar.statuses, word) ||
         (of != nullptr && std::ranges::find(of->codes, word, &library_code::name) != of->codes.end());
}

bool lexicon::follows(std::string_view status) const {
  return is_pattern_of(grammar.statuses_that_follow, status);
}

std::string_view lexicon::by_code(const status_library& of, std::int64_t code) const {
  const auto in_header = std::ranges::find(of.codes, code, &library_code::number);
  if (in_header != of.codes.end()) return in_header->name;
  const auto older = std::ranges::find_if(errors, [&](const error_name& e) {
    return e.older == code && e.older != 0 && e.name.starts_with(of.status_prefix);
  });
  return older == errors.end() ? std::string_view{} : std::string_view(older->name);
}

std::string lexicon::kind_of(const std::string& status) const {
  const auto kind =
      std::ranges::find_if(kinds, [&](const status_kind& k) { return is_pattern_of(k.status, status); });
  return kind == kinds.end() ? std::string{} : "kind." + kind->kind;
}

std::span<const status_library> status_libraries() {
  return all_libraries;
}

const status_library* library_of_status(std::string_view status) {
  const status_library* found = nullptr;
  for (const status_library& each : all_libraries)
    if ((status.starts_with(each.prefix) &&
         (found == nullptr || found->prefix.size() < each.prefix.size())) ||
        (status.starts_with(each.status_prefix) && found == nullptr))
      found = &each;
  return found;
}

lexicon load_lexicon(const fs::path& folder) {
  lexicon known;
  std::vector<fs::path> tables;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder / "events", none))
    if (entry.path().extension() == ".json") tables.push_back(entry.path());
  if (tables.empty())
    throw input_error(fmt::format("{}: there is no table of events", (folder / "events").string()));
  std::ranges::sort(tables);
  for (const fs::path& file : tables) {
    const json_cursor top = top_of(file, {"schema", "source", "events"});
    for (event_pattern& e : list_of<event_pattern>(top, "events")) {
      e.source = top.at("source").string();
      known.events.push_back(std::move(e));
    }
  }
  const json_cursor errors = top_of(folder / "errors.json", {"schema", "kinds", "questions", "errors"});
  known.questions = list_of<failure_pattern>(errors, "questions");
  known.kinds = list_of<status_kind>(errors, "kinds");
  known.errors = list_of<error_name>(errors, "errors");
  known.grammar =
      read_json_value<log_grammar>(top_of(folder / "grammar.json", {"schema", "grammar"}).at("grammar"));
  const json_cursor causes = top_of(folder / "causes.json", {"schema", "internal_remedies", "causes"});
  known.internal_remedies = list_of<std::string>(causes, "internal_remedies");
  known.causes = list_of<known_cause>(causes, "causes");
  known.checks = list_of<known_check>(top_of(folder / "checks.json", {"schema", "checks"}), "checks");
  const json_cursor hardware = top_of(folder / "hardware.json", {"schema", "gpus", "toolkits"});
  known.gpus = list_of<gpu_model>(hardware, "gpus");
  known.toolkits = list_of<toolkit>(hardware, "toolkits");
  known.pages = list_of<message_page>(top_of(folder / "pages.json", {"schema", "pages"}), "pages");
  check_names(known, folder);
  return known;
}

}  // namespace cufault
