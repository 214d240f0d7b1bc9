// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/known_issues.hpp"

#include "reports/base/json_input.hpp"
#include "reports/base/lines.hpp"
#include "reports/model/arm_line.hpp"
#include "reports/model/stack_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr int known_schema = 1;
constexpr std::string_view crashed_in = "never returned; crashed", hung_in = "never returned; timed out";

using version_numbers = std::array<unsigned long, 3>;

version_numbers numbers_of(std::string_view version) {
  version_numbers parts{};
  known_details::parse(version, parts);
  return parts;
}
bool older(const std::string& a, const std::string& b) {
  return numbers_of(a) < numbers_of(b);
}

std::vector<std::string> texts_of(const json_cursor& at, std::string_view key) {
  std::vector<std::string> texts;
  if (const auto all = at.find(key))
    for (const json_cursor& one : all->items()) texts.push_back(one.string());
  return texts;
}

std::string one_of(const json_cursor& at, std::initializer_list<std::string_view> known) {
  std::string text = at.string();
  if (std::find(known.begin(), known.end(), text) == known.end())
    at.fail(fmt::format("\"{}\" is none of: {}", text, fmt::join(known, ", ")));
  return text;
}

std::string version_in(const json_cursor& at) {
  std::string text = at.string();
  if (!is_version(text)) at.fail(fmt::format("\"{}\" is no version", text));
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

known_entry entry_from(const json_cursor& at) {
  at.only({"id", "sort", "library", "harm", "what", "reach", "calls", "status", "workarounds", "addresses",
           "ranges", "architectures", "evidence", "measured"});
  known_entry e{.id = at.at("id").string(),
                .sort = one_of(at.at("sort"), {"measured", "documented", "reported"}),
                .library = one_of(at.at("library"), {"cublas", "cublaslt"}),
                .harm = one_of(at.at("harm"), {harms[0], harms[1], harms[2], harms[3], harms[4]}),
                .what = at.at("what").string(),
                .reach = one_of(at.at("reach"), {"any", "forced_algorithm", "refused_call"}),
                .calls = texts_of(at, "calls"),
                .addresses = texts_of(at, "addresses"),
                .architectures = texts_of(at, "architectures")};
  if (const auto status = at.find("status")) e.status = status->string();
  if (const auto all = at.find("workarounds"))
    for (const json_cursor& one : all->items()) {
      one.only({"text", "arm"});
      e.workarounds.push_back({one.at("text").string(), one.has("arm") ? one.at("arm").string() : ""});
    }
  if (const auto all = at.find("evidence"))
    for (const json_cursor& one : all->items()) {
      one.only({"arm", "call", "shows", "in_place_of"});
      const auto other = one.find("in_place_of");
      e.evidence.push_back({one.at("arm").string(), one.at("call").string(), one.at("shows").string(),
                            other ? other->string() : std::string()});
      if (other && std::ranges::find(e.evidence, other->string(), &known_evidence::arm) == e.evidence.end())
        other->fail("no evidence before it has this arm");
    }
  if (const auto all = at.find("ranges"))
    for (const json_cursor& one : all->items()) {
      one.only({"from", "before"});
      e.ranges.emplace_back(version_in(one.at("from")), version_in(one.at("before")));
    }
  if (const auto all = at.find("measured"))
    for (const auto& [architecture, versions] : all->members()) {
      versions.only({"affected", "not_affected"});
      for (const json_cursor& one : versions.at("affected").items())
        e.measured[architecture].affected.push_back(version_in(one));
      for (const json_cursor& one : versions.at("not_affected").items())
        e.measured[architecture].not_affected.push_back(version_in(one));
    }
  if (e.sort == "measured" ? e.evidence.empty() || !e.ranges.empty() : e.ranges.empty())
    at.fail("what is measured has evidence and no ranges; what is documented or reported has ranges");
  if (e.sort != "measured" && e.addresses.empty()) at.fail("what is documented or reported has an address");
  std::vector<std::string> ways, affected, not_affected, ranges;
  for (const known_workaround& w : e.workarounds) ways.push_back(w.text);
  for (const auto& [architecture, versions] : e.measured) {
    for (const std::string& v : versions.affected) affected.push_back(architecture + "/" + v);
    for (const std::string& v : versions.not_affected) not_affected.push_back(architecture + "/" + v);
  }
  for (const auto& [from, before] : e.ranges) ranges.push_back(from + "<" + before);
  std::size_t place = 0;
  for (const auto* all : {&e.calls, &ways, &e.addresses, &affected, &not_affected, &ranges, &e.architectures})
    e.words[place++] = joined(*all);
  return e;
}

// ---- what records show ----

enum class shown { nothing, no, yes };

shown shown_by(const arm_result& arm, const known_evidence& e) {
  shown found = shown::nothing;
  for (const observation& o : arm.trials) {
    if (!comparable(o)) continue;
    for (const call_record& c : o.calls) {
      if (describe(c.what.name) != e.call) continue;
      const std::string text = c.what.status.empty()
                                   ? std::string(o.ended == outcome::crashed ? crashed_in : hung_in)
                                   : describe(c.what).substr(e.call.size() + 2);
      if (text.starts_with(e.shows)) return shown::yes;
      found = shown::no;
    }
  }
  return found;
}

/// "numbers.split_k", "told" of "numbers.split_k/told".
std::pair<std::string, std::string> parts_of(const std::string& arm) {
  const auto slash = arm.find('/');
  return {arm.substr(0, slash), slash == arm.npos ? "" : arm.substr(slash + 1)};
}

struct recorded_stack {
  std::string label{}, architecture{}, cublas{}, cublaslt{};
  std::map<std::string, arm_result> arms{};
};

/// Only the arms that are asked for are parsed: a stack has thousands.
recorded_stack read_stack(const fs::path& folder, const std::set<std::string>& wanted) {
  const json_cursor top{read_json(folder / "stack.json")};
  const json_cursor keys = top.at("stack").at("keys");
  const auto key = [&](const char* name) { return keys.has(name) ? keys.at(name).string() : ""; };
  recorded_stack s{.label = folder.filename(),
                   .architecture = key("compute_capability"),
                   .cublas = key("cublas"),
                   .cublaslt = key("cublaslt")};
  std::vector<run_of_trials> runs;
  for (const json_cursor& run : top.at("runs").items()) runs.push_back(run_from(run));
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> heads;  // by file
  for (const std::string& arm : wanted) {
    const auto [case_name, name] = parts_of(arm);
    heads[family_of_case(case_name)].emplace_back(
        fmt::format(R"({{"case":"{}","arm":"{}",)", case_name, name), arm);
  }
  for (const auto& of_family : heads) {
    const fs::path file = folder / (of_family.first + ".jsonl");
    if (!fs::exists(file)) continue;
    each_line(read_text(file), [&](std::string_view line, int number, bool /*whole*/) {
      for (const auto& [head, arm] : of_family.second)
        if (line.starts_with(head))
          s.arms[arm] = filed_arm_from(json_cursor{parse_json(file.string(), line, number)}, runs).arms.at(0);
    });
  }
  return s;
}

/// Affected where any of the evidence shows it; not affected where all of it was recorded, or what counts in its place, and none does.
shown shown_on(const recorded_stack& stack, const known_entry& e) {
  bool all = true;
  std::map<std::string, bool> looked_at;  // by arm
  for (const known_evidence& one : e.evidence) {
    bool& looked = looked_at[one.in_place_of.empty() ? one.arm : one.in_place_of];
    const auto arm = stack.arms.find(one.arm);
    if (arm == stack.arms.end()) continue;
    looked = true;
    if (!arm->second.races.empty())
      throw input_error(fmt::format("{}: {} races: it proves no version right", e.id, one.arm));
    const shown found = shown_by(arm->second, one);
    if (found == shown::yes) return shown::yes;
    all = all && found == shown::no;
  }
  for (const auto& [arm, looked] : looked_at) all = all && looked;
  return all && !e.evidence.empty() ? shown::no : shown::nothing;
}

void check_workarounds(const recorded_stack& stack, const known_entry& e) {
  for (const known_workaround& w : e.workarounds) {
    const auto arm = stack.arms.find(w.arm);
    if (arm == stack.arms.end()) continue;
    for (const observation& o : arm->second.trials)
      if (comparable(o) && failed(signature_of(o)))
        throw input_error(fmt::format("{}: the workaround {} failed on {}", e.id, w.arm, stack.label));
  }
}

/// One member a line, so that one more version changes one line.
std::string text_of(const nlohmann::ordered_json& file) {
  std::string text =
      fmt::format("{{\n \"schema\": {},\n \"gpus\": {},\n \"issues\": [", known_schema, file["gpus"].dump());
  bool first = true;
  for (const auto& issue : file["issues"]) {
    text += first ? "\n  {" : ",\n  {";
    first = false;
    bool first_member = true;
    for (const auto& [key, value] : issue.items()) {
      text += fmt::format("{}\n   \"{}\": {}", first_member ? "" : ",", key, value.dump());
      first_member = false;
    }
    text += "\n  }";
  }
  return text + "\n ]\n}\n";
}

}  // namespace

