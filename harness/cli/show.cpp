// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/command_line.hpp"
#include "harness/cli/selection.hpp"
#include "reports/base/files.hpp"
#include "reports/base/words.hpp"
#include "reports/evidence/baselines.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/arm_line.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/printers/render.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

int show_record(const fs::path& file, const std::vector<std::string>& names,
                const std::vector<fs::path>& folders, print_form form) {
  const auto is_of = [](const std::string& name, const std::string& case_name, const std::string& arm) {
    return name == case_name || name == join_key(case_name, arm);
  };
  std::set<std::string> families;
  for (const std::string& name : names) families.insert(family_of_case(name));
  record r = load_families(file, families);
  std::vector<std::string> known;
  for (const case_result& c : r.cases) {
    known.push_back(c.name);
    for (const arm_result& a : c.arms) known.push_back(join_key(c.name, a.name));
  }
  if (!names.empty())
    for (case_result& c : r.cases)
      std::erase_if(c.arms, [&](const arm_result& a) {
        return std::ranges::none_of(names,
                                    [&](const std::string& name) { return is_of(name, c.name, a.name); });
      });
  std::erase_if(r.cases, [](const case_result& c) { return c.arms.empty(); });
  for (const std::string& name : names)
    if (std::ranges::none_of(r.cases, [&](const case_result& c) {
          return std::ranges::any_of(c.arms,
                                     [&](const arm_result& a) { return is_of(name, c.name, a.name); });
        }))
      throw usage_error(fmt::format("{} has no {} {}{}", file.string(),
                                    name.find('/') == name.npos ? "case" : "arm", name,
                                    did_you_mean(name, known.empty() ? names_of_cases() : known)));
  if (form.json) {
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms) std::cout << dump_json(arm_json(c.name, a)) << '\n';
    return 0;
  }
  const baselines recorded(folders);
  for (case_result& c : r.cases) judge(c, recorded, keys_of(r));
  print_verdicts(std::cout, r, form.style(), measured_costs({file}),
                 names.empty() && terminal_of(std::cout).width > 0 && !form.markdown);
  tell_unread(recorded);
  return 0;
}

void add_show(command_line& line) {
  struct given : print_form {
    std::filesystem::path record, baseline;
    std::vector<std::string> names;
  };
  const auto said = std::make_shared<given>();
  CLI::App* show = line.command(
      "show", "Verdict table of a run's record, also of one that was killed, or of a stack", codes_of_reading,
      [said] { return show_record(said->record, said->names, baseline_folders(said->baseline), *said); });
  show->add_option("RECORD", said->record, "record of a run (.jsonl), or folder of a stack")
      ->required()
      ->check(CLI::ExistingPath);
  add_baseline(show, said->baseline);
  show->add_option("CASE", said->names, "cases to show, or arms: CASE/ARM (default: all)");
  add_form(show, *said, "record-line",
           ", in place of the table: all that is recorded of each arm (messages, notes, measurements, too), "
           "a line for each, as in the record of a run");
}

const register_command show_here{"show", add_show, also(section::what_changed, 4)};

}  // namespace
}  // namespace cufault
