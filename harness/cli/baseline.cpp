// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault baseline: files what a record shows, so that later runs are judged by it.
#include "harness/cli/cli.hpp"
#include "reports/base/files.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/judge/judge.hpp"
#include "reports/judge/leave_one_out.hpp"
#include "reports/model/record.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/model/sweep_parts.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

/// `name`: CASE, or CASE/ARM, in which a * is anything.
bool is_named_by(const std::string& name, const std::string& case_name, const std::string& arm_name) {
  return name == case_name || fnmatch(name.c_str(), (case_name + "/" + arm_name).c_str(), 0) == 0;
}

/// Of a run that was cut short, the arms that are in the record are whole. Cases are named, so that nobody takes them for all.
record to_add(const fs::path& file, bool names_cases) {
  record r = load_record(file);
  if (!r.complete && !names_cases)
    throw usage_error(file.string() +
                      " is of a run that did not come to its end; run it again, or name the cases to add");
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
std::vector<record> further_records(const baseline_arguments& arguments, const stack_keys& stack) {
  std::vector<record> others;
  const record first = load_record(arguments.record);
  const std::string label = stack_label(first);
  std::map<std::string, fs::path> texts{{record_text(first), arguments.record}};
  for (const fs::path& file : arguments.with) {
    const bool twice = fs::equivalent(file, arguments.record) ||
                       std::count_if(arguments.with.begin(), arguments.with.end(),
                                     [&](const fs::path& other) { return fs::equivalent(file, other); }) > 1;
    if (twice) throw usage_error(file.string() + " is named twice; its trials count once");
    others.push_back(to_add(file, !arguments.names.empty()));
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
bool is_named_alone(const baseline_arguments& arguments, const std::string& case_name,
                    const std::string& arm_name) {
  return std::find(arguments.names.begin(), arguments.names.end(), join_key(case_name, arm_name)) !=
         arguments.names.end();
}

/// Whether an arm that is not as expected was so more than once: in several trials (of each level, where it has levels) that are equal, or in
/// another record, too. An arm that races needs two trials in all, which need not agree. One trial may be an accident of its run.
bool was_repeated(const arm_result& a, const std::string& case_name, const std::vector<record>& others,
                  const baselines& recorded) {
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
        judge(other, recorded.find(case_name, other.name, keys_of(r)));
        if (other.judged == a.judged && arm_plateaus(other) == arm_plateaus(a)) return true;
      }
  return false;
}

std::map<std::string, arm_result> arms_in(const fs::path& folder) {
  std::map<std::string, arm_result> arms;
  if (!is_stack_folder(folder)) return arms;
  for (case_result& c : load_stack(folder).cases)
    for (arm_result& a : c.arms) {
      std::string key = join_key(c.name, a.name);
      arms.emplace(std::move(key), std::move(a));
    }
  return arms;
}

/// What one `add` takes from a record, arm by arm.
class addition {
 public:
  addition(const baseline_arguments& arguments, const record& r, const std::vector<record>& others,
           const baselines& recorded)
      : arguments_(arguments),
        others_(others),
        recorded_(recorded),
        folder_(arguments.into / stack_folder_name(r.stack)),
        there_(arms_in(folder_)),
        to_file_(r) {
    to_file_.cases.clear();
  }

  /// Of an arm that was judged. `with_more`: it has trials of other records, too.
  void take(const std::string& case_name, arm_result a, bool with_more) {
    if (a.judged == verdict::unresolved || (a.judged == verdict::not_provoked && !observed(a)))
      return leave_out(case_name, a, fmt::format("{}: {}", to_string(a.judged), a.why));
    if (std::any_of(a.trials.begin(), a.trials.end(), is_part))
      return leave_out(
          case_name, a,
          fmt::format("only part of its sweep: {}; add the records of all parts of one sweep (--with)",
                      why_not_one_sweep(parts_of_sweep_in(a, case_name, others_))));
    const bool differs = a.covered && !as_expected(a.judged) && a.judged != verdict::not_provoked;
    if (differs && !is_named_alone(arguments_, case_name, a.name) &&
        !was_repeated(a, case_name, others_, recorded_))
      return leave_out(
          case_name, a,
          fmt::format(
              "{}, and not repeated with an equal outcome; {}, or name it: {}", to_string(a.judged),
              a.races.empty() ? "run it again and give both records (--with)" : "run it again with --repeats",
              join_key(case_name, a.name)));
    const auto known = there_.find(join_key(case_name, a.name));
    a.expected = !arguments_.undefined;
    if (known != there_.end() && !differs && !with_more && known->second.expected == a.expected &&
        compare_arms(&known->second, &a).what == change::unchanged) {
      ++same_;
      return;
    }
    ++(known == there_.end() ? new_ : changed_);
    if (known != there_.end())
      report_ += fmt::format("{}{} / {}: {}\n", arguments_.dry ? "would change: " : "changed: ", case_name, a.name,
                             compare_arms(&known->second, &a).why);
    case_in(to_file_.cases, case_name).arms.push_back(std::move(a));
  }

  /// Files what was taken. Returns what there is to say of it.
  std::string finish() {
    if (!arguments_.dry && !to_file_.cases.empty()) {
      make_directories(arguments_.into);
      file_in_stack(arguments_.into, to_file_);
    }
    return fmt::format("{}{}: {} new, {} changed, {} there already, {} left out{}\n", report_, folder_.string(),
                       new_, changed_, same_, left_, arguments_.dry ? "; nothing was written" : "");
  }
  [[nodiscard]] bool all_taken() const { return left_ == 0; }
  [[nodiscard]] bool any_change() const { return new_ + changed_ > 0; }

 private:
  void leave_out(const std::string& case_name, const arm_result& a, const std::string& why) {
    report_ += fmt::format("left out: {} / {}: {}\n", case_name, a.name, why);
    ++left_;
  }

  const baseline_arguments& arguments_;
  const std::vector<record>& others_;
  const baselines& recorded_;
  fs::path folder_;
  std::map<std::string, arm_result> there_;
  record to_file_;
  std::string report_;
  int new_ = 0, changed_ = 0, same_ = 0, left_ = 0;
};

}  // namespace

int add_to_baseline(const baseline_arguments& arguments) {
  record r = to_add(arguments.record, !arguments.names.empty());
  const stack_keys stack = keys_of(r);
  const std::vector<record> others = further_records(arguments, stack);
  for (const std::string& name : arguments.names) {
    const bool met = std::any_of(r.cases.begin(), r.cases.end(), [&](const case_result& c) {
      return std::any_of(c.arms.begin(), c.arms.end(),
                         [&](const arm_result& a) { return is_named_by(name, c.name, a.name); });
    });
    if (!met) throw usage_error(fmt::format("{} has nothing called {}", arguments.record.string(), name));
  }
  const baselines recorded({arguments.into});
  addition taken(arguments, r, others, recorded);
  for (case_result& c : r.cases) {
    std::set<std::string> with_more;
    for (arm_result& a : c.arms) {
      join_parts(a, c.name, others);
      if (!a.races.empty() && add_trials(a, c.name, others)) with_more.insert(a.name);
    }
    judge(c, recorded, stack);
    for (const arm_result& a : c.arms) {
      const auto names_it = [&](const std::string& name) { return is_named_by(name, c.name, a.name); };
      if (arguments.names.empty() || std::any_of(arguments.names.begin(), arguments.names.end(), names_it))
        taken.take(c.name, a, with_more.contains(a.name));
    }
  }
  fmt::print("{}", taken.finish());
  if (arguments.dry) return taken.any_change() || !taken.all_taken() ? exit_gate : 0;
  return taken.all_taken() ? 0 : exit_gate;
}

int show_baselines(const std::vector<fs::path>& folders, bool json) {
  auto all = nlohmann::ordered_json::array();
  bool all_read = true;
  for (const fs::path& folder : folders)
    for (const fs::path& stack : stacks_in(folder)) {
      std::size_t arms = 0, expected = 0;
      const record r = load_stack(stack, {}, [&](const std::string& bad) {
        all_read = false;
        fmt::print(std::cerr, "cufault: {}\n", bad);
      });
      for (const case_result& c : r.cases)
        for (const arm_result& a : c.arms) {
          ++arms;
          expected += a.expected ? 1 : 0;
        }
      all.push_back({{"folder", stack.string()},
                     {"stack", stack_label(r)},
                     {"arms", arms},
                     {"undefined", arms - expected},
                     {"latest", r.started}});
    }
  if (json) {
    std::cout << dump_json(all) << '\n';
  } else {
    for (const auto& s : all)
      fmt::print("{}: {}; {} arms, of them {} undefined; latest run {}\n", s["folder"].get<std::string>(),
                 s["stack"].get<std::string>(), s["arms"].get<std::size_t>(), s["undefined"].get<std::size_t>(),
                 s["latest"].get<std::string>());
    if (all.empty()) fmt::print("no stack is recorded here; cufault baseline add RECORD files one\n");
  }
  return all_read ? 0 : exit_unresolved;
}

int remove_from_baseline(const baseline_arguments& arguments) {
  const fs::path folder = arguments.into / arguments.record;
  if (!is_stack_folder(folder))
    throw usage_error(fmt::format("{}: is not a stack of this baseline; cufault baseline show lists them",
                                  folder.string()));
  const std::size_t removed = remove_arms(folder, [&](const std::string& case_name, const std::string& arm) {
    return arguments.names.empty() ||
           std::any_of(arguments.names.begin(), arguments.names.end(),
                       [&](const std::string& name) { return is_named_by(name, case_name, arm); });
  });
  if (removed == 0) throw usage_error(fmt::format("{} has nothing called so", folder.string()));
  fmt::print("{}: {} arms removed\n", folder.string(), removed);
  return 0;
}

int show_predictions(const fs::path& folder, bool markdown) {
  const table_style style = markdown ? table_style::markdown : table_style::text;
  std::vector<table_row> rows;
  for (const distance_row& r : distance_table())
    rows.push_back({std::string(r.key), r.differs == version_part::major ? "major" : "minor",
                    r.adds ? fmt::format("{}", *r.adds) : "nothing is predicted", std::string(r.why)});
  print_heading(std::cout, "Distance", 3, style);
  print_table(std::cout, {"of the stack", "version that differs", "adds", "because"}, rows, style);
  const leave_one_out found = judge_by_others(folder, true);
  std::map<predicted_from, prediction_score> sums;
  for (const auto& [key, score] : found.scores) {
    sums[key.second].held += score.held;
    sums[key.second].made += score.made;
  }
  const auto text_of = [](const prediction_score& s) {
    return s.made == 0 ? std::string("-") : fmt::format("{} of {}", s.held, s.made);
  };
  std::map<std::string, std::map<predicted_from, prediction_score>> by_family;
  for (const auto& [key, score] : found.scores) by_family[key.first][key.second] = score;
  // Stacks of the same version are left out above, so that versions are what is predicted from.
  for (const auto& [key, score] : judge_by_others(folder, false).scores)
    if (key.second == predicted_from::same_version) {
      by_family[key.first][key.second] = score;
      sums[key.second].held += score.held;
      sums[key.second].made += score.made;
    }
  table_row head{"family of cases"};
  std::vector<predicted_from> kinds;
  for (const auto& [kind, sum] : sums) {
    kinds.push_back(kind);
    head.push_back(to_string(kind));
  }
  rows.clear();
  for (const auto& [family, scores] : by_family) {
    table_row row{family};
    for (const predicted_from kind : kinds)
      row.push_back(scores.contains(kind) ? text_of(scores.at(kind)) : "-");
    rows.push_back(std::move(row));
  }
  table_row last{"all"};
  for (const predicted_from kind : kinds) last.push_back(text_of(sums.at(kind)));
  rows.push_back(std::move(last));
  print_heading(std::cout, "Predictions that held", 3, style);
  print_table(std::cout, head, rows, style);
  return 0;
}

}  // namespace cufault