known_issue known_entry::row() const {
  return {id,       sort,     library,  harm,     what,     reach,   words[0],
          words[1], words[2], words[3], words[4], words[5], words[6]};
}

bool is_version(std::string_view text) {
  version_numbers parts{};
  return known_details::parse(text, parts);
}

std::size_t rank_of_harm(std::string_view harm) {
  return static_cast<std::size_t>(std::find(std::begin(harms), std::end(harms), harm) - std::begin(harms));
}

known_issues_list load_known_issues(const fs::path& file) {
  const json_cursor top{read_json(file)};
  top.only({"schema", "gpus", "issues"});
  if (top.at("schema").integer() != known_schema)
    top.at("schema").fail(fmt::format("this build reads schema {} only", known_schema));
  known_issues_list known;
  for (const auto& [name, architecture] : top.at("gpus").members())
    known.gpus.emplace_back(name, architecture.string());
  std::set<std::string> met;
  for (const json_cursor& at : top.at("issues").items()) {
    known.issues.push_back(entry_from(at));
    if (!met.insert(known.issues.back().id).second) at.at("id").fail("it is there twice");
  }
  return known;
}

std::string measured_again(const fs::path& file, const fs::path& recorded) {
  const known_issues_list known = load_known_issues(file);
  auto json = nlohmann::ordered_json::parse(read_text(file));
  std::set<std::string> wanted, unseen;
  for (const known_entry& e : known.issues) {
    for (const known_evidence& one : e.evidence) wanted.insert(one.arm);
    for (const known_workaround& w : e.workarounds)
      if (!w.arm.empty()) wanted.insert(w.arm);
  }
  unseen = wanted;
  using states = std::map<std::string, bool, decltype(&older)>;  // by version: whether it is affected
  std::vector<std::map<std::string, states>> all(known.issues.size());
  for (const fs::path& folder : stacks_in(recorded)) {
    const recorded_stack stack = read_stack(folder, wanted);
    for (const auto& [arm, result] : stack.arms) unseen.erase(arm);
    for (std::size_t i = 0; i < known.issues.size(); ++i) {
      const known_entry& e = known.issues[i];
      const std::string& version = e.library == "cublas" ? stack.cublas : stack.cublaslt;
      const shown found = shown_on(stack, e);
      if (found == shown::nothing || version.empty() || stack.architecture.empty()) continue;
      if (found == shown::yes) check_workarounds(stack, e);
      auto& of_architecture = all[i].try_emplace(stack.architecture, &older).first->second;
      bool& affected = of_architecture.try_emplace(version, false).first->second;
      affected = affected || found == shown::yes;
    }
  }
  if (!unseen.empty())
    throw input_error(fmt::format("{}: no record has {}", file.string(), fmt::join(unseen, ", ")));
  for (std::size_t i = 0; i < known.issues.size(); ++i) {
    if (known.issues[i].evidence.empty()) continue;
    auto measured = nlohmann::ordered_json::object();
    for (const auto& [architecture, versions] : all[i]) {
      auto affected = nlohmann::ordered_json::array(), not_affected = affected;
      for (const auto& [version, is_affected] : versions)
        (is_affected ? affected : not_affected).push_back(version);
      measured[architecture] = {{"affected", affected}, {"not_affected", not_affected}};
    }
    json["issues"][i]["measured"] = measured;
  }
  return text_of(json);
}

