// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// bless: files what a record shows, and expects it from now on.
#include "harness/cli/cli.hpp"
#include "harness/model/case.hpp"
#include "reports/base/files.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/cell_name.hpp"
#include "reports/model/expectation.hpp"
#include "reports/model/record.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/model/sweep_parts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

/// "13.1.0": ">=13 <14", and with its minor version ">=13.1 <13.2".
std::string versions_like(const std::string& version, bool minor) {
  const int major = std::atoi(version.c_str());
  if (!minor) return fmt::format(">={} <{}", major, major + 1);
  const auto dot = version.find('.');
  const int second = dot == version.npos ? 0 : std::atoi(version.c_str() + dot + 1);
  return fmt::format(">={0}.{1} <{0}.{2}", major, second, second + 1);
}

/// What an arm's signature can depend on that tends to change it: the library's major version always, of cells of the matrix its minor version
/// too (which kernels a product launches differs between them), the major version of its framework, the GPU's architecture where the arm needs a
/// GPU, the second pair's version where it takes one. Anything narrower is for a person to say with --when, once a difference was seen.
conditions usual_conditions(const stack_keys& stack, const std::string& case_name, const arm* here) {
  conditions when;
  const bool on_gpu = here == nullptr || here->needs == need::gpu;
  if (const auto other = stack.find("other_cublas");
      here != nullptr && here->other_cublas && other != stack.end())
    when.by_key["other_cublas"] = other->second;
  const auto of_version = [&](const std::string& key, bool minor) {
    if (const auto version = stack.find(key); version != stack.end())
      when.by_key[key] = versions_like(version->second, minor);
  };
  if (here != nullptr && !here->framework.empty()) of_version(here->framework, false);
  of_version("cublas", case_name.starts_with(matrix_family));
  if (const auto capability = stack.find("compute_capability"); on_gpu && capability != stack.end()) {
    when.by_key["compute_capability"] = capability->second;
  }
  return when;
}

/// `name`: CASE, or CASE/ARM, in which a * is anything.
bool is_named_by(const std::string& name, const std::string& case_name, const std::string& arm_name) {
  return name == case_name || fnmatch(name.c_str(), (case_name + "/" + arm_name).c_str(), 0) == 0;
}

/// Of a run that was cut short, the arms that are in the record are whole. Cases are named, so that nobody takes them for all.
record to_bless(const fs::path& file, bool names_cases) {
  record r = load_record(file);
  if (!r.complete && !names_cases)
    throw usage_error(file.string() +
                      " is of a run that did not come to its end; run it again, or name the cases to bless");
  if (r.dirty)
    throw usage_error(
        file.string() +
        " was made by a cufault that differs from every commit; commit the case, build, run it again");
  if (!keys_of(r).contains("cublas"))
    throw usage_error(file.string() + " does not say which cuBLAS it was made on");
  return r;
}

/// A second pair may be given or not: only arms that say so take it.
stack_keys without_second_pair(stack_keys keys) {
  keys.erase("other_cublas");
  return keys;
}

/// Further records of the same stack, whose trials count for arms that race.
std::vector<record> further_records(const bless_arguments& arguments, const stack_keys& stack) {
  std::vector<record> others;
  const record first = load_record(arguments.record);
  const std::string label = stack_label(first);
  std::map<std::string, fs::path> texts{{record_text(first), arguments.record}};
  for (const fs::path& file : arguments.with) {
    const bool twice = fs::equivalent(file, arguments.record) ||
                       std::count_if(arguments.with.begin(), arguments.with.end(),
                                     [&](const fs::path& other) { return fs::equivalent(file, other); }) > 1;
    if (twice) throw usage_error(file.string() + " is named twice; its trials count once");
    others.push_back(to_bless(file, !arguments.names.empty()));
    const std::string text = record_text(load_record(file));
    if (!texts.emplace(text, file).second)
      throw usage_error(
          fmt::format("{} is a copy of {}; its trials count once", file.string(), texts.at(text).string()));
    if (stack_label(others.back()) != label)
      throw usage_error(fmt::format("{} is of another stack than {}: {}, not {}; give records of one stack",
                                    file.string(), arguments.record.string(), stack_label(others.back()),
                                    label));
    const auto here = without_second_pair(stack), there = without_second_pair(keys_of(others.back()));
    for (const auto& [key, value] : here) {
      const auto other = there.find(key);
      if (other == there.end() || other->second != value)
        throw usage_error(fmt::format(
            "{} is of another stack than {}: {} is {}, not {}; give records of one stack", file.string(),
            arguments.record.string(), key, other == there.end() ? "unknown" : other->second, value));
    }
  }
  return others;
}

