// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The commands that compare records: diff, gate, merge, history.
#include "harness/cli/cli.hpp"
#include "harness/cli/command_line.hpp"
#include "harness/cli/selection.hpp"
#include "harness/system/process.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"
#include "reports/explain/driver_sayings.hpp"
#include "reports/history/history.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/judge/merge.hpp"
#include "reports/printers/comparison.hpp"
#include "reports/printers/history.hpp"
#include "reports/printers/merge.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

/// Says what could not be read, in one line each, and keeps it.
class unread_files {
 public:
  std::function<void(const std::string&)> take() {
    return [this](const std::string& why) {
      lines.push_back(cell(why, table_style::text));
      fmt::print(std::cerr, "cufault: {}\n", lines.back());
    };
  }
  std::vector<std::string> lines;
};

/// Names are of paths: what is the same in all is left out, up to the last slash.
void drop_common_folder(std::vector<merged_member>& members) {
  if (members.size() < 2) return;
  std::string common = members.front().name;
  for (const auto& m : members)
    common.resize(static_cast<std::size_t>(
        std::mismatch(common.begin(), common.end(), m.name.begin(), m.name.end()).first - common.begin()));
  const auto slash = common.rfind('/');
  if (slash == std::string::npos) return;
  for (auto& m : members) m.name.erase(0, slash + 1);
}

/// Names, one a line; behind # a line has a comment.
std::vector<std::string> hosts_in(const fs::path& file) {
  std::set<std::string> names;
  std::ifstream in(file);
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line.erase(std::min(line.size(), line.find('#')));
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos) continue;
    line = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
    if (line.find_first_of(" \t\r/[") != std::string::npos)
      throw usage_error(
          fmt::format("--hosts {}:{}: it has one name a line, without ranges", file.string(), number));
    names.insert(line);
  }
  if (names.empty()) throw usage_error(fmt::format("--hosts {}: it names no host", file.string()));
  return {names.begin(), names.end()};
}

constexpr const char* everything = "*";

/// By join_key(): what a record was asked for, as the catalogue of this cufault has it. Of a name that it does not have: everything.
std::set<std::string> arms_asked_of(const record& r) {
  std::set<std::string> arms;
  // Of a run from before records said it. A stack has no version, and was asked for what it has.
  if (r.asked.empty() && !r.version.empty()) arms.insert(everything);
  for (const asked_for& asked : r.asked) {
    run_arguments as;
    as.names = asked.cases;
    as.tier = tier_of(asked.tier);
    if (asked.part.size() == 2) as.part = {asked.part[0], asked.part[1]};
    try {
      for (const selected_case& s : select_cases(as, r.stack->is_object() && r.stack->contains("python")))
        for (const arm* const a : s.arms) arms.insert(join_key(s.what->name, a->name));
    } catch (const usage_error&) {
      arms.insert(everything);
    }
  }
  return arms;
}

comparison_terms terms_of(std::span<const record> records) {
  std::vector<std::set<std::string>> asked;
  for (const record& r : records) asked.push_back(arms_asked_of(r));
  return {.asked = [asked = std::move(asked)](std::size_t of, const std::string& case_name,
                                              const std::string& arm) {
    return asked[of].contains(everything) || asked[of].contains(join_key(case_name, arm));
  }};
}

/// Records of one stack as one. Nothing where none of them could be read, which has been said. `incomplete`: runs that did not come to
/// their end are added.
std::optional<record> load_side(const std::vector<fs::path>& named, const char* option, unread_files& unread,
                                std::vector<std::string>& incomplete) {
  std::vector<record> runs;
  each_record(
      named,
      [&](const fs::path& file, record r) {
        if (!r.complete)
          incomplete.push_back(cell(fmt::format("{} {}", option, file.string()), table_style::text));
        runs.push_back(std::move(r));
      },
      unread.take());
  std::vector<record> stacks = merged_by_stack(std::move(runs));
  if (stacks.size() > 1) {
    std::vector<std::string> labels;
    for (const record& r : stacks) labels.push_back(stack_label(r));
    throw usage_error(cell(fmt::format("{}: records of {} stacks ({}); name those of one", option,
                                       stacks.size(), fmt::join(labels, "; ")),
                           table_style::text));
  }
  if (!stacks.empty()) return std::move(stacks.front());
  if (unread.lines.empty()) throw usage_error(fmt::format("{}: there is no record in it", option));
  return {};
}

