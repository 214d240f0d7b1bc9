// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/answer.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/members.hpp"
#include "reports/history/changes.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/stack_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {

template <>
nlohmann::ordered_json write_json(const std::map<std::string, std::size_t>& calls) {
  return calls;
}
// As in reports/schemas/changes.schema.json, but for the numbers of changes.
CUFAULT_MEMBERS(release_changes::release, f.required("release", of.version);
                CUFAULT_STATED(observed, compared, changed, next_compared, next_changed))
CUFAULT_MEMBERS(release_change, f.required("harm", to_string(of.how));
                CUFAULT_STATED(since, after, at_latest, until, from, to, what, details, of, calls, arms,
                               where, example, driver_before, driver_since, made_up, severe))
CUFAULT_MEMBERS(release_changes, CUFAULT_STATED(releases, changes, steady, by_cufault))
CUFAULT_MEMBERS(file_history::range, CUFAULT_STATED(first, last, words))
CUFAULT_MEMBERS(file_history, f.required("fact", of.name); CUFAULT_STATED(ranges))

namespace {

using json = nlohmann::ordered_json;

/// Of each release of cuBLAS the index of the one that it follows: the nearest of those before it that are here. Before one is the highest-numbered
/// below it that was out when it came (cases/known_issues.json).
std::vector<std::size_t> followed(const release_columns& columns) {
  std::map<version, std::string> came;
  const auto known_issues = nlohmann::json::parse(read_text(known_issues_file()));
  for (const nlohmann::json& r : known_issues.at("releases")) {
    const auto name = r.at("release").get<std::string>(), date = r.at("date").get<std::string>();
    const auto [known, added] = came.try_emplace(version_from(name.substr(0, name.rfind('.'))), date);
    known->second = std::min(known->second, date);
  }
  std::map<version, std::size_t> here;
  std::vector<std::size_t> follows;
  for (const auto& [name, stacks] : columns.releases) {
    auto at = came.find(version_from(name));
    follows.push_back(at == came.end() ? here.size() - 1 : SIZE_MAX);  // one that is not listed came last
    while (at != came.begin() && at != came.end()) {
      const auto from = at;
      do --at;
      while (at != came.begin() && at->second > from->second);
      if (const auto found = here.find(at->first); found != here.end()) {
        follows.back() = found->second;
        break;
      }
    }
    here.emplace(version_from(name), here.size());
  }
  return follows;
}

/// As JSON. `gpu`: text in its name; empty: that of most releases. Of a `framework` one release is enough, of which nothing is compared.
int print_changes(const records_to_read& records, const std::string& gpu, const std::string& framework) {
  const std::string package = framework == "pytorch" ? "torch" : framework;
  const std::vector<fs::path> files = records_in(records);
  std::vector<std::optional<release_of_stack>> stacks;
  for (const fs::path& file :
       files)  // a stack has the versions of all frameworks, and arms of those that ran
    if (is_stack_folder(file) && !framework.empty() && !fs::exists(file / (framework + ".jsonl")))
      stacks.emplace_back();
    else
      stacks.push_back(
          release_of(is_stack_folder(file) ? load_family(file, {}) : load_record(file), framework));
  const release_columns columns = columns_of(stacks, gpu);
  const std::string on_gpu = gpu.empty() ? "" : " on a GPU of that name";
  if (!framework.empty() && columns.releases.empty())
    throw usage_error(
        fmt::format("no release of {} in these records{}; record one: ci/campaign frameworks {}==VERSION",
                    package, on_gpu, package));
  if (framework.empty() && columns.releases.size() < 2)
    throw usage_error(
        fmt::format("{} of cuBLAS in these records{}, and two on one GPU and driver are needed; record "
                    "others: cufault run --cublas PATH",
                    columns.releases.empty() ? "no release" : "one release", on_gpu));
  change_finder finder(framework.empty() ? followed(columns) : std::vector<std::size_t>{});
  std::vector<std::pair<std::string, nlohmann::json>> library_files;
  std::vector<std::string> brought;  // cuBLAS, by each release
  std::vector<json> doubts;          // likewise, why it is not the release alone, or not all of it
  std::vector<fs::path> in_order;
  for (const auto& [version, indexes] : columns.releases)
    for (const std::size_t i : indexes) in_order.push_back(files[i]);
  record_reader reader(std::move(in_order));
  for (const auto& [version, indexes] : columns.releases) {
    std::vector<record> of_release;
    std::set<std::string> doubts_here;
    for (const std::size_t i : indexes) {
      of_release.push_back(reader.next());
      const nlohmann::json& stack = *of_release.back().stack;
      if (!of_release.back().complete && !is_stack_folder(files[i]))
        doubts_here.insert("a run did not come to its end");
      if (const nlohmann::json::json_pointer of("/python/frameworks/" + framework); stack.contains(of))
        for (const std::string& doubt :
             imported_doubts({{"python", {{"frameworks", {{framework, stack.at(of)}}}}}}))
          doubts_here.insert(doubt);
      if (const auto found = stack.find("files"); found != stack.end())
        library_files.emplace_back(version, *found);
    }
    record release = std::move(merged_by_stack(std::move(of_release)).front());
    if (!framework.empty())
      std::erase_if(release.cases,
                    [&](const case_result& c) { return !c.name.starts_with(framework + "."); });
    brought.push_back(key_of(*release.stack, "cublas"));
    doubts.emplace_back(doubts_here);
    finder.add(version, std::move(release));
  }
  json said{{"gpu", columns.gpu}, {"driver", columns.driver}};
  said.update(write_json(finder.found()));
  for (std::size_t i = 0; i < doubts.size(); ++i)
    if (!doubts[i].empty()) said["releases"][i]["doubts"] = doubts[i];
  if (!framework.empty()) {
    for (std::size_t i = 0; i < brought.size(); ++i) said["releases"][i]["cublas"] = brought[i];
    said["files"] = json::array();
    return print_json(said, -1);
  }
  // Where the files of all releases were read, these are no news.
  const fs::path all_files = default_recorded() / release_files;
  said["files"] =
      write_json(file_histories(fs::exists(all_files) ? files_of_releases(all_files) : library_files));
  return print_json(said, -1);
}

void add_history(command_line& line) {
  struct asked : to_read {
    std::vector<std::string> arms;
  };
  const auto asked_for = std::make_shared<asked>();
  CLI::App* history = line.command(
      "history",
      "Keeps the result of each arm in an SQLite file; shows since which stack it holds and how often it "
      "flakes, and what changed from release to release of cuBLAS or of a framework",
      "What is kept: what each arm came to in each run. Flakes are runs that differ from most runs of their "
      "stack.\n"
      "An arm is compared with the nearest stack in front of its own. Last come arms that race and were "
      "steady, or of another rate, in their last 20 runs or more.\n"
      "Exit codes: 0; 2 bad input, or a file that is no history, has no run, is damaged, or was made by a "
      "newer cufault.",
      [asked_for](CLI::App& asked) {
        const CLI::App& asked_of = *asked.get_subcommands().front();
        return answer(asked_of.get_name() == "matrix" ? "changes" : "history", asked_of);
      });
  history->require_subcommand(1);
  CLI::App* add = history->add_subcommand("add", "Add records; records already present are skipped");
  add_passed_on(add, "DB", "FILE", "the history; made where there is none")->required();
  add->add_option("RECORD", asked_for->records, "records, folders of records, or folders of stacks")
      ->required()
      ->check(CLI::ExistingPath);
  CLI::App* show =
      history->add_subcommand("show", "Show arms that changed or flake, or all arms that match ARM");
  add_passed_on(show, "DB", "FILE", "the history")->required();
  show->add_option("ARM", asked_for->arms, "CASE/ARM, where * is anything");
  add_form(show, *asked_for, "history");
  CLI::App* changes = history->add_subcommand("matrix",
                                              "Show what changed from release to release of cuBLAS or of a "
                                              "framework, by recorded stacks of one GPU and driver");
  add_to_read(changes, asked_for->records);
  add_passed_on(changes, "--gpu", "TEXT",
                "text in the name of the GPU (default: the one on which most releases were recorded)");
  add_passed_on(changes, "--package", "of this framework: torch, jax or cupy (default: of cuBLAS)")
      ->check(CLI::IsMember({"torch", "jax", "cupy"}));
  add_passed_on(changes, "--release", "TEXT", "only changes that this release shows first: 13.1.0");
  add_form(changes, *asked_for, "changes", ", with all arms of all changes");
  changes->footer(
      "An arm that a release did not observe is not measured there: a change lies after the last release "
      "that showed what was before, and at the latest in the first that shows what is now. Not counted: what "
      "the case itself does differently (calls, facts and numbers that one of two records alone has), and "
      "rates within chance.");
}

void add_release_changes(command_line& line) {
  struct asked : to_read {
    std::string gpu, framework;
  };
  const auto asked_for = std::make_shared<asked>();
  CLI::App* const changes = line.command("release-changes", "", "", [asked_for] {
    return print_changes(asked_for->records, asked_for->gpu, asked_for->framework);
  });
  add_to_read(changes, asked_for->records);
  changes->add_option("--gpu", asked_for->gpu);
  changes->add_option("--framework", asked_for->framework);
}

const register_command history_here{
    "history", add_history, also(section::every_night, 4), {needs::source_tree}};
const register_command release_changes_here{
    "release-changes", add_release_changes, hidden, {needs::source_tree}};

}  // namespace
}  // namespace cufault