/// Adds the trials of the same arm. Returns whether there were any.
bool add_trials(arm_result& to, const std::string& case_name, const std::vector<record>& others) {
  const std::size_t before = to.trials.size();
  for (const record& r : others)
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms) {
        if (c.name != case_name || a.name != to.name || !observed(a)) continue;
        pool(to, a);
      }
  return to.trials.size() > before;
}

/// `a`, which is part of a sweep, and the same arm in `others`.
std::vector<const arm_result*> parts_of_sweep_in(const arm_result& a, const std::string& case_name,
                                                 const std::vector<record>& others) {
  std::vector<const arm_result*> parts{&a};
  for (const record& r : others)
    for (const case_result& c : r.cases)
      for (const arm_result& more : c.arms)
        if (c.name == case_name && more.name == a.name) parts.push_back(&more);
  return parts;
}

std::vector<const observation*> trials_of(const std::vector<const arm_result*>& arms) {
  std::vector<const observation*> all;
  for (const arm_result* a : arms)
    for (const observation& o : a->trials) all.push_back(&o);
  return all;
}

/// Why the parts are not all of one sweep; empty if they are.
std::string why_not_one_sweep(const std::vector<const arm_result*>& parts) {
  const auto commit = [](const arm_result& a) { return a.runs.empty() ? std::string() : a.runs[0].commit; };
  for (const arm_result* part : parts) {
    if (commit(*part) != commit(*parts.front()))
      return fmt::format("parts are of commit {} and of commit {}", commit(*parts.front()), commit(*part));
    if (part->summary != parts.front()->summary)
      return fmt::format("the parts describe their arm differently: \"{}\" and \"{}\"",
                         parts.front()->summary, part->summary);
  }
  return why_not_whole(trials_of(parts));
}

/// If `a` is one part of a sweep and `others` have the other parts, replaces its trial by the joined sweep.
void join_parts(arm_result& a, const std::string& case_name, const std::vector<record>& others) {
  if (std::none_of(a.trials.begin(), a.trials.end(), is_part)) return;
  const auto parts = parts_of_sweep_in(a, case_name, others);
  if (why_not_one_sweep(parts).empty()) a.trials = {joined(trials_of(parts))};
}

/// By its own name and nothing else: somebody looked at this arm.
bool is_named_alone(const bless_arguments& arguments, const std::string& case_name,
                    const std::string& arm_name) {
  return std::find(arguments.names.begin(), arguments.names.end(), join_key(case_name, arm_name)) !=
         arguments.names.end();
}

/// Whether an arm that is not as expected was so more than once: in several trials (of each level, where it has levels) that are equal, or in
/// another record, too. An arm that races needs two trials in all, which need not agree. One trial may be an accident of its run.
bool was_repeated(const arm_result& a, const std::string& case_name, const std::vector<record>& others,
                  const expectation_set& expected) {
  if (!a.races.empty()) return a.trials.size() > 1;
  std::map<std::optional<std::int64_t>, std::vector<signature>> by_level;
  for (const observation& o : a.trials)
    if (!o.refined) by_level[o.level].push_back(signature_of(o));
  const bool in_trials = std::all_of(by_level.begin(), by_level.end(), [](const auto& of_level) {
    const auto& [level, seen] = of_level;
    return seen.size() > 1 && std::count(seen.begin(), seen.end(), seen.front()) == std::ssize(seen);
  });
  if (in_trials) return true;
  for (const record& r : others)
    for (const case_result& c : r.cases)
      for (arm_result other : c.arms) {
        if (c.name != case_name || other.name != a.name || !observed(other)) continue;
        judge(other, case_name, expected, keys_of(r));
        if (other.judged == a.judged && digest_of(other) == digest_of(a)) return true;
      }
  return false;
}

