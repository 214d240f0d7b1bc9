// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/comparison.hpp"

#include "reports/base/json_fields.hpp"
#include "reports/judge/library_files.hpp"
#include "reports/model/cell_name.hpp"
#include "reports/model/frameworks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <regex>
#include <set>
#include <string_view>
#include <utility>

namespace cufault {
namespace {

/// What can be allowed, in the words of a file of allowances.
constexpr std::array allowable{enum_name<verdict>{verdict::changed, "changed"},
                               enum_name<verdict>{verdict::gone, "gone"},
                               enum_name<verdict>{verdict::worsened, "worsened"},
                               enum_name<verdict>{verdict::remedy_broken, "remedy_broken"},
                               enum_name<verdict>{verdict::absent, "absent"}};

std::string why_not_observed(const arm_result& arm) {
  if (arm.trials.empty()) return "no trial was recorded";
  for (const auto& o : arm.trials)
    if (!comparable(o)) return fmt::format("{}: {}", to_string(o.ended), why_not_comparable(o));
  return {};
}

bool nothing_is_proved(const arm_result& arm) {
  return arm.trials.empty() || std::ranges::any_of(arm.trials, [](const observation& o) {
           return !comparable(o) && o.ended != outcome::not_provoked;
         });
}

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Whether a value of a stack is what a key says: "cublas/version" of cublas, "gpu/compute_capability", "environment/CUDA_MODULE_LOADING".
bool says_a_key(const std::string& path, const std::map<std::string, stack_difference>& keys) {
  if (path == "environment/CUDA_MODULE_LOADING") return keys.contains("module_loading");
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return keys.contains(path);
  const std::string last = path.substr(slash + 1);
  return keys.contains(last == "version" ? path.substr(0, slash) : last);
}

/// Each value of a stack by its path, without the leading slash.
std::map<std::string, std::string> values_of(const nlohmann::json& stack) {
  std::map<std::string, std::string> values;
  if (!stack.is_object() || stack.empty()) return values;
  const nlohmann::json flat = stack.flatten();
  for (const auto& [path, value] : flat.items())
    if (!value.is_null() || path.rfind('/') == 0) values[path.substr(1)] = text_of(value);  // no empty list
  for (const python_framework& f : python_frameworks)
    if (values.contains(fmt::format("python/frameworks/{}/unmet/0", f.name)))
      for (const std::string& version :
           {fmt::format("keys/{}", f.name), fmt::format("python/packages/{}", f.package)})
        if (values.contains(version)) values[version] += " with other packages";
  return values;
}

/// Adds what differs of what was imported: "pytorch/cudnn", "pytorch/libcudnn.so.9" by its build id. Wrong metadata are listed even if equal
/// on all sides.
void add_imported(const std::string& path, std::vector<std::string> values,
                  std::map<std::string, stack_difference>& to) {
  constexpr std::string_view libraries = "/libraries/", build_id = "/build_id", metadata = "/metadata";
  std::string name = path;
  if (path.ends_with(metadata)) {
    name = "metadata of " + path.substr(0, path.size() - metadata.size());
  } else {
    const bool lacks = std::ranges::count(values, std::string()) > 0;
    if (lacks || std::ranges::adjacent_find(values, std::ranges::not_equal_to()) == values.end()) return;
    for (const char* not_compared : {"/file", "/path", "/shadowed/", "/unmet/", "/refused/"})
      if (path.find(not_compared) != path.npos) return;
    if (path.ends_with(build_id))
      name.erase(name.size() - build_id.size()).replace(name.find(libraries), libraries.size(), "/");
  }
  to[name] = {name, std::move(values)};
}

/// An arm of several records.
struct joined_arm {
  std::string case_name, arm;
  std::vector<const arm_result*> each;  // nullptr where a record has none
};

/// By join_key().
std::map<std::string, joined_arm> join(std::span<const record> records) {
  std::map<std::string, joined_arm> all;
  for (std::size_t i = 0; i < records.size(); ++i)
    for (const auto& c : records[i].cases)
      for (const auto& arm : c.arms) {
        joined_arm& joined = all[join_key(c.name, arm.name)];
        if (joined.each.empty())
          joined = {c.name, arm.name, std::vector<const arm_result*>(records.size(), nullptr)};
        joined.each[i] = &arm;
      }
  return all;
}

/// Whether a record shows of an arm with a remedy that nothing fails without it: a run may have left it out.
bool had_nothing_to_clear(const joined_arm& joined, std::size_t of,
                          const std::map<std::string, joined_arm>& all) {
  const std::string without = without_remedy(joined.arm);
  const auto fault = all.find(join_key(joined.case_name, without));
  if (without.empty() || fault == all.end()) return false;
  const arm_result* const seen = fault->second.each[of];
  return seen != nullptr && observed(*seen) && count_failures(seen->trials).none();
}

/// Whether words are those of an allowance, where * is anything and nothing else is special.
bool matches(const std::string& words, const std::string& text) {
  std::string pattern;
  for (const char c : words) {
    if (std::string_view("?[\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

/// What stands before and behind some words; nothing behind where they are not there.
std::pair<std::string, std::string> around(const std::string& text, std::string_view words) {
  const auto at = text.find(words);
  if (at == text.npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + words.size())};
}

/// The worst first, of what a comparison can come to.
int urgency(verdict v) {
  constexpr std::array order{verdict::unresolved, verdict::worsened, verdict::remedy_broken, verdict::changed,
                             verdict::gone,       verdict::absent,   verdict::unrecorded};
  return static_cast<int>(std::ranges::find(order, v) - order.begin());
}

}  // namespace

judgement compare_arms(const arm_result* before, const arm_result* now) {
  const bool was = before != nullptr && observed(*before), is = now != nullptr && observed(*now);
  if (!was && !is && now != nullptr && nothing_is_proved(*now) &&
      (before == nullptr || !nothing_is_proved(*before)))
    return {verdict::unresolved, why_not_observed(*now)};
  if (!was && !is) return {verdict::not_provoked};
  if (!was) return {verdict::unrecorded, before == nullptr ? std::string() : why_not_observed(*before)};
  if (now == nullptr) return {verdict::absent};
  const expectation expected = expectation_of(*before, !before->races.empty() || !now->races.empty());
  arm_result as_fault;  // who judges the case judges controls
  if (is && now->kind == arm_kind::control) {
    as_fault = *now;
    as_fault.kind = arm_kind::fault;
    now = &as_fault;
  }
  judgement found = judgement_of(*now, &expected);
  if (!is && nothing_is_proved(*now)) found.v = verdict::unresolved;
  if (!is && found.v == verdict::not_provoked) found.v = verdict::absent;
  if (is_same(found.v)) found.why.clear();
  return found;
}

bool is_same(verdict v) {
  return as_expected(v) || v == verdict::not_provoked;
}

std::vector<std::string> imported_doubts(const nlohmann::json& stack) {
  std::vector<std::string> lines;
  const auto imported = nlohmann::json::json_pointer("/python/frameworks");
  for (const python_framework& f : python_frameworks) {
    if (!stack.is_object() || !stack.contains(imported / std::string(f.name))) continue;
    const nlohmann::json& is = stack.at(imported / std::string(f.name));
    const std::string version = is.value("version", ""), name = fmt::format("{} {}", f.package, version);
    if (version.empty())
      lines.push_back(fmt::format("{} says no version: its release is not known", f.package));
    const auto unmet = is.value("unmet", std::vector<std::string>());
    constexpr std::size_t enough = 2;
    const std::span<const std::string> first(unmet.data(), std::min(unmet.size(), enough));
    if (!unmet.empty())
      lines.push_back(fmt::format(
          "{} runs with other packages than it pins: {}{}", name, fmt::join(first, "; "),
          unmet.size() > enough ? fmt::format("; and {} more", unmet.size() - enough) : std::string()));
    for (const auto& member : is.value("refused", std::vector<std::string>()))
      lines.push_back(fmt::format("{} does not say its {}: {}", name, member, is.value(member, "")));
  }
  return lines;
}

std::vector<stack_difference> stack_differences(std::span<const record> records) {
  std::map<std::string, stack_difference> packages, keys, imported, rest;
  constexpr std::string_view of_keys = "keys/", of_packages = "python/packages/",
                             of_imported = "python/frameworks/";
  std::vector<std::map<std::string, std::string>> each;
  std::set<std::string> paths;
  for (const record& r : records)
    for (const auto& [path, value] : each.emplace_back(values_of(*r.stack))) paths.insert(path);
  for (const std::string& path : paths) {
    std::vector<std::string> values;
    for (auto& of : each) values.push_back(of[path]);
    if (path.starts_with("files/")) continue;
    if (path.starts_with(of_imported)) {
      add_imported(path.substr(of_imported.size()), std::move(values), imported);
      continue;
    }
    if (std::equal(values.begin() + 1, values.end(), values.begin())) continue;
    const bool key = path.starts_with(of_keys), package = path.starts_with(of_packages);
    const auto name = key ? path.substr(of_keys.size()) : package ? path.substr(of_packages.size()) : path;
    (key ? keys : package ? packages : rest)[name] = {name, std::move(values)};
  }
  for (const python_framework& f : python_frameworks) {
    const auto at = nlohmann::json::json_pointer("/python/frameworks") / std::string(f.name);
    const auto ran = [&](const case_result& c) { return framework_of_case(c.name) == &f; };
    stack_difference one{fmt::format("imported {}", f.name), {}};
    for (const record& r : records)
      one.values.emplace_back(r.stack->contains(at)               ? "recorded"
                              : std::ranges::any_of(r.cases, ran) ? "not recorded"
                                                                  : "");
    if (std::ranges::count(one.values, "recorded") > 0 && std::ranges::count(one.values, "not recorded") > 0)
      imported[one.name] = std::move(one);
  }
  std::vector<stack_difference> all;
  for (std::size_t i = 1; i < records.size(); ++i)
    for (stack_difference& d : file_differences(*records[0].stack, *records[i].stack)) {
      auto known = std::ranges::find(all, d.name, &stack_difference::name);
      if (known == all.end()) {
        known = all.insert(all.end(), {std::move(d.name), std::vector<std::string>(records.size())});
        known->values[0] = std::move(d.values[0]);
      }
      known->values[i] = std::move(d.values[1]);
    }
  for (auto* group : {&keys, &packages, &imported, &rest})
    for (auto& [name, difference] : *group)
      if (group != &rest || !says_a_key(name, keys)) all.push_back(std::move(difference));
  return all;
}

bool is_date(const std::string& text) {
  constexpr const char* form = "%Y-%m-%d";
  std::tm day{};
  if (::strptime(text.c_str(), form, &day) == nullptr) return false;
  static_cast<void>(::timegm(&day));  // February 30 becomes March 2
  std::array<char, 16> again{};
  return std::string_view(again.data(), std::strftime(again.data(), again.size(), form, &day)) == text;
}

std::vector<allowance> load_allowances(const std::filesystem::path& file) {
  return allowances_from(json_cursor{read_json(file)});
}

std::vector<allowance> allowances_from(const json_cursor& top) {
  constexpr int schema = 1;
  if (!top.has("schema")) top.fail("\"schema\" is missing");
  if (const auto found = top.at("schema").integer(); found != schema)
    top.at("schema").fail(fmt::format("schema {}, and this cufault reads {} of allowances", found, schema));
  top.only({"schema", "allowances"});
  std::vector<allowance> all;
  for (const json_cursor& at : top.at("allowances").items()) {
    at.only({"arm", "change", "what", "reason", "expires"});
    const std::string word = at.at("change").string();
    const auto known = std::ranges::find_if(allowable, [&](const auto& a) { return a.name == word; });
    if (known == allowable.end())
      at.at("change").fail("only changed, gone, worsened, remedy_broken and absent can be allowed");
    allowance a{.arm = at.at("arm").string(),
                .what = known->value,
                .reason = at.at("reason").string(),
                .expires = at.at("expires").string(),
                .source = at.place(),
                .change = at.has("what") ? at.at("what").string() : ""};
    if (a.arm.find('/') == std::string::npos) at.at("arm").fail("expected CASE/ARM, where * is anything");
    if (a.reason.find_first_not_of(" \t\n") == std::string::npos) at.at("reason").fail("is empty; say why");
    if (!is_date(a.expires)) at.at("expires").fail("expected a date: YYYY-MM-DD");
    if (at.has("what") && a.change.empty()) at.at("what").fail("is empty; leave it out for any change");
    all.push_back(std::move(a));
  }
  return all;
}

comparison compare(std::span<const record> records, const comparison_terms& terms) {
  comparison all{.stacks = stack_differences(records), .at_least = terms.at_least};
  std::vector<std::set<std::string>> unproved;  // cases, of each record
  for (const record& r : records) {
    const auto letter = static_cast<char>('a' + std::min<std::size_t>(all.records.size(), 25));
    std::string label;
    const stack_keys keys = keys_of(r);
    for (const python_framework& f : python_frameworks)
      if (const auto version = keys.find(std::string(f.name));
          version != keys.end() &&
          std::ranges::any_of(r.cases, [&](const case_result& c) { return framework_of_case(c.name) == &f; }))
        label += fmt::format("{} {}, ", f.title, version->second);
    all.records.push_back({.role = std::string(1, letter),
                           .label = label + stack_label(r),
                           .doubts = imported_doubts(*r.stack)});
    std::set<std::string>& cases = unproved.emplace_back();
    for (const case_result& c : r.cases)
      if (control_failed(c)) cases.insert(c.name);
  }
  const record& last = records.back();
  all.executed = executed_cases(last.cases, last.stack->is_object() && last.stack->contains("gpu") &&
                                                (*last.stack)["gpu"].is_object())
                     .size();
  const auto joined = join(records);
  std::vector<bool> used(terms.allowances.size(), false);
  for (const auto& [key, j] : joined) {
    compared_arm arm{j.case_name, j.arm};
    const bool proved_before = !unproved[0].contains(j.case_name);
    const arm_result* const before = proved_before ? j.each[0] : nullptr;
    bool not_asked = false, any = false;
    std::map<std::string, std::string> whys;  // what is to be said, and of which records
    for (std::size_t i = 1; i < records.size(); ++i) {
      judgement found = compare_arms(before, j.each[i]);
      if (j.each[i] == nullptr && found.v == verdict::absent) {
        if (!terms.asked || !terms.asked(i, j.case_name, j.arm) || had_nothing_to_clear(j, i, joined)) {
          not_asked = true;
          continue;
        }
        found.why = "asked for, and not in the record";
      } else if (j.each[i] != nullptr && unproved[i].contains(j.case_name)) {
        found = {verdict::unresolved, "a control failed: without a working control a failure proves nothing"};
      } else if (!proved_before && found.v == verdict::unrecorded) {
        found.why = "a control of the first record failed, so that it proves nothing";
      }
      if (!is_same(found.v))
        if (const std::string because = explained_by_files(key, *records[0].stack, *records[i].stack);
            !because.empty())
          found.why += (found.why.empty() ? "" : "; ") + because;
      if (!found.why.empty()) {
        std::string& of = whys[found.why];
        of += (of.empty() ? "" : ", ") + all.records[i].role;
      }
      if (!any || urgency(found.v) < urgency(arm.found.v)) arm.found = std::move(found);
      any = true;
    }
    if (!any) arm.found = {verdict::not_provoked};
    arm.found.why.clear();
    for (const auto& [why, of] : whys)
      arm.found.why += (arm.found.why.empty() ? "" : " | ") + (records.size() == 2 ? why : of + ": " + why);
    std::size_t observing = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const arm_result* const of = i == 0 ? before : j.each[i];
      const bool seen = of != nullptr && observed(*of);
      arm.seen.push_back(seen ? describe(*of) : std::string());
      observing += seen ? 1 : 0;
      all.records[i].observed += seen ? 1 : 0;
      if (arm.summary.empty() && j.each[i] != nullptr) arm.summary = j.each[i]->summary;
    }
    if (is_same(arm.found.v) && (not_asked || observing == 0)) {
      ++(not_asked ? all.not_asked : all.unobserved);
      continue;
    }
    for (std::size_t i = 0; i < terms.allowances.size(); ++i) {
      const allowance& a = terms.allowances[i];
      // A file from before undefined behaviour was told apart calls it worsened.
      const bool worsened = a.what == verdict::worsened && arm.found.lost == loss::undefined_behaviour;
      if ((a.what != arm.found.v && !worsened) || fnmatch(a.arm.c_str(), key.c_str(), 0) != 0) continue;
      if (!a.change.empty() && !matches(a.change, what_changed(arm.found))) continue;
      used[i] = true;
      if (terms.today <= a.expires && !arm.allowed_by) arm.allowed_by = a;
    }
    all.arms.push_back(std::move(arm));
  }
  for (std::size_t i = 0; i < terms.allowances.size(); ++i) {
    if (terms.today > terms.allowances[i].expires)
      all.expired.push_back(terms.allowances[i]);
    else if (!used[i])
      all.unused.push_back(terms.allowances[i]);
  }
  return all;
}

std::vector<std::string> parts_of(std::string_view why) {
  std::vector<std::string> parts{""};
  int open = 0;
  for (std::size_t i = 0; i < why.size(); ++i) {
    open += why[i] == '(' ? 1 : why[i] == ')' ? -1 : 0;
    if (open > 0 || why.substr(i, 2) != "; ")
      parts.back() += why[i];
    else
      parts.emplace_back(), ++i;
  }
  return parts;
}

std::string what_changed(const judgement& found) {
  if (constexpr std::size_t longest = 4000; found.why.size() > longest)
    return found.why;  // std::regex recurses once per character
  static const std::regex in_trials(R"(; (?:\d+ of )?\d+ trials?(?: as recorded)?)");
  if (const auto last = found.why.rfind("; "); last != found.why.npos && found.why.size() - last < 80)
    if (const std::string trials = found.why.substr(last); std::regex_match(trials, in_trials))
      return what_changed({found.v, found.why.substr(0, last)}) + trials;
  // "on STACK: " of another stack, then levels, results, or the records that a difference is of.
  static const std::regex in_front(
      R"((?:on [^:]*: )?(the edge moved: )?(?:(?:at -?\d+|result \d+|[a-z](?:, [a-z])*): )*)"),
      unsaid(R"( \(.*| \| .*| in .*|, numbers right)"), to_first_fact(R"([^(]*\(([^;)]*).*)"),
      number(R"(\b\d+\b)"), measured(R"((?:-?\d|not measured).*)");
  std::smatch front;
  std::regex_search(found.why, front, in_front, std::regex_constants::match_continuous);
  const std::vector<std::string> parts = parts_of(front.suffix().str());
  const auto [was, is] = around(parts[0], " → ");
  const auto [call, before] = around(was, ": ");
  if (call == "rate moved") return call;
  if (is.empty() || before.empty()) return found.why;
  if (std::regex_match(before, measured) && std::regex_match(is, measured))
    return std::regex_replace(call, number, "N") + ": another measurement";
  std::string a = std::regex_replace(before, unsaid, ""), b = std::regex_replace(is, unsaid, "");
  for (const std::string& part : parts)  // what became of the process of a call that never returned
    if (const auto [ended_before, ended] = around(part, " → "); part.starts_with("the process: "))
      for (auto& [side, how] : {std::pair{&a, around(ended_before, ": ").second}, std::pair{&b, ended}})
        if (*side == "never returned") *side = std::regex_replace(how, unsaid, "");
  if (const auto [other, came_to] = around(b, ": "); !came_to.empty() && other != "crashed")
    return fmt::format("first other call: {}, {}", other.substr(0, other.find(' ')), came_to);
  if (before.find(", numbers right") != before.npos && b == a + ", numbers wrong")
    a = "numbers right", b = "wrong";
  if (a == b) {
    a = std::regex_replace(std::regex_replace(before, to_first_fact, "$1"), number, "N");
    b = std::regex_replace(std::regex_replace(is, to_first_fact, "$1"), number, "N");
    if (const auto [_, named] = around(b, "named call "); !named.empty())
      return "another call is named: " + named;
  }
  std::string text = front[1].str() + (a == b ? a + ": another number" : a + " → " + b);
  for (const std::string& part : parts)  // what explains it
    if (part.starts_with("lib")) text += "; " + part;
  return text;
}

std::size_t same_in(const comparison& all) {
  return static_cast<std::size_t>(
      std::ranges::count_if(all.arms, [](const compared_arm& a) { return is_same(a.found.v); }));
}

std::size_t differing_in(const comparison& all) {
  return static_cast<std::size_t>(std::ranges::count_if(all.arms, [](const compared_arm& a) {
    return !is_same(a.found.v) && a.found.v != verdict::unrecorded;
  }));
}

std::vector<exit_reason> exit_reasons(const comparison& all) {
  std::vector<exit_reason> reasons;
  if (!all.unread.empty()) reasons.push_back({2, "not every file could be read"});
  for (const std::string& run : all.incomplete)
    reasons.push_back(
        {2, fmt::format("the run of {} did not come to its end: run it again, or leave it out", run)});
  const bool any = std::ranges::any_of(all.arms, [](const compared_arm& a) {
    return std::ranges::none_of(a.seen, [](const std::string& s) { return s.empty(); });
  });
  if (!any) reasons.push_back({2, "no arm was observed in both"});
  const auto add = [&](int code, std::string_view one, std::string_view more, auto holds) {
    std::vector<std::string> names;
    for (const compared_arm& a : all.arms)
      if (holds(a)) names.push_back(join_key(a.case_name, a.arm));
    if (const auto count = names.size(); count > 0)
      reasons.push_back({code, fmt::format("{} {}", count, count == 1 ? one : more), std::move(names)});
  };
  add(2, "arm is unresolved", "arms are unresolved",
      [](const compared_arm& a) { return a.found.v == verdict::unresolved; });
  if (all.executed < all.at_least)
    reasons.push_back({1, fmt::format("{} case{} executed, and the floor is {}", all.executed,
                                      all.executed == 1 ? "" : "s", all.at_least)});
  add(1, "change that no allowance covers", "changes that no allowance covers", [](const compared_arm& a) {
    return !is_same(a.found.v) && a.found.v != verdict::unrecorded && a.found.v != verdict::unresolved &&
           !a.allowed_by;
  });
  return reasons;
}

}  // namespace cufault