/// `driver`: lines of what the driver said otherwise.
int say(const comparison& all, const std::string& command, const comparison_style& style,
        const std::vector<std::string>& driver = {}) {
  const arm_extent extent = style.names     ? arm_extent::names
                            : style.in_full ? arm_extent::whole
                                            : arm_extent::differences;
  if (style.json) {
    auto json = to_json(all);
    if (!driver.empty()) json["driver"] = driver;
    print_json(json);
  } else {
    print_comparison(std::cout, all, command, style.style(), extent);
    if (!driver.empty()) limited_output(std::cout, style.style()).list("The driver says otherwise", driver);
  }
  if (command == "gate") return exit_code(exit_reasons(all));
  return differing_in(all) == 0 && driver.empty() ? 0 : int{exit_gate};
}

}  // namespace

int show_differences(const diff_arguments& arguments) {
  std::vector<record> compared;
  for (const fs::path& file : arguments.records) compared.push_back(load_record(file));
  if (arguments.by_stack) compared = merged_by_stack(std::move(compared));
  if (compared.size() < 2)
    throw usage_error(
        "diff --by-stack: all these records are of one stack; leave --by-stack out to compare them");
  comparison all = compare(compared, terms_of(compared));
  for (std::size_t i = 0; i < compared.size(); ++i) {
    if (all.records[i].observed == 0)
      throw usage_error(
          fmt::format("{} shows no arm that could be compared",
                      arguments.by_stack ? all.records[i].label : arguments.records[i].string()));
    if (!arguments.by_stack && !compared[i].started.empty())
      all.records[i].label += fmt::format(" ({})", compared[i].started);
  }
  std::vector<std::string> driver;
  if (arguments.driver)
    for (const record& now : std::span(compared).subspan(1)) {
      driver_differences found = driver_differences_of(compared.front(), now);
      if (found.arms == 0)
        throw usage_error(
            "diff --driver: no arm has trials in both records that heard the driver's error log; run it "
            "again with this cufault");
      std::ranges::move(found.lines, std::back_inserter(driver));
    }
  return say(all, "diff", arguments, driver);
}

int gate_records(record baseline, record candidate, const gate_arguments& arguments,
                 std::vector<std::string> unread, std::vector<std::string> incomplete) {
  const std::array both{std::move(baseline), std::move(candidate)};
  comparison_terms terms = terms_of(both);
  terms.at_least = static_cast<std::size_t>(arguments.at_least);
  terms.today =
      arguments.date.empty() ? fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))) : arguments.date;
  if (!arguments.allow.empty()) terms.allowances = load_allowances(arguments.allow);
  comparison all = compare(both, terms);
  all.records[0].role = "baseline";
  all.records[1].role = "candidate";
  all.unread = std::move(unread);
  all.incomplete = std::move(incomplete);
  return say(all, "gate", arguments);
}

int run_gate(const gate_arguments& arguments) {
  if (!arguments.baseline_python.empty()) return gate_pythons(arguments);
  unread_files unread;
  std::vector<std::string> incomplete;
  std::optional<record> baseline = load_side(arguments.baseline, "--baseline", unread, incomplete),
                        candidate = load_side(arguments.candidate, "--candidate", unread, incomplete);
  if (!baseline || !candidate) {  // why has been said
    if (arguments.json)
      std::cout << json_of_failure(exit_unresolved, fmt::format("{}", fmt::join(unread.lines, "; "))) << '\n';
    return exit_unresolved;
  }
  return gate_records(*std::move(baseline), *std::move(candidate), arguments, std::move(unread.lines),
                      std::move(incomplete));
}

