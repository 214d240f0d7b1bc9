// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault baseline: files what a record shows, so that later runs are judged by it.
#include "harness/cli/command_line.hpp"
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"
#include "reports/base/words.hpp"
#include "reports/evidence/baselines.hpp"
#include "reports/evidence/same_arm.hpp"
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
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct baseline_arguments {
  std::filesystem::path record;             ///< of a run; to remove: the name of a stack's folder
  std::filesystem::path into;               ///< folder of stacks
  std::vector<std::string> names;           ///< CASE or CASE/ARM; all where it is empty
  std::vector<std::filesystem::path> with;  ///< further records of the same stack
  bool undefined = false;  ///< nothing is expected of these arms: they are filed, and judge nothing
  bool dry = false;        ///< says what would change, and writes nothing
  bool json = false;
};

void tell_bad_line(const std::string& bad) {
  fmt::print(std::cerr, "cufault: {}\n", cell(bad, table_style::text));
}

/// The file that ci/record leaves, unpacked: only what is below its folder of records.
std::vector<fs::path> runs_in_archive(const fs::path& archive, const fs::path& folder) {
  spawn_options tar;
  tar.argv = {
      "/bin/tar", "-xzf", fs::absolute(archive), "-C", folder, "--no-same-owner", "--no-same-permissions"};
  tar.timeout = std::chrono::minutes(5);
  const process_result unpacked = run_process(tar, {});
  if (unpacked.how != ending::exited || unpacked.exit_code != 0)
    throw usage_error(
        fmt::format("{}: cannot be unpacked: {}", archive.string(), one_line(unpacked.stderr_text)));
  std::vector<fs::path> runs;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && !entry.is_symlink() && entry.path().extension() == ".jsonl" &&
        entry.path().parent_path().parent_path().filename() == "records")
      runs.push_back(entry.path());
  std::ranges::sort(runs);
  return runs;
}

/// Of a run that was cut short, the arms that are in the record are whole. Cases are named, so that nobody takes them for all.
record to_add(const fs::path& file, bool names_cases) {
  record r = load_record(file);
  if (!r.complete && !names_cases)
    throw usage_error(file.string() +
                      " is of a run that did not come to its end; run it again, or name the cases to add");
  if (!keys_of(r).contains("cublas"))
    throw usage_error(file.string() + " does not say which cuBLAS it was made on");
  if (const stack_keys keys = keys_of(r);
      keys.contains("module_loading") && keys.at("module_loading") != "LAZY")
    throw usage_error(
        file.string() +
        " was made with another CUDA_MODULE_LOADING than recorded stacks; compare it with cufault gate");
  return r;
}

/// By the folder of their stack.
std::map<std::string, std::vector<record>> records_to_add(const baseline_arguments& arguments) {
  std::optional<temporary_folder> unpacked;
  std::vector<fs::path> files{arguments.record};
  if (arguments.record.extension() == ".gz")
    files = runs_in_archive(arguments.record, unpacked.emplace("cufault-baseline-").path());
  else if (fs::is_directory(arguments.record) && !is_stack_folder(arguments.record))
    files = records_in({arguments.record});
  files.insert(files.end(), arguments.with.begin(), arguments.with.end());
  if (files.empty()) throw usage_error(arguments.record.string() + " has no record of a run");
  std::map<std::string, std::vector<record>> by_stack;
  std::map<std::string, fs::path> runs;
  for (const fs::path& file : files) {
    record r = to_add(file, !arguments.names.empty());
    const std::string run = fmt::format("{} {} {}", r.started, r.seed, fmt::join(r.argv, " "));
    if (const auto [known, is_new] = runs.emplace(run, file); !is_new)
      throw usage_error(fmt::format("{} is of the same run as {}; its trials count once", file.string(),
                                    known->second.string()));
    by_stack[stack_folder_name(*r.stack)].push_back(std::move(r));
  }
  if (!arguments.with.empty() && by_stack.size() > 1)
    throw usage_error(
        fmt::format("--with: the records are of {} stacks; give records of one stack", by_stack.size()));
  return by_stack;
}

