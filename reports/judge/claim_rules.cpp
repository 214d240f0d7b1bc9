// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/claim_rules.hpp"

#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace cufault {

using namespace claim_rule_parts;

namespace {

// ---- reading ----

globs globs_from(const json_cursor& at) {
  globs all;
  if (at.value().is_string()) {
    all.push_back(at.string());
  } else {
    for (const auto& each : at.items()) all.push_back(each.string());
  }
  if (all.empty()) at.fail("must not be empty");
  for (const auto& each : all)
    if (each.empty() || each == "!") at.fail("must not be empty");
  return all;
}

bool is_glob(std::string_view text) {
  return text.find_first_of("*?!") != std::string_view::npos;
}

template <class Value>
using words = std::initializer_list<std::pair<std::string_view, Value>>;

template <class Value>
Value one_of(const json_cursor& at, words<Value> known) {
  const auto text = at.string();
  std::vector<std::string_view> names;
  for (const auto& [name, value] : known) {
    if (text == name) return value;
    names.push_back(name);
  }
  at.fail(fmt::format("expected one of {}", fmt::join(names, ", ")));
}

step_pattern step_from(const json_cursor& at) {
  at.only({"api", "variant", "part", "code", "which", "status", "ok", "numbers"});
  step_pattern s;
  for (const auto& [key, member] :
       {std::pair{"api", &s.api}, std::pair{"variant", &s.variant}, std::pair{"status", &s.status}})
    if (at.has(key)) *member = globs_from(at.at(key));
  for (const auto& api : s.api)
    if (!is_glob(api))
      if (const auto defect = defect_of(step_name{.api = api}); !defect.empty()) at.at("api").fail(defect);
  if (at.has("part")) s.after = one_of(at.at("part"), words<bool>{{"fault", false}, {"after", true}});
  if (at.has("code")) s.code = at.at("code").string();
  using which = step_pattern::which;
  if (at.has("which"))
    s.of_these =
        one_of(at.at("which"),
               words<which>{
                   {"any", which::any}, {"all", which::all}, {"first", which::first}, {"last", which::last}});
  if (at.has("ok")) s.ok = at.at("ok").boolean();
  if (at.has("numbers"))
    s.numbers = one_of(at.at("numbers"), words<numbers_found>{{"right", numbers_found::right},
                                                              {"wrong", numbers_found::wrong},
                                                              {"unchecked", numbers_found::unchecked}});
  return s;
}

constexpr std::array number_keys{"measurement", "sum", "largest", "count", "level"};

/// Reads the members of a number; the caller refuses others.
number members_of_number(const json_cursor& at) {
  number n;
  int kinds = 0;
  const auto kind = [&](const char* key, number::kind what) {
    if (!at.has(key)) return false;
    n.what = what;
    ++kinds;
    return true;
  };
  if (kind("measurement", number::kind::measurement)) {
    n.names = {at.at("measurement").string()};
    if (is_glob(n.names.front())) at.at("measurement").fail(R"(one name; "sum" takes several)");
  }
  if (kind("sum", number::kind::sum)) n.names = globs_from(at.at("sum"));
  if (kind("largest", number::kind::largest)) n.names = globs_from(at.at("largest"));
  if (kind("count", number::kind::count)) n.counted = step_from(at.at("count"));
  if (kind("level", number::kind::level) && !at.at("level").boolean()) at.at("level").fail("expected true");
  if (kinds != 1) at.fail(fmt::format("expected one of {}", fmt::join(number_keys, ", ")));
  if (n.counted.of_these != step_pattern::which::any) at.at("count").at("which").fail("all are counted");
  if (at.has("times")) n.times = at.at("times").number();
  return n;
}

number number_from(const json_cursor& at) {
  if (at.value().is_number()) return {.value = at.number()};
  at.only({"measurement", "sum", "largest", "count", "level", "times"});
  return members_of_number(at);
}

condition condition_from(const json_cursor& at);

std::vector<condition> conditions_from(const json_cursor& at) {
  std::vector<condition> all;
  for (const auto& each : at.items()) all.push_back(condition_from(each));
  if (all.empty()) at.fail("must not be empty");
  return all;
}

condition condition_from(const json_cursor& at) {
  condition c;
  using kind = condition::kind;
  const auto is = [&](const char* key, kind what) {
    if (!at.has(key)) return false;
    c.what = what;
    return true;
  };
  if (is("all", kind::all) || is("any", kind::any)) {
    const char* const key = c.what == kind::all ? "all" : "any";
    at.only({key});
    c.parts = conditions_from(at.at(key));
  } else if (is("not", kind::negation)) {
    at.only({"not"});
    c.parts.push_back(condition_from(at.at("not")));
  } else if (is("step", kind::step)) {
    at.only({"step"});
    c.step = step_from(at.at("step"));
    if (c.step.status.empty() && !c.step.ok && !c.step.numbers && c.step.of_these != step_pattern::which::any)
      at.at("step").fail(R"("which" is of steps with a status, "ok" or "numbers")");
  } else if (is("measured", kind::measured)) {
    at.only({"measured"});
    c.names = globs_from(at.at("measured"));
  } else if (is("note", kind::note)) {
    at.only({"note", "contains"});
    c.names = globs_from(at.at("note"));
    c.text = at.at("contains").string();
  } else if (is("logged", kind::logged)) {
    at.only({"logged"});
    c.text = at.at("logged").string();
  } else if (is("printed", kind::printed)) {
    at.only({"printed"});
    c.text = at.at("printed").string();
  } else if (is("ended", kind::ended)) {
    at.only({"ended"});
    c.ended = one_of(at.at("ended"), words<outcome>{{"completed", outcome::completed},
                                                    {"crashed", outcome::crashed},
                                                    {"timed_out", outcome::timed_out}});
  } else if (std::ranges::any_of(number_keys, [&](const char* k) { return at.has(k); })) {
    at.only({"measurement", "sum", "largest", "count", "level", "times", "op", "value"});
    c.what = kind::comparison;
    c.left = members_of_number(at);
    c.op = at.at("op").string();
    constexpr std::array known{"=", "!=", "<", "<=", ">", ">="};
    if (std::ranges::find(known, c.op) == known.end())
      at.at("op").fail(fmt::format("expected one of {}", fmt::join(known, ", ")));
    c.right = number_from(at.at("value"));
  } else {
    at.fail(fmt::format("expected one of all, any, not, step, measured, note, logged, printed, ended, {}",
                        fmt::join(number_keys, ", ")));
  }
  return c;
}

// ---- looking ----

bool fits(const globs& any, const std::string& text) {
  return any.empty() || std::ranges::any_of(any, [&](const std::string& glob) {
           return glob.starts_with('!') ? fnmatch(glob.c_str() + 1, text.c_str(), 0) != 0
                                        : fnmatch(glob.c_str(), text.c_str(), 0) == 0;
         });
}

/// What a condition comes to, and what decided it, in words.
struct found {
  std::optional<bool> holds;
  std::vector<std::string> evidence{};
};

using calls = std::vector<const call_record*>;

/// Steps of that name that returned. A row of a sweep that was not reached is none.
calls named(const step_pattern& s, const observation& trial) {
  calls all;
  for (const call_record& c : trial.calls) {
    if (c.what.status.empty() || !fits(s.api, c.what.name.api) || !fits(s.variant, c.what.name.variant))
      continue;
    if (s.after && *s.after != c.after_remedy) continue;
    if (!s.code.empty() &&
        (!c.swept || !c.swept->reached || std::ranges::find(c.swept->codes, s.code) == c.swept->codes.end()))
      continue;
    all.push_back(&c);
  }
  return all;
}

bool came_to(const step_pattern& s, const call_record& c) {
  return fits(s.status, c.what.status) && (!s.ok || *s.ok == c.what.ok) &&
         (!s.numbers || *s.numbers == c.what.numbers);
}

constexpr std::size_t enough = 3;  // a table says much the same in every row

std::string in_words(const calls& all) {
  std::vector<std::string> words;
  for (const call_record* c : all)
    if (auto word = describe(c->what); std::ranges::find(words, word) == words.end())
      words.push_back(std::move(word));
  const std::size_t more = words.size() - std::min(words.size(), enough);
  words.resize(words.size() - more);
  return fmt::format("{}{}", fmt::join(words, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
}

std::string nothing_like(const step_pattern& s) {
  return s.api.empty() ? "no such step" : fmt::format("no such {}", fmt::join(s.api, " or "));
}

std::string with_unit(double value, std::string_view unit) {
  constexpr double mebibyte = 1 << 20;
  if (unit == "bytes" && std::abs(value) >= mebibyte) return fmt::format("{:.1f} MiB", value / mebibyte);
  const auto digits = fmt::format("{:.{}g}", value, value == std::floor(value) ? 10 : 4);
  return unit.empty() ? digits : fmt::format("{} {}", digits, unit);
}

std::string in_words(const measurement& m) {
  return fmt::format("{}: {}", m.name, with_unit(m.value, m.unit));
}

std::vector<const measurement*> measured(const globs& names, const observation& trial) {
  std::vector<const measurement*> all;
  for (const measurement& m : trial.measurements)
    if (fits(names, m.name)) all.push_back(&m);
  return all;
}

struct known_number {
  std::optional<double> value;
  std::vector<std::string> evidence{};
};

known_number look(const number& n, const observation& trial) {
  const auto said = [&](std::optional<double> value, std::vector<std::string> evidence = {}) {
    if (value) *value *= n.times;
    return known_number{value, std::move(evidence)};
  };
  switch (n.what) {
    case number::kind::literal:
      return said(n.value);
    case number::kind::level:
      if (!trial.level) return said({});
      return said(static_cast<double>(*trial.level));
    case number::kind::count: {
      auto all = named(n.counted, trial);
      std::erase_if(all, [&](const call_record* c) { return !came_to(n.counted, *c); });
      return said(static_cast<double>(all.size()), {all.empty() ? nothing_like(n.counted) : in_words(all)});
    }
    case number::kind::measurement:
      for (const measurement& m : trial.measurements)
        if (m.name == n.names.front()) return said(m.value, {in_words(m)});
      return said({});
    case number::kind::sum:
    case number::kind::largest: {
      double sum = 0, largest = -HUGE_VAL;
      std::vector<std::string> evidence;
      const auto all = measured(n.names, trial);
      for (const measurement* m : all) {
        sum += m->value;
        largest = std::max(largest, m->value);
        evidence.push_back(in_words(*m));
      }
      if (n.what == number::kind::sum) {
        if (all.empty()) evidence.push_back(fmt::format("{}: none", fmt::join(n.names, ", ")));
        return said(sum, std::move(evidence));
      }
      if (all.empty()) return said({});
      return said(largest, std::move(evidence));
    }
  }
  return said({});
}

bool compares(double left, std::string_view op, double right) {
  if (op == "=") return left == right;
  if (op == "!=") return left != right;
  if (op == "<") return left < right;
  if (op == "<=") return left <= right;
  if (op == ">") return left > right;
  return left >= right;
}

/// The line of a text in which another is, or its first one.
std::string quoted(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  const std::size_t from = at == std::string::npos ? 0 : text.rfind('\n', at) + 1;
  const std::string line = one_line(std::string_view(text).substr(from, text.find('\n', from) - from));
  if (at != std::string::npos) return fmt::format("\"{}\"", line);
  return line.empty() ? std::string{"nothing"} : fmt::format("\"{}\", no word of \"{}\"", line, part);
}

std::string how_it_ended(const observation& trial) {
  const call_record* const in = call_in_flight(trial);
  return fmt::format("the process {}{}{}",
                     trial.ended == outcome::timed_out ? "timed out" : to_string(trial.ended),
                     trial.ended == outcome::crashed && !trial.why.empty() ? ": " + trial.why : "",
                     in == nullptr ? "" : " in " + describe(in->what.name));
}

found look(const condition& c, const observation& trial);

found look_at_step(const step_pattern& s, const observation& trial) {
  auto all = named(s, trial);
  if (all.empty()) return {};
  using which = step_pattern::which;
  if (s.of_these == which::first) all.resize(1);
  if (s.of_these == which::last) all.erase(all.begin(), all.end() - 1);
  auto others = all;
  const auto as_said = [&](const call_record* x) { return came_to(s, *x); };
  std::erase_if(others, as_said);
  const bool holds = s.of_these == which::all ? others.empty() : others.size() < all.size();
  if (s.of_these == which::all) return {holds, {in_words(holds ? all : others)}};
  if (holds) std::erase_if(all, [&](const call_record* x) { return !as_said(x); });
  return {holds, {in_words(all)}};
}

/// Of several conditions: one that is `deciding` decides alone, and is all the evidence.
found look_at_each(const std::vector<condition>& parts, bool deciding, const observation& trial) {
  found all{!deciding};
  for (const condition& part : parts) {
    found one = look(part, trial);
    if (one.holds == deciding) return one;
    if (!one.holds) all.holds.reset();
    all.evidence.insert(all.evidence.end(), one.evidence.begin(), one.evidence.end());
  }
  return all;
}

found look(const condition& c, const observation& trial) {
  switch (c.what) {
    case condition::kind::all:
      return look_at_each(c.parts, false, trial);
    case condition::kind::any:
      return look_at_each(c.parts, true, trial);
    case condition::kind::negation: {
      found part = look(c.parts.front(), trial);
      if (part.holds) part.holds = !*part.holds;
      return part;
    }
    case condition::kind::step:
      return look_at_step(c.step, trial);
    case condition::kind::comparison: {
      known_number left = look(c.left, trial);
      const known_number right = look(c.right, trial);
      if (!left.value || !right.value) return {};
      left.evidence.insert(left.evidence.end(), right.evidence.begin(), right.evidence.end());
      return {compares(*left.value, c.op, *right.value), std::move(left.evidence)};
    }
    case condition::kind::measured: {
      const auto all = measured(c.names, trial);
      found some{!all.empty()};
      for (const measurement* m : all) some.evidence.push_back(in_words(*m));
      if (all.empty()) some.evidence.push_back(fmt::format("{}: none", fmt::join(c.names, ", ")));
      return some;
    }
    case condition::kind::note: {
      found some;
      for (const note& n : trial.notes) {
        if (!fits(c.names, n.name)) continue;
        const bool holds = n.text.find(c.text) != std::string::npos;
        if (holds && some.holds != true) some.evidence.clear();
        if (holds || some.holds != true)
          some.evidence.push_back(fmt::format("{}: {}", n.name, quoted(n.text, c.text)));
        some.holds = some.holds == true || holds;
      }
      return some;
    }
    case condition::kind::logged:
      for (const std::string& line : trial.library_log)
        if (line.find(c.text) != std::string::npos)
          return {true, {"the library logs " + quoted(line, c.text)}};
      return {false, {fmt::format("the library logs no word of \"{}\"", c.text)}};
    case condition::kind::printed:
      if (trial.stderr_text.find(c.text) != std::string::npos)
        return {true, {"standard error has " + quoted(trial.stderr_text, c.text)}};
      return {false, {fmt::format("standard error has no word of \"{}\"", c.text)}};
    case condition::kind::ended:
      return {trial.ended == c.ended, {how_it_ended(trial)}};
  }
  return {};
}

/// The calls that are counted, or the measurements that are added, but for those of `except`.
std::vector<std::string> each_of(const number& n, const number* except, const observation& trial) {
  std::vector<std::string> words;
  if (n.what == number::kind::count) {
    const auto counted = [&](const number& of) {
      auto all = named(of.counted, trial);
      std::erase_if(all, [&](const call_record* c) { return !came_to(of.counted, *c); });
      return all;
    };
    const auto left_out = except == nullptr ? calls{} : counted(*except);
    std::map<std::string, int> statuses;
    for (const call_record* c : counted(n)) {
      if (std::ranges::find(left_out, c) != left_out.end()) continue;
      const auto* numbers = c->what.numbers == numbers_found::wrong ? ", numbers wrong" : "";
      ++statuses[describe(c->what.name) + ": " + c->what.status + numbers];
    }
    for (const auto& [status, times] : statuses)
      words.push_back(times > 1 ? fmt::format("{} ({} times)", status, times) : status);
  } else {
    for (const measurement* m : measured(n.names, trial))
      if (except == nullptr || !fits(except->names, m->name)) words.push_back(in_words(*m));
  }
  return words;
}

/// Figures of a table: as many as make a line.
std::string joined(std::vector<std::string> words) {
  constexpr std::size_t most = 8;
  const std::size_t more = words.size() - std::min(words.size(), most);
  words.resize(words.size() - more);
  return fmt::format("{}{}", fmt::join(words, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
}

}  // namespace

claim_rule claim_rule_from(const json_cursor& at) {
  at.only({"arms", "when", "holds", "of", "hold", "why"});
  claim_rule r;
  r.arms = globs_from(at.at("arms"));
  for (const auto& arm : r.arms)
    if (arm.find('/') == std::string::npos) at.at("arms").fail(fmt::format("\"{}\" is not CASE/ARM", arm));
  if (at.has("when")) r.when = condition_from(at.at("when"));
  if (at.has("holds") == at.has("of")) at.fail(R"(expected either "holds" or "of" and "hold")");
  if (at.has("holds")) {
    if (at.has("hold")) at.at("hold").fail(R"(belongs to "of")");
    r.holds = condition_from(at.at("holds"));
  } else {
    r.of = number_from(at.at("of"));
    r.hold = number_from(at.at("hold"));
    const auto several = [](const number& n) {
      return n.what == number::kind::count || n.what == number::kind::sum;
    };
    for (const auto& [key, n] : {std::pair{"of", &r.of}, std::pair{"hold", &r.hold}})
      if (!several(*n) || n->what != r.of.what) at.at(key).fail(R"(expected two of "count" or two of "sum")");
  }
  if (at.has("why")) r.why = globs_from(at.at("why"));
  return r;
}

bool is_about(const claim_rule& rule, std::string_view case_name, std::string_view arm) {
  return fits(rule.arms, fmt::format("{}/{}", case_name, arm));
}

std::vector<claim_statement> statements_of(const claim_rule& rule, const observation& trial) {
  if (rule.when && look(*rule.when, trial).holds != true) return {};
  std::vector<std::string> beside;
  if (!rule.why.empty()) {
    for (const measurement* m : measured(rule.why, trial)) beside.push_back(in_words(*m));
    for (const note& n : trial.notes)
      if (fits(rule.why, n.name)) beside.push_back(fmt::format("{}: {}", n.name, quoted(n.text, "")));
  }
  const auto statement = [&](bool holds, std::vector<std::string> evidence) {
    evidence.insert(evidence.end(), beside.begin(), beside.end());
    const std::string level = trial.level ? fmt::format("level {}", *trial.level) : "";
    return claim_statement{holds, level + (level.empty() || evidence.empty() ? "" : ": ") + joined(evidence)};
  };
  if (rule.holds) {
    auto [holds, evidence] = look(*rule.holds, trial);
    if (!holds) return {};
    return {statement(*holds, std::move(evidence))};
  }
  const double all = look(rule.of, trial).value.value_or(0),
               holding = look(rule.hold, trial).value.value_or(0);
  if (all == 0) return {};
  std::vector<claim_statement> said;
  const auto say = [&](bool holds, double share, std::vector<std::string> each) {
    if (share <= 0) return;
    const auto how_many = fmt::format("{:.10g} of {:.10g}", share, all);
    if (each.empty()) each.emplace_back();
    each.front() = each.front().empty() ? how_many : fmt::format("{}: {}", how_many, each.front());
    said.push_back(statement(holds, std::move(each)));
  };
  say(true, holding, each_of(rule.hold, nullptr, trial));
  say(false, all - holding, each_of(rule.of, &rule.hold, trial));
  return said;
}

}  // namespace cufault