int merge_records(const merge_arguments& arguments) {
  const std::vector<std::string> hosts =
      arguments.hosts.empty() ? std::vector<std::string>() : hosts_in(arguments.hosts);
  unread_files unread;
  merging all;
  bool any = false;
  each_record(
      arguments.records,
      [&](const fs::path& file, const record& r) {
        any = true;
        const std::string name =
            (file.extension() == ".jsonl" ? fs::path(file).replace_extension() : file).string();
        if (!all.add(name, r))
          fmt::print(std::cerr, "cufault: {}: this run is there already, and counts once\n",
                     cell(file.string(), table_style::text));
      },
      unread.take());
  if (!any && unread.lines.empty() && hosts.empty()) throw usage_error(no_record);
  if (!any && hosts.empty()) return exit_unresolved;  // each host is told of, also where none left a record
  merged_records merged = all.result();
  drop_common_folder(merged.members);
  std::vector<host_finding> found;
  if (!hosts.empty()) found = check_hosts(merged, hosts);
  const int code = !unread.lines.empty() ? exit_unresolved
                   : found.empty()       ? exit_code(merged)
                                         : std::max<int>(exit_gate, exit_code(merged));
  if (arguments.json) {
    nlohmann::json all = to_json(merged);
    if (!hosts.empty()) all["hosts"] = to_json(found);
    all["exit_code"] = code;
    print_json(all);
  } else {
    print_merged(std::cout, merged, arguments.style());
    if (!hosts.empty()) print_hosts(std::cout, found, hosts.size(), arguments.style());
  }
  return code;
}

int add_to_history(const history_arguments& arguments) {
  const auto has_none = [](const fs::path& named) {
    try {
      return records_in({named}).empty();
    } catch (const input_error&) {
      return false;  // each_record() says why
    }
  };
  if (std::ranges::all_of(arguments.records, has_none))
    throw usage_error(no_record);  // and no history is made
  unread_files unread;
  std::optional<history>
      kept;  // opened, or made, with the first record: who ends this while it is read leaves none
  history::added total;
  each_record(
      arguments.records,
      [&](const fs::path& file, const record& r) {
        const interrupt_guard guard;  // a run is added whole, or not at all
        try {
          if (!kept) kept.emplace(arguments.file, history::access::add);
        } catch (const input_error& e) {
          throw usage_error(e.what());
        }
        try {
          const auto more = kept->add(r);
          total.runs += more.runs;
          total.arms += more.arms;
          total.known += more.known;
        } catch (const input_error& e) {
          throw input_error(fmt::format("{}: {}", file.string(), e.what()));
        }
        if (guard.signal() != 0)
          throw usage_error(
              fmt::format("interrupted; {} added to {}", plural(total.runs, "run"), arguments.file.string()),
              128 + guard.signal());
      },
      unread.take());
  fmt::print(std::cout, "{}: added {} in {}; {} already there\n", arguments.file.string(),
             plural(total.arms, "arm"), plural(total.runs, "run"), total.known);
  return unread.lines.empty() ? 0 : exit_unresolved;
}

int show_history(const history_arguments& arguments) {
  history kept(arguments.file, history::access::read);
  const history_view view = kept.view(arguments.arms);
  if (view.runs == 0)
    throw usage_error(
        fmt::format("{0} has no run: `cufault history add {0} RECORD` adds them", arguments.file.string()));
  if (!arguments.arms.empty() && view.arms.empty()) {
    std::vector<std::string> known;
    for (const history_arm& arm : kept.view({}).arms) known.push_back(arm.name);
    throw usage_error(fmt::format("{} has no arm {}{}", arguments.file.string(),
                                  fmt::join(arguments.arms, " or "),
                                  did_you_mean(arguments.arms.front(), known)));
  }
  if (arguments.json) return print_json(to_json(view));
  print_history(std::cout, view, arguments.style(),
                arguments.arms.empty() ? history_extent::overview : history_extent::details);
  return 0;
}

}  // namespace cufault
