// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/merge.hpp"

#include "harness/cli/command_line.hpp"
#include "harness/cli/gate.hpp"
#include "reports/printers/merge.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct merge_arguments : print_form {
  std::vector<std::filesystem::path> records;
  std::filesystem::path hosts;  ///< names of hosts that were to report, one a line; empty: not looked at
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

void add_merge(command_line& line) {
  const auto said = std::make_shared<merge_arguments>();
  CLI::App* merge = line.command(
      "merge", "Records of several GPUs or hosts as one: who differs from the majority, and pooled rates",
      "A record does not know its host: name files or folders by it.\n"
      "With --hosts the file of each is HOST.jsonl or HOST@BOOT.jsonl; each host is named that left no "
      "record or several, whose run did not end, that has no GPU, whose stack or start differs from most, or "
      "that is an outlier.\nA difference is printed as a change from the majority to the outlier.\n"
      "Exit codes: 0 all agree; 1 there are outliers, arms without a majority, or hosts that are named; 2 "
      "bad input.",
      [said] { return merge_records(*said); });
  merge->add_option("RECORD", said->records, "records, folders of records, or folders of stacks")
      ->required()
      ->check(CLI::ExistingPath);
  add_named(merge, "--hosts", said->hosts, "FILE",
            "file with the names of the hosts that were to report, one a line")
      ->check(CLI::ExistingFile);
  add_form(merge, *said, "merged");
}

const register_command merge_here{"merge", add_merge, also(section::every_night, 5), {needs::source_tree}};

}  // namespace
}  // namespace cufault