/// `name`: CASE, or CASE/ARM, in which a * is anything.
bool is_named_by(const std::string& name, const std::string& case_name, const std::string& arm_name) {
  return name == case_name || fnmatch(name.c_str(), (case_name + "/" + arm_name).c_str(), 0) == 0;
}

bool is_met(const std::string& name, const std::map<std::string, std::vector<record>>& by_stack) {
  for (const auto& [folder, records] : by_stack)
    for (const record& r : records)
      for (const case_result& c : r.cases)
        for (const arm_result& a : c.arms)
          if (is_named_by(name, c.name, a.name)) return true;
  return false;
}

/// Whether it is one of those, or whether none are named.
bool is_asked(const baseline_arguments& arguments, const std::string& case_name, const std::string& arm) {
  return arguments.names.empty() || std::ranges::any_of(arguments.names, [&](const std::string& name) {
           return is_named_by(name, case_name, arm);
         });
}

/// Of an arm that several records have all trials count; of one with levels, and of a sweep, the latest.
record merged(const std::vector<record>& records) {
  record all = records.front();
  for (const record& r : std::span(records).subspan(1))
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms) merge_trials(case_in(all.cases, c.name), a);
  return all;
}

/// By its own name and nothing else: somebody looked at this arm.
bool is_named_alone(const baseline_arguments& arguments, const std::string& case_name,
                    const std::string& arm_name) {
  return std::ranges::find(arguments.names, join_key(case_name, arm_name)) != arguments.names.end();
}

/// Without lines that cannot be read, which `bad` gets.
std::map<std::string, arm_result> arms_in(const fs::path& folder, const bad_line& bad) {
  std::map<std::string, arm_result> arms;
  if (!is_stack_folder(folder)) return arms;
  for (case_result& c : load_stack(folder, bad).cases)
    for (arm_result& a : c.arms) {
      std::string key = join_key(c.name, a.name);
      arms.emplace(std::move(key), std::move(a));
    }
  return arms;
}

/// What one `add` takes from a record, arm by arm.
class addition {
 public:
  /// `shipped`: those that come with cufault, which say of which arms nothing is expected.
  addition(const baseline_arguments& arguments, const record& r, const std::vector<record>& records,
           const baselines& shipped)
      : arguments_(arguments),
        records_(records),
        shipped_(shipped),
        keys_(keys_of(r)),
        folder_(arguments.into / stack_folder_name(*r.stack)),
        there_(arms_in(folder_, [this](const std::string& bad) { unread_.push_back(bad); })),
        to_file_(r) {
    to_file_.cases.clear();
  }

