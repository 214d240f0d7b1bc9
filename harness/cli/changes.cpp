// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault history matrix`: what changed from release to release of cuBLAS.
#include "reports/printers/changes.hpp"

#include "harness/cli/cli.hpp"
#include "harness/doctor/known_issues.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/stack_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <iostream>

namespace fs = std::filesystem;

namespace cufault {
namespace {

/// Notes with what known issues cite, by which a page leaves out none of it.
std::vector<release_note> named_in(std::vector<release_note> notes) {
  const fs::path known = known_issues_file();
  if (!fs::exists(known)) return notes;
  for (const known_entry& issue : load_known_issues(known).issues) {
    release_note& one = notes.emplace_back();
    one.calls = issue.calls;
    one.verdict = "confirmed";
    for (const known_evidence& e : issue.evidence) one.arms.push_back(e.arm);
  }
  return notes;
}

}  // namespace

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

}  // namespace cufault