conditions further_conditions(const bless_arguments& arguments, const stack_keys& stack) {
  nlohmann::json said = nlohmann::json::object();
  for (const std::string& text : arguments.when) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw usage_error("--when takes KEY=COMPARISONS, as in --when 'driver=>=580 <581'");
    said[text.substr(0, equals)] = text.substr(equals + 1);
  }
  conditions extra = conditions::parse(json_cursor(parse_json("--when", said.dump())));
  if (!extra.hold(stack))
    throw usage_error(fmt::format("--when {} does not hold on the stack of {} itself", extra.text(),
                                  arguments.record.string()));
  return extra;
}

/// What an arm is expected to show, under these conditions. Where it races, trials of the other stacks that the expectation of these
/// conditions points to count, too: what is rare on one GPU may be frequent on another.
expectation expectation_with_other_stacks(const expectation_set& expected, const std::string& case_name,
                                          const arm_result& a, const std::string& folder, conditions when) {
  std::map<std::string, arm_result> by_stack{{folder, a}};
  for (const expectation& was : expected.all()) {
    if (a.races.empty() || was.case_name != case_name || was.arm != a.name || was.when.by_key != when.by_key)
      continue;
    for (const std::string& stack : was.stacks)
      if (stack != folder) by_stack.emplace(stack, expected.shown_in(stack, was));
  }
  arm_result pooled;
  for (const auto& [stack, shown] : by_stack) pool(pooled, shown);
  expectation e = expectation_of(case_name, pooled);
  e.when = std::move(when);
  for (const auto& [stack, shown] : by_stack) e.stacks.push_back(stack);
  return e;
}

/// Of an arm, a copy: put() changes all().
std::vector<expectation> expectations_of(const expectation_set& expected, const std::string& case_name,
                                         const std::string& arm) {
  std::vector<expectation> all;
  for (const expectation& e : expected.all())
    if (e.case_name == case_name && e.arm == arm) all.push_back(e);
  return all;
}

/// Whether all conditions but those on the version of cuBLAS are equal, and both have one on that.
bool differ_in_version_alone(const conditions& a, const conditions& b) {
  const auto others = [](const conditions& of) {
    auto by_key = of.by_key;
    by_key.erase("cublas");
    return by_key;
  };
  return a.by_key.contains("cublas") && b.by_key.contains("cublas") && others(a) == others(b);
}

/// What one bless takes from a record, arm by arm.
class blessing {
 public:
  blessing(const bless_arguments& arguments, const record& r, const std::vector<record>& others,
           conditions extra, expectation_set& expected)
      : arguments_(arguments),
        others_(others),
        extra_(std::move(extra)),
        expected_(expected),
        stack_(keys_of(r)),
        folder_(stack_folder_name(r.stack)),
        to_file_(r) {
    to_file_.cases.clear();
  }

  /// Of an arm that was judged. `with_more`: it has trials of other records, too.
  void take(const std::string& case_name, const arm_result& a, bool with_more) {
    if (a.judged == verdict::unresolved || a.judged == verdict::not_provoked)
      return leave_out(case_name, a, fmt::format("{}: {}", to_string(a.judged), a.why));
    if (std::any_of(a.trials.begin(), a.trials.end(), is_part))
      return leave_out(
          case_name, a,
          fmt::format("only part of its sweep: {}; bless the records of all parts of one sweep (--with)",
                      why_not_one_sweep(parts_of_sweep_in(a, case_name, others_))));
    const bool differs = a.covered && !as_expected(a.judged);
    if (differs && !is_named_alone(arguments_, case_name, a.name) &&
        !was_repeated(a, case_name, others_, expected_))
      return leave_out(
          case_name, a,
          fmt::format(
              "{}, and not repeated with an equal outcome; {}, or name it: {}", to_string(a.judged),
              a.races.empty() ? "run it again and give both records (--with)" : "run it again with --repeats",
              join_key(case_name, a.name)));
    if (arguments_.observations_only) return file(case_name, a, differs);
    if (extra_.by_key.empty() && !with_more && as_expected(a.judged))
      ++known_;
    else
      expect(case_name, a);
  }