  /// Of an arm that was judged.
  void take(const std::string& case_name, arm_result a) {
    if (a.judged == verdict::unresolved || (a.judged == verdict::not_provoked && !observed(a)))
      return leave_out(case_name, a, fmt::format("{}: {}", to_string(a.judged), a.why));
    if (std::ranges::any_of(a.trials, is_part))
      return leave_out(
          case_name, a,
          fmt::format("only part of its sweep: {}; add the records of all parts of one sweep (--with)",
                      why_not_one_sweep(same_arm_in(records_, case_name, a.name))));
    const auto known = there_.find(join_key(case_name, a.name));
    const bool named = is_named_alone(arguments_, case_name, a.name);
    const bool differs = a.covered && !as_expected(a.judged) && a.judged != verdict::not_provoked;
    // What came to another outcome each time, or was named, is in place of what was filed; all else is beside it.
    const bool replaces = differs && (named || was_repeated(a, same_arm_in(records_, case_name, a.name)));
    bool joins =
        known != there_.end() && !replaces && takes_further_trials(a) && takes_further_trials(known->second);
    if (differs && !replaces && !joins)
      return leave_out(
          case_name, a,
          fmt::format(
              "{}, and not repeated with an equal outcome; {}, or name it: {}", to_string(a.judged),
              a.races.empty() ? "run it again and give both records (--with)" : "run it again with --repeats",
              join_key(case_name, a.name)));
    if (const std::string why = why_records_disagree(case_name, a);
        known == there_.end() && !named && !why.empty())
      return leave_out(case_name, a, fmt::format("the records disagree: {}; run it again, or name it", why));
    const reference* const ours = shipped_.find(case_name, a.name, keys_);
    const bool undefined =
        known != there_.end() ? !known->second.expected : ours != nullptr && ours->undefined;
    a.expected = !arguments_.undefined && (!undefined || named);
    // Rates rest on as many trials as there are.
    const std::size_t trials_there = known == there_.end() ? 0 : known->second.trials.size();
    const bool more_words = known != there_.end() && heard_driver_log(a) && !heard_driver_log(known->second);
    // An equal trial with the driver's words is worth more than two of which one has none.
    joins =
        joins && !(more_words && known->second.races.empty() && is_same(compare_arms(&known->second, &a).v));
    if (joins || (known != there_.end() && !a.races.empty() && !differs)) {
      case_result both{case_name, {known->second}};
      merge_trials(both, a);
      both.arms[0].expected = a.expected;
      a = std::move(both.arms[0]);
    }
    const bool more_trials = joins && a.trials.size() > trials_there;
    if (known != there_.end() && !differs && !more_trials && !more_words &&
        known->second.expected == a.expected && is_same(compare_arms(&known->second, &a).v)) {
      ++same_;
      return;
    }
    if (known == there_.end()) ++new_;
    if (known != there_.end()) {
      std::string how = compare_arms(&known->second, &a).why;
      if (how.empty() && known->second.expected != a.expected)
        how = a.expected ? "its outcome is expected now" : "nothing is expected of it now";
      if (how.empty() && a.races != known->second.races)
        how = fmt::format("it has a rate now: {}", describe(a));
      if (how.empty()) {
        ++(more_trials ? further_ : worded_);
        case_in(to_file_.cases, case_name).arms.push_back(std::move(a));
        return;
      }
      ++changed_;
      tell(arguments_.dry ? "would change" : "changed", case_name, a, how);
    }
    case_in(to_file_.cases, case_name).arms.push_back(std::move(a));
  }

  /// Files what was taken. Returns what there is to say of it.
  std::string finish() {
    if (!arguments_.dry && !to_file_.cases.empty()) {
      make_directories(arguments_.into);
      try {
        file_in_stack(arguments_.into, to_file_);
      } catch (const input_error& bad) {  // of the stack, or of a line among those that are to be written
        throw usage_error(fmt::format(
            "{}; nothing of this stack was written; mend that, then add the record again", bad.what()));
      }
    }
    for (const std::string& bad : unread_) tell_bad_line(bad);
    const auto if_any = [](int arms, std::string_view what) {
      return arms == 0 ? std::string() : fmt::format("{} with {}, ", arms, what);
    };
    return fmt::format("{}{}: {} new, {} changed, {}{}{} there already, {} left out{}\n", report_,
                       folder_.string(), new_, changed_, if_any(further_, "further trials"),
                       if_any(worded_, "what the driver said"), same_, left_,
                       arguments_.dry ? "; nothing was written" : "");
  }
  [[nodiscard]] nlohmann::ordered_json json() const {
    return {{"folder", folder_.string()}, {"new", new_},
            {"changed", changed_},        {"with_further_trials", further_},
            {"with_new_words", worded_},  {"there_already", same_},
            {"left_out", left_},          {"arms", arms_}};
  }
  [[nodiscard]] bool all_taken() const { return left_ == 0; }
  [[nodiscard]] bool any_change() const { return new_ + changed_ + worded_ + further_ > 0; }

 private:
  void leave_out(const std::string& case_name, const arm_result& a, const std::string& why) {
    tell("left out", case_name, a, why);
    ++left_;
  }

  void tell(const char* what, const std::string& case_name, const arm_result& a, const std::string& how) {
    report_ += fmt::format("{}: {} / {}: {}\n", what, case_name, a.name, how);
    arms_.push_back({{"case", case_name}, {"arm", a.name}, {"what", what}, {"how", how}});
  }

  /// Of an arm that does not race, how it differs in one of the records; empty where it does not.
  [[nodiscard]] std::string why_records_disagree(const std::string& case_name, const arm_result& a) const {
    if (!a.races.empty()) return {};
    for (const arm_result* other : same_arm_in(records_, case_name, a.name))
      if (observed(*other) && std::ranges::none_of(other->trials, is_part))
        if (const judgement found = compare_arms(&a, other); !is_same(found.v)) return found.why;
    return {};
  }