std::string architecture_of(const known_issues_list& known, std::string_view gpu) {
  const auto lower = [](std::string_view text) {
    std::string small = " ";
    for (const char c : text)
      small += c == '-' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return small + " ";
  };
  if (gpu.size() >= 3 && gpu.find_first_not_of("0123456789.") == gpu.npos && gpu.find('.') != gpu.npos)
    return std::string(gpu);
  const std::string name = lower(gpu);
  for (const auto& [known_name, architecture] : known.gpus)
    if (name.find(lower(known_name)) != name.npos) return architecture;
  return {};
}

std::string to_string(known_level level) {
  static constexpr std::array<const char*, 4> names{"measured", "documented", "reported", "not_measured"};
  return names.at(static_cast<std::size_t>(level));
}

namespace {

struct measured_version {
  std::string version;
  bool affected = false;
};

std::vector<measured_version> sorted_versions(const measured_versions& of) {
  std::vector<measured_version> all;
  for (const std::string& v : of.affected) all.push_back({v, true});
  for (const std::string& v : of.not_affected) all.push_back({v, false});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return older(a.version, b.version); });
  return all;
}

std::string with_state(const measured_version& v) {
  return fmt::format("{} ({})", v.version, v.affected ? "affected" : "not affected");
}

/// Why nobody can say of this version whether it is affected.
std::string between(const known_entry& e, const std::string& version, const std::string& architecture) {
  std::optional<measured_version> below, above;
  for (const measured_version& v : sorted_versions(e.measured.at(architecture))) {
    if (numbers_of(v.version) == numbers_of(version))
      return fmt::format("{} on {}", with_state(v), architecture);
    if (older(v.version, version)) below = v;
    if (!above && older(version, v.version)) above = v;
  }
  const std::string where =
      below && above ? fmt::format("lies between {} and {}", with_state(*below), with_state(*above))
      : below        ? fmt::format("is newer than {}", with_state(*below))
                     : fmt::format("is older than {}", with_state(*above));
  return fmt::format("{} {} on {}", version, where, architecture);
}