  /// Files what was taken, and returns what there is to say of it.
  std::string finish(const fs::path& recorded) {
    const bool changed = blessed_ > 0 || removed_ > 0;
    if (changed) {
      make_directories(arguments_.expectations);
      if (::access(arguments_.expectations.c_str(), W_OK) != 0) throw_errno(arguments_.expectations, "write");
    }
    if (!to_file_.cases.empty()) file_in_stack(recorded, to_file_);
    if (changed) expected_.save(arguments_.expectations);
    const std::string where = (recorded / folder_).string();
    if (arguments_.observations_only)
      return fmt::format("{}{} filed in {}, {} left out, {} expectations removed\n", report_, filed_, where,
                         left_, removed_);
    return fmt::format("{}{} blessed, {} already expected, {} left out; filed in {} and {}\n", report_,
                       blessed_, known_, left_, where, arguments_.expectations.string());
  }

 private:
  void leave_out(const std::string& case_name, const arm_result& a, const std::string& why) {
    report_ += fmt::format("left out: {} / {}: {}\n", case_name, a.name, why);
    ++left_;
  }

  /// Without an expectation.
  void file(const std::string& case_name, const arm_result& a, bool differs) {
    if (!differs && keeps_older_record(case_name, a))
      return leave_out(case_name, a, "as expected; the record that shows it stays");
    report_ += fmt::format("filed: {} / {}: {}\n", case_name, a.name, describe(a));
    if (differs) remove_contradicted(case_name, a);
    case_in(to_file_.cases, case_name).arms.push_back(a);
    ++filed_;
  }

  /// Whether the record of the stack shows what is expected of an arm, and this one would not: its rates rest on other trials, or its edges
  /// are others within their bands.
  [[nodiscard]] bool keeps_older_record(const std::string& case_name, const arm_result& a) const {
    const auto all = expectations_of(expected_, case_name, a.name);
    return std::any_of(all.begin(), all.end(), [&](const expectation& e) {
      return e.rests_on(folder_) && (!a.races.empty() || !same_digest(e.digest, digest_of(a)));
    });
  }

  /// Removes the expectation that holds here, and those that rest on the record that is replaced and say another thing, for all stacks
  /// that they cover.
  void remove_contradicted(const std::string& case_name, const arm_result& a) {
    const expectation* const holding = expected_.find(case_name, a.name, stack_);
    const auto when = holding == nullptr ? conditions{} : holding->when;
    for (expectation& e : expectations_of(expected_, case_name, a.name)) {
      const bool holds = holding != nullptr && e.when.by_key == when.by_key;
      const bool loses_record =
          e.rests_on(folder_) && (!a.races.empty() || !same_digest(e.digest, digest_of(a)));
      if (!holds && !loses_record) continue;
      report_ += fmt::format("removed: what {} / {} was expected to show when {}\n", case_name, a.name,
                             e.when.text());
      e.stacks.clear();
      expected_.put(std::move(e));
      ++removed_;
    }
  }