  const baseline_arguments& arguments_;
  const std::vector<record>& records_;
  const baselines& shipped_;
  stack_keys keys_;
  fs::path folder_;
  std::vector<std::string> unread_;  ///< set while there_ is read
  std::map<std::string, arm_result> there_;
  record to_file_;
  std::string report_;
  nlohmann::ordered_json arms_ = nlohmann::ordered_json::array();
  int new_ = 0, changed_ = 0, further_ = 0, worded_ = 0, same_ = 0, left_ = 0;
};

/// 1 where an arm was left out or, of a dry one, anything would change.
int add_to_baseline(const baseline_arguments& arguments) {
  const auto by_stack = records_to_add(arguments);
  const baselines recorded({arguments.into}), shipped({default_recorded()});
  bool all_taken = true, any_change = false;
  std::size_t met = 0;
  auto stacks = nlohmann::ordered_json::array();
  std::vector<std::string> missed;
  for (const std::string& name : arguments.names)
    if (!is_met(name, by_stack)) missed.push_back(name);
  if (!missed.empty())
    throw usage_error(fmt::format("{} has nothing called {}; a further record is given by --with",
                                  arguments.record.string(), fmt::join(missed, " or ")));
  for (const auto& [folder, records] : by_stack) {
    record whole = merged(records);
    addition taken(arguments, whole, records, shipped);
    for (case_result& c : whole.cases) {
      for (arm_result& a : c.arms)
        if (std::ranges::any_of(a.trials, is_part)) join_parts(a, same_arm_in(records, c.name, a.name));
      judge(c, recorded, keys_of(whole));
      for (const arm_result& a : c.arms)
        if (is_asked(arguments, c.name, a.name)) {
          ++met;
          taken.take(c.name, a);
        }
    }
    const std::string said = taken.finish();
    if (arguments.json)
      stacks.push_back(taken.json());
    else
      fmt::print(std::cout, "{}", said);
    all_taken = all_taken && taken.all_taken();
    any_change = any_change || taken.any_change();
  }
  if (met == 0) throw usage_error(fmt::format("{} has no arm", arguments.record.string()));
  if (arguments.json) print_json({{"schema", 1}, {"written", !arguments.dry}, {"stacks", stacks}});
  if (arguments.dry) return any_change || !all_taken ? exit_gate : 0;
  return all_taken ? 0 : exit_gate;
}

int show_baselines(const std::vector<fs::path>& folders, bool json) {
  auto all = nlohmann::ordered_json::array();
  bool all_read = true;
  const auto leave_out = [&](const std::string& bad) {
    all_read = false;
    tell_bad_line(bad + "; left out");
  };
  const auto add = [&](const fs::path& stack) {
    const record r = load_stack(stack, leave_out);
    std::size_t arms = 0, expected = 0;
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms) {
        ++arms;
        expected += a.expected ? 1 : 0;
      }
    all.push_back({{"folder", stack.string()},
                   {"stack", cell(stack_label(r), table_style::text)},
                   {"arms", arms},
                   {"undefined", arms - expected},
                   {"latest", r.started}});
  };
  for (const fs::path& folder : folders)
    for (const fs::path& stack : stacks_in(folder)) try {
        add(stack);
      } catch (const input_error& bad) {
        leave_out(bad.what());
      }
  if (json) {
    print_json({{"schema", 1}, {"stacks", all}}, -1);
  } else {
    for (const auto& s : all)
      fmt::print(std::cout, "{}: {}; {} arms, of them {} undefined; latest run {}\n",
                 s["folder"].get<std::string>(), s["stack"].get<std::string>(), s["arms"].get<std::size_t>(),
                 s["undefined"].get<std::size_t>(), s["latest"].get<std::string>());
    if (all.empty())
      fmt::print(std::cout, "no stack is recorded here; cufault baseline add RECORD files one\n");
  }
  return all_read ? 0 : exit_unresolved;
}

