// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/arm_line.hpp"

#include "reports/base/members.hpp"
#include "reports/model/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace cufault {

namespace {

template <class Fields>
void describe_run(run_of_trials& of, Fields& f) {
  static const run_of_trials usual{};
  CUFAULT_STATED(commit)
  CUFAULT_OTHERS(dirty)
  CUFAULT_STATED(started, seed)
  CUFAULT_OTHERS(version, driver, driver_log, gpus)
}

/// {"run": INDEX, "trials": HOW MANY}, in the order of the arm's trials.
struct share_of_run {
  std::uint64_t run = 0, trials = 0;
  friend bool operator==(const share_of_run&, const share_of_run&) = default;
};
CUFAULT_MEMBERS(share_of_run, CUFAULT_STATED(run, trials))

template <class Fields>
void describe_arm(arm_result& of, Fields& f) {
  static const arm_result usual{};
  CUFAULT_OTHERS(summary, claims, against, races, undefined, rate_depends_on_load)
  f("injected", of.counterpart_of);
  CUFAULT_OTHERS(made_up, second_cublas, any_architecture)
}

void write_rest(field_writer& f, const arm_result& arm) {
  f.required("kind", arm.kind);
  describe_arm(const_cast<arm_result&>(arm), f);  // only read
  auto& trials = f.json["trials"] = nlohmann::ordered_json::array();
  for (const observation& o : arm.trials) trials.push_back(observation_json(o));
}

case_result stated_arm(const json_cursor& at, std::initializer_list<const char*> others) {
  case_result c;
  arm_result& arm = c.arms.emplace_back();
  arm.source = at.place();
  field_reader f{at};
  f.required("case", c.name);
  f.required("arm", arm.name);
  f.required("kind", arm.kind);
  describe_arm(arm, f);
  for (const char* other : others) f.other(other);
  f.other("trials");
  f.finish();
  for (const json_cursor& trial : at.at("trials").items()) arm.trials.push_back(observation_from(trial));
  return c;
}

std::uint64_t index_of(const run_of_trials& run, std::vector<run_of_trials>& runs) {
  run_of_trials named = run;
  named.trials = 0;
  auto known = std::ranges::find(runs, named);
  if (known == runs.end()) known = runs.insert(runs.end(), std::move(named));
  return static_cast<std::uint64_t>(known - runs.begin());
}

}  // namespace

nlohmann::ordered_json run_json(const run_of_trials& run) {
  field_writer f;
  describe_run(const_cast<run_of_trials&>(run), f);  // only read
  for (const auto& [library, id] : run.build_ids) f.json["build_ids"][library] = id;
  return std::move(f.json);
}

run_of_trials run_from(const json_cursor& at) {
  run_of_trials run;
  field_reader f{at};
  describe_run(run, f);
  f.other("build_ids");
  f.finish();
  if (const auto ids = at.find("build_ids"))
    for (const auto& [library, id] : ids->members()) run.build_ids[library] = id.string();
  check_utc(at.at("started"));
  return run;
}

std::string saw(const arm_result& arm) {
  if (observed(arm)) return one_line(describe(arm));
  for (const observation& o : arm.trials)
    if (!comparable(o)) return one_line(fmt::format("{}: {}", to_string(o.ended), why_not_comparable(o)));
  return "no trial";
}

nlohmann::ordered_json arm_json(const std::string& case_name, const arm_result& arm) {
  field_writer f;
  f.required("case", case_name);
  f.required("arm", arm.name);
  f.required("saw", saw(arm));
  write_rest(f, arm);
  return std::move(f.json);
}

nlohmann::ordered_json filed_arm_json(const std::string& case_name, const arm_result& arm,
                                      std::vector<run_of_trials>& runs) {
  field_writer f;
  f.required("case", case_name);
  f.required("arm", arm.name);
  f.required("expected", arm.expected);
  f.required("saw", saw(arm));
  std::vector<share_of_run> shares;
  for (const run_of_trials& run : arm.runs) shares.push_back({index_of(run, runs), run.trials});
  if (shares.size() == 1)
    f.required("run", shares[0].run);
  else
    f("runs", shares);
  write_rest(f, arm);
  return std::move(f.json);
}

case_result arm_from(const json_cursor& at) {
  return stated_arm(at, {"saw"});
}

case_result filed_arm_from(const json_cursor& at, const std::vector<run_of_trials>& runs) {
  case_result c = stated_arm(at, {"expected", "saw", "run", "runs"});
  arm_result& arm = c.arms[0];
  arm.expected = at.at("expected").boolean();
  const auto take = [&](const json_cursor& place, std::uint64_t index, std::uint64_t trials) {
    if (index >= runs.size())
      place.fail(fmt::format("run {}: stack.json has {} runs, counted from 0", index, runs.size()));
    arm.runs.push_back(runs[index]);
    arm.runs.back().trials = trials;
  };
  if (const auto run = at.find("run")) take(*run, run->unsigned_integer(), arm.trials.size());
  if (const auto several = at.find("runs")) {
    if (at.has("run")) several->fail("the line has a run, too; leave one of them");
    std::uint64_t left = arm.trials.size();
    bool fits = true;
    for (const json_cursor& item : several->items()) {
      const auto share = read_json_value<share_of_run>(item);
      take(item, share.run, share.trials);
      fits = fits && share.trials <= left;
      left -= share.trials;
    }
    if (!fits || left != 0)
      several->fail(fmt::format("do not add up to the arm's {} trials", arm.trials.size()));
  }
  return c;
}

}  // namespace cufault