std::string because_of(const known_entry& e, known_level level, const std::string& version,
                       const std::string& architecture) {
  if (level == known_level::measured) {
    std::vector<std::string> on;
    std::string measured;  // without the fourth number, which a library does not tell
    for (const auto& [there, versions] : e.measured)
      for (const std::string& v : versions.affected)
        if (numbers_of(v) == numbers_of(version) && (architecture.empty() || there == architecture)) {
          on.push_back(there);
          measured = v;
        }
    return fmt::format("measured with {} on {}", measured, fmt::join(on, ", "));
  }
  if (level == known_level::not_measured) {
    std::vector<std::string> texts;
    for (const auto& [there, versions] : e.measured)
      if (!versions.affected.empty() &&
          (architecture.empty() || there == architecture || !e.measured.contains(architecture)))
        texts.push_back(between(e, version, there));
    const bool elsewhere = !architecture.empty() && !e.measured.contains(architecture);
    return fmt::format("not measured{}: {}", elsewhere ? " on " + architecture : "", fmt::join(texts, "; "));
  }
  std::string text = level == known_level::documented ? "documented by NVIDIA" : "reported by users";
  bool tried_here = false;
  for (const auto& [there, versions] : e.measured)
    for (const std::string& v : versions.not_affected)
      if (numbers_of(v) == numbers_of(version) && (architecture.empty() || there == architecture)) {
        text += fmt::format("; tried with {} on {} and not seen", v, there);
        tried_here = true;
      }
  return tried_here ? text : text + "; not reproduced here";
}

}  // namespace

std::vector<found_issue> issues_of(const known_issues_list& known, std::string_view version,
                                   std::string_view architecture) {
  std::vector<found_issue> found;
  for (const known_entry& e : known.issues) {
    known_level level = known_level::not_measured;
    if (concerns(e.row(), version, architecture, level))
      found.push_back({&e, level, because_of(e, level, std::string(version), std::string(architecture))});
  }
  const auto order = [](const found_issue& f) {
    return std::tuple(f.level == known_level::not_measured, rank_of_harm(f.entry->harm), f.level);
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const found_issue& a, const found_issue& b) { return order(a) < order(b); });
  return found;
}

bool any_measured(const known_issues_list& known, std::string_view version, std::string_view architecture) {
  for (const known_entry& e : known.issues)
    for (const auto& [there, versions] : e.measured)
      if (architecture.empty() || there == architecture)
        for (const auto* all : {&versions.affected, &versions.not_affected})
          for (const std::string& v : *all)
            if (numbers_of(v) == numbers_of(version)) return true;
  return false;
}

std::string span_text(const known_entry& e, const std::string& architecture) {
  const std::vector<measured_version> all = sorted_versions(e.measured.at(architecture));
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].affected) continue;
    std::size_t last = i;
    while (last + 1 < all.size() && all[last + 1].affected) ++last;
    text += text.empty() ? "" : "; then ";
    text += i == 0 ? fmt::format("first in {} or earlier", all[i].version)
                   : fmt::format("first after {}, at the latest in {}", all[i - 1].version, all[i].version);
    text += last + 1 == all.size() ? fmt::format("; {} is the newest measured", all[last].version)
                                   : fmt::format("; mended after {}, at the latest in {}", all[last].version,
                                                 all[last + 1].version);
    i = last;
  }
  return text;
}

std::vector<std::string> issues_of_failure(const known_issues_list& known, const std::string& call,
                                           const std::string& status, const std::string& version,
                                           const std::string& architecture) {
  std::vector<std::string> lines;
  if (call.empty() || status.empty()) return lines;
  const auto say = [&](const known_entry& e, const std::string& because) {
    if (e.status == status && std::find(e.calls.begin(), e.calls.end(), call) != e.calls.end())
      lines.push_back(fmt::format("{}: {} {}{}", e.id, e.what, because,
                                  e.workarounds.empty() ? "" : ". " + e.workarounds.front().text));
  };
  if (is_version(version)) {
    for (const found_issue& f : issues_of(known, version, architecture))
      if (f.level != known_level::not_measured) say(*f.entry, fmt::format("({})", f.because));
    return lines;
  }
  for (const known_entry& e : known.issues) {
    std::set<std::string> versions;
    for (const auto& [there, measured] : e.measured)
      if (architecture.empty() || there == architecture)
        versions.insert(measured.affected.begin(), measured.affected.end());
    if (!versions.empty())
      say(e, fmt::format("(measured with {} {})", e.library == "cublas" ? "cuBLAS" : "cuBLASLt",
                         fmt::join(versions, ", ")));
  }
  return lines;
}

}  // namespace cufault