int remove_from_baseline(const baseline_arguments& arguments) {
  // "STACK", or its path as `show` prints it: a folder of this baseline and no other, and no link.
  const fs::path named = arguments.record.has_parent_path() ? arguments.record.lexically_normal()
                                                            : arguments.into / arguments.record;
  std::error_code none;
  if (!is_stack_folder(named) || fs::is_symlink(named) || !is_folder_name(named.filename().string()) ||
      !fs::equivalent(named.parent_path(), arguments.into, none)) {
    std::vector<std::string> stacks;
    for (const fs::path& stack : stacks_in(arguments.into)) stacks.push_back(stack.filename());
    throw usage_error(fmt::format("{}: is not a stack of {}; cufault baseline show lists them{}",
                                  named.string(), arguments.into.string(),
                                  did_you_mean(named.filename().string(), stacks)));
  }
  if (arguments.names.empty()) {  // nothing in it is read: it may be damaged
    fs::path aside = arguments.into / fmt::format(".removed-{}", ::getpid());
    {
      const folder_lock lock(named, "this stack");
      fs::rename(named, aside);
    }
    fs::remove_all(aside);
    fmt::print(std::cout, "{}: removed\n", named.string());
    return 0;
  }
  const std::size_t removed = remove_arms(named, [&](const std::string& case_name, const std::string& arm) {
    return is_asked(arguments, case_name, arm);
  });
  if (removed == 0)
    throw usage_error(
        fmt::format("{} has nothing called {}", named.string(), fmt::join(arguments.names, " or ")));
  fmt::print(std::cout, "{}: {} arms removed\n", named.string(), removed);
  return 0;
}

/// What a prediction rests on, and how often it holds among the stacks of a folder.
int show_predictions(const fs::path& folder, print_form form) {
  named_table distances{.name = "distance",
                        .title = "Distance",
                        .columns = {{"of the stack", "key"},
                                    {"version that differs", "differs"},
                                    {"adds", "adds"},
                                    {"because", "because"}}};
  for (const distance_row& r : distance_table())
    distances.rows.push_back({std::string(r.key), r.differs == version_part::major ? "major" : "minor",
                              r.adds ? table_value(std::to_string(*r.adds), std::int64_t{*r.adds})
                                     : table_value("nothing is predicted", nullptr),
                              std::string(r.why)});
  leave_one_out found = judge_by_others(folder);
  const auto value_of = [](const prediction_score& s) {
    if (s.made == 0) return table_value("-", nullptr);
    return table_value(fmt::format("{} of {}", s.held, s.made),
                       std::map<std::string, std::int64_t>{{"held", static_cast<std::int64_t>(s.held)},
                                                           {"of", static_cast<std::int64_t>(s.made)}});
  };
  named_table held{
      .name = "predictions", .title = "Predictions that held", .columns = {{"family of cases", "family"}}};
  constexpr std::array kinds{std::pair{predicted_from::same_version, "same_minor_version"},
                             std::pair{predicted_from::both_agree, "both_sides_agree"},
                             std::pair{predicted_from::both_differ, "both_sides_differ"},
                             std::pair{predicted_from::one_version, "one_side"},
                             std::pair{predicted_from::architecture, "another_architecture"}};
  for (const auto& [kind, key] : kinds)
    held.columns.push_back({found.of_all.contains(kind) ? to_string(kind) : "", key});
  const auto add_row = [&](const std::string& family, prediction_scores& scores) {
    auto& row = held.rows.emplace_back(std::vector<table_value>{family});
    for (const auto& [kind, key] : kinds) row.push_back(value_of(scores[kind]));
  };
  add_row("arms that change between stacks", found.of_changing);
  for (auto& [family, scores] : found.of_family) add_row(family, scores);
  add_row("all", found.of_all);
  const std::vector tables{std::move(held), std::move(distances)};
  if (form.json) {
    auto json = to_json(tables);
    json["unpredicted"] = found.unpredicted;
    return print_json(json);
  }
  if (const prediction_score& s = found.of_changing[predicted_from::one_version]; s.made > 0)
    fmt::print(std::cout,
               "Of arms that change between stacks, {} % of the predictions from a version on one side held "
               "({} of {}). A new release is predicted so. Of an arm that is the same on all stacks no "
               "prediction can fail.\n\n",
               100 * s.held / s.made, s.held, s.made);
  print_tables(std::cout, tables, 3, form.style());
  fmt::print(std::cout, "{}{}: no stack of another version says anything.\n", form.markdown ? "\n" : "",
             plural(found.unpredicted, "arm"));
  return 0;
}