  void expect(const std::string& case_name, const arm_result& a) {
    auto when = usual_conditions(stack_, case_name, find_arm(case_name, a.name));
    for (const auto& [key, comparisons] : extra_.by_key) when.by_key[key] = comparisons;
    // Trials of an arm that races and is as expected count for the rates of the versions for which it was.
    const bool joins_rates = !a.races.empty() && as_expected(a.judged);
    if (!extra_.by_key.contains("cublas") || joins_rates) take_known_versions(when, case_name, a.name);
    expectation e = expectation_with_other_stacks(expected_, case_name, a, folder_, std::move(when));
    if (a.races.empty()) join_versions(e, a);
    leave_to_narrower(e);
    report_ += fmt::format("blessed: {} / {} when {}: {}\n", case_name, a.name, e.when.text(), describe(a));
    drop_stack(e);
    expected_.put(std::move(e));
    static_cast<void>(
        expected_.find(case_name, a.name, stack_));  // throws on a tie, before anything is written
    case_in(to_file_.cases, case_name).arms.push_back(a);
    ++blessed_;
  }

  /// The versions of cuBLAS for which something is expected of this arm on this stack, under conditions that are equal otherwise, in place of the
  /// usual ones.
  void take_known_versions(conditions& when, const std::string& case_name, const std::string& arm) {
    const auto version = stack_.find("cublas");
    if (version == stack_.end()) return;
    for (const expectation& known : expectations_of(expected_, case_name, arm)) {
      if (!differ_in_version_alone(known.when, when)) continue;
      const std::string held = holding_alternative(known.when.by_key.at("cublas"), version->second);
      if (!held.empty()) when.by_key["cublas"] = held;
    }
  }

  /// If the arm is already expected to show the same on other versions of cuBLAS, under conditions that are equal otherwise: extends `e` to those
  /// versions and stacks, and removes the other expectations.
  void join_versions(expectation& e, const arm_result& a) {
    const auto shows = [&](expectation other) {
      if (!same_digest(other.digest, e.digest)) return false;
      expected_.resolve(other);
      arm_result judged = a;
      judge(judged, &other);
      return as_expected(judged.judged);  // compares measurements, too, which the digest does not contain
    };
    for (expectation& other : expectations_of(expected_, e.case_name, e.arm)) {
      if (!differ_in_version_alone(e.when, other.when) || !shows(other)) continue;
      e.when.by_key["cublas"] = joined_alternatives(e.when.by_key["cublas"], other.when.by_key["cublas"]);
      std::ranges::copy_if(other.stacks, std::back_inserter(e.stacks),
                           [&](const std::string& stack) { return !e.rests_on(stack); });
      other.stacks.clear();
      expected_.put(std::move(other));
    }
    std::ranges::sort(e.stacks);
  }

  /// Only the alternatives of an expectation's versions that one of its stacks has.
  [[nodiscard]] std::string versions_seen(expectation e) const {
    std::string seen;
    for (const std::string& alternative : alternatives_in(e.when.by_key.at("cublas"))) {
      e.when.by_key["cublas"] = alternative;
      const bool is_seen = std::ranges::any_of(e.stacks, [&](const std::string& stack) {
        return stack == folder_ ? e.when.hold(stack_) : expected_.holds_on(stack, e);
      });
      if (is_seen) seen = seen.empty() ? alternative : joined_alternatives(seen, alternative);
    }
    return seen;
  }

  /// An expectation that lost stacks. Where its arm races, its rates are those of the trials of the others.
  [[nodiscard]] expectation of_stacks_left(expectation e) const {
    arm_result pooled;
    for (const std::string& stack : e.stacks) pool(pooled, expected_.shown_in(stack, e));
    if (pooled.races.empty()) return e;
    expectation left = expectation_of(e.case_name, pooled);
    left.arm = e.arm;
    left.when = std::move(e.when);
    left.stacks = std::move(e.stacks);
    return left;
  }

  /// Versions for which a narrower expectation says another thing are left to that, with the stacks that have them. What says the same was joined
  /// before, but for arms that race.
  void leave_to_narrower(expectation& e) {
    for (const expectation& other : expectations_of(expected_, e.case_name, e.arm)) {
      if (!differ_in_version_alone(e.when, other.when) || other.when.hold(stack_)) continue;
      const std::string rest = without_alternatives(e.when.by_key["cublas"], other.when.by_key.at("cublas"));
      if (rest == joined_alternatives(e.when.by_key["cublas"], "") || rest.empty()) continue;
      e.when.by_key["cublas"] = rest;
      std::erase_if(e.stacks, [&](const std::string& stack) {
        return stack != folder_ && !expected_.holds_on(stack, e);
      });
      e.when.by_key["cublas"] = versions_seen(e);
    }
  }

