// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/answer.hpp"
#include "reports/base/json_input.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/printers/changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct changes_arguments : print_form {
  std::vector<std::filesystem::path> records;
  std::string gpu, release;  ///< empty: that of most releases; all
};

/// Notes with what known issues cite, by which a page leaves out none of it.
std::vector<release_note> named_in(std::vector<release_note> notes) {
  const fs::path known = known_issues_file();
  if (!fs::exists(known)) return notes;
  const json_cursor top{read_json(known)};
  for (const json_cursor& issue : top.at("issues").items()) {
    release_note& one = notes.emplace_back();
    one.verdict = "confirmed";
    if (const auto calls = issue.find("calls"))
      for (const json_cursor& call : calls->items()) one.calls.push_back(call.string());
    if (const auto evidence = issue.find("evidence"))
      for (const json_cursor& e : evidence->items()) one.arms.push_back(e.at("arm").string());
  }
  return notes;
}

int show_changes(const changes_arguments& arguments) {
  const std::vector<fs::path> files = records_in(arguments.records);
  std::vector<std::optional<release_of_stack>> stacks;
  for (const fs::path& file : files)
    stacks.push_back(release_of(is_stack_folder(file) ? load_family(file, {}) : load_record(file)));
  const release_columns columns = columns_of(stacks, arguments.gpu);
  if (columns.releases.size() < 2)
    throw usage_error(
        fmt::format("{} of cuBLAS in these records{}, and two on one GPU and driver are needed; record "
                    "others: cufault run --cublas PATH",
                    columns.releases.empty() ? "no release" : "one release",
                    arguments.gpu.empty() ? "" : " on a GPU of that name"));
  std::vector<std::string> names;
  for (const auto& [version, indexes] : columns.releases) names.push_back(version);
  if (!arguments.release.empty() && std::ranges::find(names, arguments.release) == names.end())
    throw usage_error(fmt::format("--release {}: it is not in these records, which have {}",
                                  arguments.release, fmt::join(names, ", ")));
  change_report report{.gpu = columns.gpu, .driver = columns.driver};
  change_finder finder;
  std::vector<std::pair<std::string, nlohmann::json>> library_files;
  std::vector<fs::path> in_order;
  for (const auto& [version, indexes] : columns.releases)
    for (const std::size_t i : indexes) in_order.push_back(files[i]);
  record_reader reader(std::move(in_order));
  for (const auto& [version, indexes] : columns.releases) {
    std::vector<record> of_release;
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      of_release.push_back(reader.next());
      const nlohmann::json& stack = *of_release.back().stack;
      if (const auto found = stack.find("files"); found != stack.end())
        library_files.emplace_back(version, *found);
    }
    finder.add(version, std::move(merged_by_stack(std::move(of_release)).front()));
  }
  report.found = finder.found();
  // Where the files of all releases were read, these are no news.
  const fs::path all_files = default_recorded() / release_files;
  report.files = file_histories(fs::exists(all_files) ? files_of_releases(all_files) : library_files);
  if (const fs::path notes = release_notes_file(); fs::exists(notes))
    report.notes = load_release_notes(notes);
  if (!arguments.json && arguments.release.empty())
    leave_out(report.found.changes, most_changes, named_in(report.notes));
  if (arguments.json) return print_json(to_json(report, arguments.release), 1);
  print_changes(std::cout, report, arguments.release, arguments.style(), width_of_output());
  return 0;
}

void add_history(command_line& line) {
  struct asked : to_read {
    std::string gpu, release;
    std::vector<std::string> arms;
  };
  const auto asked_for = std::make_shared<asked>();
  CLI::App* history = line.command(
      "history",
      "Keeps the result of each arm in an SQLite file; shows since which stack it holds and how often it "
      "flakes, and what changed from release to release of cuBLAS",
      "What is kept: what each arm came to in each run. Flakes are runs that differ from most runs of their "
      "stack.\n"
      "An arm is compared with the nearest stack in front of its own. Last come arms that race and were "
      "steady, or of another rate, in their last 20 runs or more.\n"
      "Exit codes: 0; 2 bad input, or a file that is no history, has no run, is damaged, or was made by a "
      "newer cufault.",
      [asked_for, &line] {
        const CLI::App& asked_of = *line.app.get_subcommand("history")->get_subcommands().front();
        if (asked_of.get_name() == "matrix")
          return show_changes({*asked_for, asked_for->records, asked_for->gpu, asked_for->release});
        return answer("history", asked_of);
      });
  history->require_subcommand(1);
  CLI::App* add = history->add_subcommand("add", "Add records; records already present are skipped");
  add_passed_on(add, "DB", "the history; made where there is none")->required()->type_name("FILE");
  add->add_option("RECORD", asked_for->records, "records, folders of records, or folders of stacks")
      ->required()
      ->check(CLI::ExistingPath);
  CLI::App* show =
      history->add_subcommand("show", "Show arms that changed or flake, or all arms that match ARM");
  add_passed_on(show, "DB", "the history")->required()->type_name("FILE");
  show->add_option("ARM", asked_for->arms, "CASE/ARM, where * is anything");
  add_form(show, *asked_for, "history");
  CLI::App* changes = history->add_subcommand(
      "matrix",
      "Show what changed from release to release of cuBLAS, by recorded stacks of one GPU and driver");
  add_to_read(changes, asked_for->records);
  changes->add_option("--gpu", asked_for->gpu,
                      "text in the name of the GPU (default: the one on which most releases were recorded)");
  changes->add_option("--release", asked_for->release, "only changes that this release shows first: 13.1.0");
  add_form(changes, *asked_for, "changes", ", with all arms of all changes");
  changes->footer(
      "An arm that a release did not observe is not measured there: a change lies after the last release "
      "that showed what was before, and at the latest in the first that shows what is now. Not counted: "
      "what the case itself does differently (calls, facts and numbers that one of two records alone has), "
      "and rates within chance.");
}

const register_command history_here{
    "history", add_history, also(section::every_night, 4), {needs::source_tree}};

}  // namespace

}  // namespace cufault