void add_into(CLI::App* command, std::filesystem::path& folder) {
  add_named(command, "--into", folder, "DIR",
            "folder of recorded stacks (default: CUFAULT_BASELINE, or cufault/baseline in XDG_DATA_HOME)")
      ->check(in_existing_folder);
}

void add_taken(CLI::App* command, baseline_arguments& said) {
  command
      ->add_option("RECORD", said.record,
                   "record of a run, a folder of records, or the .tar.gz that ci/record leaves")
      ->required()
      ->check(CLI::ExistingPath);
  command->add_option("CASE", said.names, "cases, or CASE/ARM, in which a * is anything (default: all)");
  add_named(command, "--with", said.with, "RECORD",
            "another record of the same stack, whose trials count, too; parts of one sweep (sweep --shard) "
            "are joined")
      ->allow_extra_args(false)
      ->check(CLI::ExistingPath);
  add_into(command, said.into);
}

void add_baseline(command_line& line) {
  struct given : baseline_arguments {
    print_form shown;
  };
  const auto said = std::make_shared<given>();
  CLI::App* all = line.command(
      "baseline", "Recorded stacks that later runs are judged by: add, diff, show, remove",
      "Each trial is filed beside those that are there: an arm whose trials differ has a rate, and is FLAKY. "
      "What came to another outcome in two trials or more, or in a second record (--with), is filed in their "
      "place, and so is CASE/ARM that is named, without a *. Of arms with levels, and of sweeps, the latest "
      "counts; one that changed, and was neither repeated nor named, is left out.\n"
      "Exit codes: 0; 1 add left something out, or diff found something that it would change; 2 bad input.",
      [said](CLI::App& asked) {
        if (asked.got_subcommand("predictions"))
          return show_predictions(said->into.empty() ? default_recorded() : said->into, said->shown);
        if (asked.got_subcommand("show")) return show_baselines(baseline_folders(said->into), said->json);
        if (said->into.empty()) said->into = own_baseline();
        if (said->into.empty())
          throw usage_error("neither CUFAULT_BASELINE nor HOME is set: give --into DIR");
        if (asked.got_subcommand("remove")) return remove_from_baseline(*said);
        said->dry = asked.got_subcommand("diff");
        return add_to_baseline(*said);
      });
  all->require_subcommand(1);
  CLI::App* add = all->add_subcommand("add", "File what a record shows, so that later runs are judged by it");
  add_taken(add, *said);
  add->add_flag("--undefined", said->undefined,
                "the outcome of these arms is not defined: they are filed, and no run is judged by them");
  add_json(add, said->json, "baseline-change");
  CLI::App* diff = all->add_subcommand("diff", "Say what `add` would change, and write nothing");
  add_taken(diff, *said);
  add_json(diff, said->json, "baseline-change");
  CLI::App* show =
      all->add_subcommand("show", "List the recorded stacks: your own, and those that come with cufault");
  add_into(show, said->into);
  add_json(show, said->json, "baselines");
  CLI::App* predictions =
      all->add_subcommand("predictions",
                          "Say what an arm that no record of this stack has is predicted from, and how often "
                          "that held: each recorded stack is judged by the others");
  add_named(predictions, "--into", said->into, "DIR",
            "folder of recorded stacks (default: those that come with cufault)")
      ->check(CLI::ExistingDirectory);
  add_form(predictions, said->shown, "predictions");
  CLI::App* remove = all->add_subcommand("remove", "Remove a stack, or arms of it");
  remove->add_option("STACK", said->record, "folder of the stack, as `show` names it")
      ->required()
      ->check(not_empty);
  remove->add_option("CASE", said->names,
                     "cases, or CASE/ARM, in which a * is anything (default: the whole stack)");
  add_into(remove, said->into);
}

const register_command baseline_here{
    "baseline", add_baseline, also(section::every_night, 3), {needs::source_tree}};

}  // namespace
}  // namespace cufault