  /// Other expectations of the arm that say another thing lose what is replaced: the stack, and the versions for which `now` holds.
  void drop_stack(const expectation& now) {
    for (expectation& e : expectations_of(expected_, now.case_name, now.arm)) {
      if (e.when.by_key == now.when.by_key) continue;  // replaced as a whole
      if (differ_in_version_alone(e.when, now.when)) {
        const std::string was = joined_alternatives(e.when.by_key["cublas"], ""),
                          rest = without_alternatives(was, now.when.by_key.at("cublas"));
        if (rest != was) {
          expectation removed = e;
          removed.stacks.clear();
          expected_.put(std::move(removed));
          report_ += fmt::format("removed: what {} / {} was expected to show when cublas {}\n", e.case_name,
                                 e.arm, now.when.by_key.at("cublas"));
          if (rest.empty()) continue;
          e.when.by_key["cublas"] = rest;
          std::erase_if(e.stacks, [&](const std::string& stack) {
            return stack == folder_ || !expected_.holds_on(stack, e);
          });
          if (e.stacks.empty()) continue;
          e.when.by_key["cublas"] = versions_seen(e);
          expected_.put(of_stacks_left(std::move(e)));
          continue;
        }
      }
      if (!same_digest(e.digest, now.digest) && std::erase(e.stacks, folder_) > 0)
        expected_.put(std::move(e));
    }
  }

  const bless_arguments& arguments_;
  const std::vector<record>& others_;
  conditions extra_;
  expectation_set& expected_;
  stack_keys stack_;
  std::string folder_;
  record to_file_;
  std::string report_;
  int known_ = 0, left_ = 0, filed_ = 0, blessed_ = 0, removed_ = 0;
};

}  // namespace

int bless(const bless_arguments& arguments) {
  record r = to_bless(arguments.record, !arguments.names.empty());
  const stack_keys stack = keys_of(r);
  const fs::path recorded = recorded_beside(arguments.expectations);
  const std::vector<record> others = further_records(arguments, stack);
  conditions extra = further_conditions(arguments, stack);
  for (const std::string& name : arguments.names) {
    const bool met = std::any_of(r.cases.begin(), r.cases.end(), [&](const case_result& c) {
      return std::any_of(c.arms.begin(), c.arms.end(),
                         [&](const arm_result& a) { return is_named_by(name, c.name, a.name); });
    });
    if (!met) throw usage_error(fmt::format("{} has nothing called {}", arguments.record.string(), name));
  }
  // Held from load to save: another bless would overwrite what this one adds. Taken before anything is filed.
  const fs::path beside = fs::absolute(arguments.expectations).lexically_normal().parent_path();
  make_directories(beside);
  const folder_lock lock(beside, "expectations here");
  expectation_set expected = expectation_set::load(arguments.expectations, recorded);
  blessing taken(arguments, r, others, std::move(extra), expected);
  for (case_result& c : r.cases) {
    std::set<std::string> with_more;
    for (arm_result& a : c.arms) {
      join_parts(a, c.name, others);
      if (!a.races.empty() && add_trials(a, c.name, others)) with_more.insert(a.name);
    }
    judge(c, expected, stack);
    for (const arm_result& a : c.arms) {
      const auto names_it = [&](const std::string& name) { return is_named_by(name, c.name, a.name); };
      if (arguments.names.empty() || std::any_of(arguments.names.begin(), arguments.names.end(), names_it))
        taken.take(c.name, a, with_more.contains(a.name));
    }
  }
  fmt::print("{}", taken.finish(recorded));
  return exit_gate;  // so that no job can bless by accident
}

}  // namespace cufault
