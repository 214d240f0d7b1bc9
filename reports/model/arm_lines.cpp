// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/arm_lines.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_fields.hpp"
#include "reports/base/words.hpp"
#include "reports/model/cell_name.hpp"
#include "reports/model/list_difference.hpp"
#include "reports/model/times.hpp"
#include "reports/model/trials_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace cufault {

template <class Fields>
void describe_run(run_of_trials& r, Fields& f) {
  f.required("commit", r.commit);
  f("dirty", r.dirty);
  f.required("started", r.started);
  f.required("seed", r.seed);
}

template <class Fields>
void describe_fields(run_of_trials& r, Fields& f) {
  describe_run(r, f);
  f.required("trials", r.trials);
}

namespace {

constexpr std::string_view separator = "; ";

/// The one run that made all trials of an arm, without their number.
std::optional<run_of_trials> only_run(const arm_result& arm) {
  if (arm.runs.size() != 1 || arm.runs[0].trials != arm.trials.size()) return std::nullopt;
  auto run = arm.runs[0];
  run.trials = 0;
  return run;
}

nlohmann::ordered_json run_json(const run_of_trials& run) {
  field_writer f;
  describe_run(const_cast<run_of_trials&>(run),
               f);  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
  return std::move(f.json);
}

run_of_trials run_from(const json_cursor& at) {
  run_of_trials run;
  field_reader f{at};
  describe_run(run, f);
  f.finish();
  check_utc(at.at("started"));
  return run;
}

/// The entry with the highest count, the first of equal ones.
template <class Counts>
auto most_frequent(const Counts& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

template <class Arm, class Fields>
void describe_arm(Arm& arm, Fields& f) {
  f("kind", arm.kind, arm_kind::fault);
  f("summary", arm.summary);
  f("claims", arm.claims);
  f("against", arm.against);
  f("races", arm.races);
  f("rate_depends_on_load", arm.rate_depends_on_load);
  f("injected", arm.counterpart_of);
  f("made_up", arm.made_up);
  f("runs", arm.runs);
}

/// With its trials, without its name; what else its line may have is in `others`.
arm_result stated_arm(const json_cursor& at, std::initializer_list<const char*> others, std::size_t& room) {
  arm_result arm;
  arm.source = at.place();
  field_reader f{at};
  describe_arm(arm, f);
  for (const char* other : others) f.other(other);
  f.other("trials");
  f.finish();
  if (const auto runs = at.find("runs"))
    for (const auto& run : runs->items()) check_utc(run.at("started"));
  arm.trials = trials_from(at.at("trials"), room);
  std::size_t counted = 0;
  for (const auto& r : arm.runs) counted += std::min(r.trials, SIZE_MAX - counted);  // no sum wraps round
  if (!arm.runs.empty() && counted != arm.trials.size())
    at.at("runs").fail(fmt::format("{} trials in all, but there are {}", counted, arm.trials.size()));
  return arm;
}

}  // namespace

case_line line_of(const case_result& c) {
  std::map<std::string, int> beginnings;
  std::map<std::tuple<std::string, std::string, std::uint64_t, bool>, int> runs;
  for (const arm_result& a : c.arms) {
    if (const auto end = a.summary.find(separator); end != a.summary.npos)
      ++beginnings[a.summary.substr(0, end)];
    if (const auto run = only_run(a)) ++runs[{run->started, run->commit, run->seed, run->dirty}];
  }
  case_line line{.name = c.name};
  if (const auto most = most_frequent(beginnings); most != beginnings.end() && most->second > 1)
    line.summary = most->first;
  const bool all_known =
      std::none_of(c.arms.begin(), c.arms.end(), [](const arm_result& a) { return a.runs.empty(); });
  const auto most = all_known ? most_frequent(runs) : runs.end();
  for (auto at = runs.begin(); at != runs.end(); ++at) {
    const auto& [started, commit, seed, dirty] = at->first;
    run_of_trials run{.commit = commit, .dirty = dirty, .started = started, .seed = seed};
    if (at == most)
      line.run = std::move(run);
    else if (at->second > 1)
      line.more_runs.push_back(std::move(run));
  }
  return line;
}

nlohmann::ordered_json case_json(const case_line& c) {
  field_writer f;
  f.required("case", c.name);
  f("summary", c.summary);
  if (c.run) f.json["run"] = run_json(*c.run);
  for (const run_of_trials& run : c.more_runs) f.json["more_runs"].push_back(run_json(run));
  f("base", c.base);
  return std::move(f.json);
}

case_line case_from(const json_cursor& at) {
  case_line c;
  if (at.has("arm")) at.at("arm").fail("stands in a line of its own, behind that of its case");
  field_reader f{at};
  f.required("case", c.name);
  f("summary", c.summary);
  f("base", c.base);
  f.other("run");
  f.other("more_runs");
  f.finish();
  if (const auto run = at.find("run")) c.run = run_from(*run);
  if (const auto runs = at.find("more_runs"))
    for (const json_cursor& run : runs->items()) c.more_runs.push_back(run_from(run));
  return c;
}

nlohmann::ordered_json arm_json(const std::string& case_name, const arm_result& arm) {
  field_writer f;
  f.required("case", case_name);
  f.required("arm", arm.name);
  describe_arm(arm, f);
  f.json["trials"] = trials_json(arm.trials);
  return std::move(f.json);
}

nlohmann::ordered_json arm_json(const case_line& of, const arm_result& arm) {
  field_writer f;
  f.required("arm", arm.name);
  describe_arm(arm, f);
  const std::string shared = of.summary + std::string(separator);
  if (!of.summary.empty() && arm.summary.size() > shared.size() && arm.summary.starts_with(shared)) {
    f.json.erase("summary");
    if (!of.name.starts_with(matrix_family) || !cell_named(arm.name))
      f.json["detail"] = arm.summary.substr(shared.size());
  }
  if (const auto run = only_run(arm)) {
    f.json.erase("runs");
    const auto shared_by = std::find(of.more_runs.begin(), of.more_runs.end(), *run);
    if (shared_by != of.more_runs.end())
      f.json["run"] = shared_by - of.more_runs.begin();
    else if (run != of.run)
      f.json["run"] = run_json(*run);
  }
  f.json["trials"] = trials_json(arm.trials);
  return std::move(f.json);
}

namespace {

using ordered = nlohmann::ordered_json;

void take_room(const json_cursor& place, std::size_t bytes, std::size_t& room) {
  if (bytes > room) place.fail("more is shared than fits into memory; state it in each arm");
  room -= bytes;
}

/// Few digits, since each arm that is stored as a difference has them. One changed arm of the base goes unnoticed once in 65,536 times; folders that do
/// not belong together differ in many arms.
constexpr std::size_t base_hash_digits = 4;

std::string base_hash(std::string_view line) {
  return hash_of(line).substr(0, base_hash_digits);
}

/// The line of an arm without its runs: differences are taken from it.
ordered line_without_runs(const case_line& of, const arm_result& arm) {
  ordered line = arm_json(of, arm);
  line.erase("run");
  line.erase("runs");
  return line;
}

/// Members of `to` that `from` has otherwise, and null for those that only `from` has.
ordered difference(const ordered& from, const ordered& to) {
  ordered d = ordered::object();
  for (const auto& [key, value] : to.items())
    if (const auto known = from.find(key); known == from.end() || *known != value) d[key] = value;
  for (const auto& [key, value] : from.items())
    if (!to.contains(key)) d[key] = nullptr;
  return d;
}

/// As difference(); a list that both have and that differs is stated as list_difference() where that is shorter.
ordered trial_difference(const ordered& from, const ordered& to) {
  ordered d = difference(from, to);
  for (auto& [key, value] : d.items()) {
    const auto known = from.find(key);
    if (known == from.end() || !known->is_array() || !value.is_array()) continue;
    ordered edits = list_difference(*known, value);
    if (dump_json(edits).size() < dump_json(value).size()) value = std::move(edits);
  }
  return d;
}

void change(ordered& line, const nlohmann::json& by) {
  for (const auto& [key, value] : by.items())
    if (value.is_null())
      line.erase(key);
    else
      line[key] = value;
}

void change_trial(ordered& trial, const json_cursor& by) {
  for (const auto& [key, value] : by.members()) {
    const nlohmann::json stated = value.value();
    if (stated.is_null()) {
      trial.erase(key);
      continue;
    }
    const auto known = trial.find(key);
    trial[key] = known != trial.end() && known->is_array() && is_list_difference(value)
                     ? changed_list(*known, value)
                     : ordered(stated);
  }
}

}  // namespace

nlohmann::ordered_json arm_json(const case_line& of, const arm_result& arm, const arm_result& base) {
  ordered whole = arm_json(of, arm);
  const ordered from = line_without_runs(of, base);
  ordered line = ordered::object();
  line["arm"] = arm.name;
  line["base_hash"] = base_hash(dump_json(from));
  line.update(difference(from, whole));
  ordered& trials = line["trials"] = whole["trials"];
  const ordered& known = from.at("trials");
  for (std::size_t at = 0; at < std::min(trials.size(), known.size()); ++at)
    trials[at] = trial_difference(known[at], trials[at]);
  return dump_json(line).size() < dump_json(whole).size() ? line : whole;
}

nlohmann::ordered_json whole_line(const json_cursor& at, const case_line& of, const arm_result& base,
                                  std::size_t& room) {
  ordered line = line_without_runs(of, base);
  const std::string from = dump_json(line);
  const json_cursor hash = at.at("base_hash");
  if (const std::size_t digits = hash.string().size(); digits != base_hash_digits)
    hash.fail(fmt::format("has {} digits, expected {}: another version of cufault wrote it; file it anew",
                          digits, base_hash_digits));
  if (base_hash(from) != hash.string())
    hash.fail(fmt::format(
        "{}/{} of {} is not what it was when this line was written; take both folders from one commit",
        of.name, base.name, of.base));
  take_room(at, from.size(), room);
  nlohmann::json stated = at.value();
  const auto trials = at.at("trials").items();
  const ordered known = line.at("trials");
  ordered all = ordered::array();
  for (std::size_t n = 0; n < trials.size(); ++n) {
    if (!trials[n].is_object()) trials[n].fail("a trial is an object");
    all.push_back(n < known.size() ? known[n] : ordered::object());
    change_trial(all.back(), trials[n]);
  }
  stated.erase("base_hash");
  stated.erase("trials");
  change(line, stated);
  line["trials"] = std::move(all);
  return line;
}

std::vector<nlohmann::ordered_json> join_equal_arms(const std::vector<nlohmann::ordered_json>& lines) {
  struct equal_arms {
    const ordered* first;
    ordered shared;
    struct own {
      ordered time_and_run;
      std::string base_hash;
    };
    std::map<std::string, own> by_name{};
  };
  std::vector<equal_arms> all;
  std::map<std::string, std::size_t> place;  // by what lines have in common
  for (const ordered& line : lines) {
    const bool differs = line.contains("base_hash");
    // In a difference, "ms": null says that only the base has a time; in "base_arms" null is the base's time.
    if (line.at("trials").size() != 1 || line["trials"][0].value("ms", ordered(0)).is_null()) {
      all.push_back({.first = &line, .shared = {}});
      continue;
    }
    ordered common = line;
    common.erase("arm");
    common.erase("base_hash");
    common["trials"][0].erase("ms");
    ordered shared = common;
    const ordered run = line.value("run", ordered(nullptr));
    if (!run.is_object()) common.erase("run");  // that of the case, or one of its more_runs
    const auto [at, is_new] = place.try_emplace(fmt::format("{} {}", differs, dump_json(common)), all.size());
    if (is_new) all.push_back({.first = &line, .shared = std::move(shared)});
    equal_arms& group = all[at->second];
    const bool same_run = run == group.shared.value("run", ordered(nullptr));
    ordered of_arm = line["trials"][0].value("ms", differs ? ordered(nullptr) : ordered(0));
    if (!same_run) of_arm = ordered::array({of_arm, run});
    group.by_name[line.at("arm").get<std::string>()] = {std::move(of_arm), line.value("base_hash", "")};
  }
  std::vector<ordered> joined;
  for (const equal_arms& each : all) {
    if (each.by_name.size() < 2) {
      joined.push_back(*each.first);
      continue;
    }
    ordered arms = ordered::object();
    std::string hashes;
    for (const auto& [name, own] : each.by_name) {
      arms[name] = own.time_and_run;
      hashes += own.base_hash;
    }
    if (hashes.empty())
      joined.push_back({{"arms", arms}});
    else
      joined.push_back({{"base_arms", arms}, {"base_hashes", hashes}});
    joined.back().update(each.shared);
  }
  return joined;
}

nlohmann::ordered_json shorter_control(const nlohmann::ordered_json& line, const std::string& case_name,
                                       std::map<std::string, std::string>& earlier) {
  // The words of a "detail" follow those of its own case.
  const bool whole = line.value("arm", "") == control_arm && !line.contains("base_hash") &&
                     !line.contains("detail") && !line.contains("runs") && line.at("trials").size() == 1;
  if (!whole) return line;
  ordered shared = line;
  shared.erase("run");
  shared["trials"][0].erase("ms");
  const auto [at, is_new] = earlier.try_emplace(dump_json(shared), case_name);
  if (is_new) return line;
  ordered as{{"arm", control_arm}, {"as", at->second}};
  if (const auto& trial = line["trials"][0]; trial.contains("ms")) as["ms"] = trial["ms"];
  if (line.contains("run")) as["run"] = line["run"];
  return dump_json(as).size() < dump_json(line).size() ? as : line;
}

namespace {

/// One run made all trials of the arm: `stated`, or that of the case where nothing is stated. `at`: where the arm stands.
void take_run(arm_result& arm, const std::optional<json_cursor>& stated, const json_cursor& at,
              const case_line& of, std::size_t& room) {
  const auto copy = [&](const json_cursor& place, const run_of_trials& run) {
    take_room(place, run.commit.size() + run.started.size(), room);
    arm.runs = {run};
  };
  arm.runs.clear();
  if (!stated) {
    if (!of.run) return;
    copy(at, *of.run);
  } else if (stated->value().is_number()) {
    const std::size_t number = stated->unsigned_integer();
    if (number >= of.more_runs.size())
      stated->fail(fmt::format("the line of the case has {} more runs, counted from 0", of.more_runs.size()));
    copy(*stated, of.more_runs[number]);
  } else {
    arm.runs = {run_from(*stated)};
  }
  arm.runs[0].trials = arm.trials.size();
}

/// Of an arm or of several behind the line of their case: all that they share, without a name.
arm_result shared_arm_from(const json_cursor& at, const case_line& of, std::size_t& room) {
  arm_result arm = stated_arm(at, {"arm", "arms", "detail", "run"}, room);
  if (const auto detail = at.find("detail")) {
    if (of.summary.empty()) detail->fail("the line of the case has no summary that it could follow");
    if (at.has("summary")) detail->fail("the arm has a summary, too; leave one of them");
    take_room(*detail, of.summary.size(), room);
    arm.summary = of.summary + std::string(separator) + detail->string();
  }
  const auto run = at.find("run");
  if (run && at.has("runs")) run->fail("the arm has runs, too; leave one of them");
  if (!at.has("runs")) take_run(arm, run, at, of, room);
  return arm;
}

/// About what a copy takes in memory.
std::size_t bytes_of_arm(const arm_result& arm) {
  std::size_t bytes = sizeof arm + arm.summary.size() + arm.against.size() + arm.races.size() +
                      arm.counterpart_of.size() + arm.source.size();
  for (const std::string& claim : arm.claims) bytes += sizeof(std::string) + claim.size();
  for (const run_of_trials& run : arm.runs) bytes += sizeof run + run.commit.size() + run.started.size();
  for (const observation& trial : arm.trials) bytes += bytes_of_trial(trial);
  return bytes;
}

/// Of a line that several arms share, by `key`.
void check_what_is_shared(const json_cursor& at, const char* key) {
  for (const char* other : {"arm", "arms", "base_arms", "base_hash"})
    if (other != std::string_view(key) && at.has(other))
      at.at(other).fail(fmt::format("the line has \"{}\", too; leave one of them", key));
  const auto trials = at.at("trials").items();
  if (trials.size() != 1) at.at("trials").fail("arms that share a line have one trial each");
  for (const char* own : {"ms", "like"})
    if (trials[0].has(own))
      trials[0].at(own).fail("several arms share this trial; state it in a line of each");
}

/// [MILLISECONDS, RUN] of an arm whose run is not that of its line.
std::vector<json_cursor> time_and_run(const json_cursor& at) {
  auto both = at.items();
  if (both.size() != 2)
    at.fail(
        "expected milliseconds, or milliseconds and a run: null for the one of the case, or the number of "
        "one of its more_runs");
  if (!both[1].value().is_null() && !both[1].value().is_number())
    both[1].fail("expected null, or the number of one of the case's more_runs");
  return both;
}

}  // namespace

void take_arms(const json_cursor& at, const case_line& of,
               const std::function<bool(const std::string&)>& wanted, std::size_t& room,
               const std::function<void(arm_result, const json_cursor& name)>& take) {
  const bool several = at.has("arms");
  const json_cursor names = at.at(several ? "arms" : "arm");
  if (several) check_what_is_shared(at, "arms");
  const arm_result shared = shared_arm_from(at, of, room);
  const bool described = at.has("summary") || at.has("detail");
  const std::size_t copied = several ? bytes_of_arm(shared) : 0;
  const auto take_named = [&](const std::string& name, const json_cursor& place) {
    if (wanted && !wanted(name)) return;
    const auto cell = cell_named(name);
    const bool of_cell = cell && of.name.starts_with(matrix_family) && !of.summary.empty() && !described;
    take_room(place, copied + (of_cell ? of.summary.size() : 0), room);
    arm_result arm = shared;
    arm.name = name;
    if (of_cell) arm.summary = of.summary + std::string(separator) + in_words(*cell);
    if (several && place.is_array()) {
      if (at.has("runs")) place.fail("the line has runs, too; leave one of them");
      const auto both = time_and_run(place);
      arm.trials[0].milliseconds = milliseconds_from(both[0]);
      take_run(arm, both[1].value().is_null() ? std::nullopt : std::optional(both[1]), place, of, room);
    } else if (several) {
      arm.trials[0].milliseconds = milliseconds_from(place);
    }
    take(std::move(arm), place);
  };
  if (!several) return take_named(names.string(), names);
  const auto arms = names.members();
  if (arms.empty()) names.fail("must not be empty");
  for (const auto& [name, place] : arms) take_named(name, place);
}

void each_differing_arm(const json_cursor& at, const case_line& of,
                        const std::function<bool(const std::string&)>& wanted, std::size_t& room,
                        const std::function<void(const nlohmann::ordered_json& line)>& take) {
  check_what_is_shared(at, "base_arms");
  ordered shared = at.value();
  shared.erase("base_arms");
  shared.erase("base_hashes");
  const std::size_t copied = dump_json(shared).size();
  const json_cursor names = at.at("base_arms");
  const auto arms = names.members();
  if (arms.empty()) names.fail("must not be empty");
  const std::string hashes = at.at("base_hashes").string();
  if (hashes.size() != base_hash_digits * arms.size() ||
      hashes.find_first_not_of("0123456789abcdef") != hashes.npos)
    at.at("base_hashes")
        .fail(fmt::format("expected {} digits of 0-9 and a-f for each of {} arms", base_hash_digits,
                          arms.size()));
  std::size_t number = 0;
  for (const auto& [name, place] : arms) {
    const std::string hash = hashes.substr(base_hash_digits * number++, base_hash_digits);
    if (wanted && !wanted(name)) continue;
    take_room(place, copied, room);
    ordered line{{"arm", name}, {"base_hash", hash}};
    line.update(shared);
    const bool has_run = place.is_array();
    const auto parts = has_run ? time_and_run(place) : std::vector{place};
    if (!parts[0].value().is_null()) line["trials"][0]["ms"] = milliseconds_from(parts[0]);
    if (has_run) {
      if (at.has("runs")) place.fail("the line has runs, too; leave one of them");
      line.erase("run");
      if (!parts[1].value().is_null()) {
        if (parts[1].unsigned_integer() >= of.more_runs.size())
          parts[1].fail(
              fmt::format("the line of the case has {} more runs, counted from 0", of.more_runs.size()));
        line["run"] = parts[1].value();
      }
    }
    take(line);
  }
}

void earlier_controls::add(const case_line& of, std::string line, int number) {
  if (by_case_.contains(of.name)) return;  // the line of a case can be long
  by_case_.try_emplace(of.name, control{of, std::move(line), number, {}});
}

arm_result earlier_controls::restore(const json_cursor& at, const case_line& of, std::size_t& room) {
  const json_cursor as = at.at("as");
  const std::string name = at.at("arm").string(), other = as.string();
  if (name != control_arm)
    as.fail("only the line of the arm control can have \"as\"; state the trials of this arm");
  for (const auto& [key, place] : at.members())
    if (key != "arm" && key != "as" && key != "ms" && key != "run")
      place.fail(
          "a line with \"as\" has only arm, ms and run besides; leave this out, or state the arm whole");
  const auto found = by_case_.find(other);
  if (found == by_case_.end())
    as.fail(fmt::format(
        "no earlier line of this file is the control of {}; name a case whose control is earlier, or "
        "state the arm whole",
        one_line(other)));
  control& earlier = found->second;
  if (!earlier.arm) {
    const json_cursor line{parse_json(file_, earlier.line, earlier.number)};
    for (const char* other_way : {"as", "base_hash"})
      if (line.has(other_way))
        as.fail(
            fmt::format("the control of {} is not stored whole, it has \"{}\"; name a case whose control is",
                        other, other_way));
    earlier.arm = shared_arm_from(line, earlier.of, room);
  }
  if (const std::size_t trials = earlier.arm->trials.size(); trials != 1)
    as.fail(
        fmt::format("the control of {} has {} trials, and only one with one trial can be named; state the "
                    "arm whole",
                    other, trials));
  take_room(as, bytes_of_arm(*earlier.arm), room);
  arm_result arm = *earlier.arm;
  arm.name = name;
  arm.source = at.place();
  take_run(arm, at.find("run"), at, of, room);
  const auto ms = at.find("ms");
  arm.trials[0].milliseconds = ms ? milliseconds_from(*ms) : 0;
  return arm;
}

case_result arm_from(const json_cursor& at, std::size_t& room) {
  case_result c{.name = at.at("case").string()};
  std::string name = at.at("arm").string();
  c.arms.push_back(stated_arm(at, {"case", "arm"}, room));
  c.arms[0].name = std::move(name);
  return c;
}

}  // namespace cufault
