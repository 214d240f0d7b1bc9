// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The commands that compare records: diff, gate, merge, history.
#include "harness/cli/cli.hpp"
#include "harness/system/process.hpp"
#include "reports/history/history.hpp"
#include "reports/judge/gate.hpp"
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
#include <ctime>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

table_style style_of(bool markdown) {
  return markdown ? table_style::markdown : table_style::text;
}

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

/// Records of one stack as one. Nothing where none of them could be read, which has been said. `incomplete`: runs that did not come to
/// their end are added.
std::optional<record> load_side(const std::vector<fs::path>& named, const char* option, unread_files& unread,
                                std::vector<std::string>& incomplete) {
  std::optional<record> all;
  std::set<std::string> stacks;
  each_record(
      named,
      [&](const fs::path& file, record r) {
        stacks.insert(stack_label(r));
        if (!r.complete)
          incomplete.push_back(cell(fmt::format("{} {}", option, file.string()), table_style::text));
        if (!all) {
          all = std::move(r);
          return;
        }
        for (case_result& c : r.cases)
          for (arm_result& arm : c.arms) merge(case_in(all->cases, c.name), std::move(arm));
      },
      unread.take());
  if (stacks.size() > 1)
    throw usage_error(cell(fmt::format("{}: records of {} stacks ({}); name those of one", option,
                                       stacks.size(), fmt::join(stacks, "; ")),
                           table_style::text));
  if (!all && unread.lines.empty()) throw usage_error(fmt::format("{}: there is no record in it", option));
  return all;
}

}  // namespace

int show_differences(const std::vector<fs::path>& files, bool by_stack, bool markdown) {
  std::vector<record> loaded;
  for (const fs::path& file : files) loaded.push_back(load_record(file));
  int differing = 0;
  if (by_stack) {
    const auto stacks = merged_by_stack(loaded);
    if (stacks.size() < 2)
      throw usage_error(
          "diff --by-stack: all these records are of one stack; leave --by-stack out to compare them");
    differing = print_differences(std::cout, stacks, style_of(markdown), missing_arms::counted);
  } else {
    differing = print_differences(std::cout, loaded, style_of(markdown));
  }
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    const auto& cases = loaded[i].cases;
    const bool shows_something = std::any_of(cases.begin(), cases.end(), [](const case_result& c) {
      return std::any_of(c.arms.begin(), c.arms.end(), [](const arm_result& a) { return observed(a); });
    });
    if (!shows_something)
      throw usage_error(fmt::format("{} shows no arm that could be compared", files[i].string()));
  }
  return differing == 0 ? 0 : exit_gate;
}

int gate_records(record baseline, record candidate, const gate_arguments& arguments,
                 std::vector<std::string> unread, std::vector<std::string> incomplete) {
  gate_terms terms{.at_least = static_cast<std::size_t>(arguments.at_least)};
  terms.today =
      arguments.date.empty() ? fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))) : arguments.date;
  if (!arguments.allow.empty()) terms.allowances = load_allowances(arguments.allow);
  gate_report report = compare(std::move(baseline), std::move(candidate), terms);
  report.unread = std::move(unread);
  report.incomplete = std::move(incomplete);
  if (arguments.json)
    std::cout << to_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  else
    print_gate(std::cout, report, style_of(arguments.markdown),
               arguments.names ? gate_extent::names : gate_extent::reasons);
  return exit_code(exit_reasons(report));
}

int run_gate(const gate_arguments& arguments) {
  if (!arguments.baseline_python.empty()) return gate_pythons(arguments);
  unread_files unread;
  std::vector<std::string> incomplete;
  std::optional<record> baseline = load_side(arguments.baseline, "--baseline", unread, incomplete);
  std::optional<record> candidate = load_side(arguments.candidate, "--candidate", unread, incomplete);
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
    std::cout << all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    print_merged(std::cout, merged, style_of(arguments.markdown));
    if (!hosts.empty()) print_hosts(std::cout, found, hosts.size(), style_of(arguments.markdown));
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
  if (std::all_of(arguments.records.begin(), arguments.records.end(), has_none))
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
  if (!arguments.arms.empty() && view.arms.empty())
    throw usage_error(
        fmt::format("{} has no arm {}", arguments.file.string(), fmt::join(arguments.arms, " or ")));
  if (arguments.json)
    std::cout << to_json(view).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  else
    print_history(std::cout, view, style_of(arguments.markdown),
                  arguments.arms.empty() ? history_extent::overview : history_extent::details);
  return 0;
}

}  // namespace cufault
