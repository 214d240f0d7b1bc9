// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault report: one model of all records, and each format of it as a file.
#include "reports/printers/report.hpp"

#include "harness/cli/answer.hpp"
#include "harness/cli/command_line.hpp"
#include "harness/cli/commit.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/printers/printers.hpp"
#include "reports/printers/summary.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <system_error>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct report_arguments {
  records_to_read records{default_recorded()};
  std::filesystem::path folder;
  std::vector<std::filesystem::path> baselines;  ///< folders of stacks that judge
  std::vector<std::filesystem::path> since;      ///< records, of which the last green one is compared with
  std::filesystem::path history;                 ///< of `cufault history`; empty: none
};

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw usage_error(fmt::format("{}: cannot create: {}", folder.string(), error.message()));
}

/// Throws usage_error where the folder has files that no report wrote, or observations that are of no stack of this one.
void refuse_files_of_others(const fs::path& folder, const std::vector<report_file>& observations) {
  std::error_code none;
  const fs::path page = folder / "index.html";
  const bool ours =
      fs::is_regular_file(page, none) && read_text(page).find("<title>cufault report: ") != std::string::npos;
  std::vector<std::string> names{"records"};
  for (const report_printer* format : report_printers()) names.emplace_back(format->file);
  for (const std::string& name : names)
    if (!ours && fs::exists(folder / name, none))
      throw usage_error(
          fmt::format("{}: was not written by cufault report, which would replace it; give an empty folder",
                      (folder / name).string()));
  for (auto at = fs::directory_iterator(folder / "records", none); at != fs::directory_iterator();
       at.increment(none)) {
    const std::string name = fs::path("records") / at->path().filename();
    if (std::ranges::none_of(observations, [&](const report_file& f) { return f.name == name; }))
      throw usage_error(fmt::format("{}: is of no stack of this report; remove it, or give an empty folder",
                                    at->path().string()));
  }
}

report_trends trends_of(const fs::path& history) {
  const nlohmann::json said = answered("history", {{"trends", true}}, {history.string()});
  report_trends trends{.runs = said.at("runs"), .first = said.at("first"), .last = said.at("last")};
  for (const nlohmann::json& one : said.at("arms")) {
    report_trends::arm& arm = trends.arms.emplace_back();
    arm = {.name = one.at("name"), .on = one.at("on"), .how = one.at("how"), .on_all = one.at("on_all")};
    for (const nlohmann::json& result : one.at("results"))
      arm.results.push_back({result.at("seen"), result.at("first"), result.at("last"), result.at("runs")});
  }
  return trends;
}

int write_report(const report_arguments& arguments) {
  bool all_read = true;
  report_builder builder;
  const auto bad = [&](const std::string& why) {
    all_read = false;
    builder.add_unread(cell(why, table_style::text));
    fmt::print(std::cerr, "cufault: {}\n", cell(why, table_style::text));
  };
  each_record(
      arguments.records, [&](const fs::path& file, record r) { builder.add(file.string(), std::move(r)); },
      bad);
  if (builder.empty()) {
    if (!all_read) return exit_unresolved;
    throw usage_error(no_record);
  }
  const baselines recorded(arguments.baselines);
  each_record(
      arguments.since, [&](const fs::path& file, const record& r) { builder.add_green(file.string(), r); },
      bad);
  report all = builder.result(recorded, load_claims(claims_file()), measured_costs(arguments.records));
  for (report::stack& s : all.stacks)
    if (s.run.version.empty()) s.run.version = this_build.version;  // a stack that is filed has none
  tell_unread(recorded);
  if (const auto green = builder.last_green(all))
    all.change = builder.change_since(*green, load_record(*green), all);
  if (all.change && all.change->same + all.change->changed == 0 && !arguments.since.empty())
    throw usage_error("--since: no arm is in that record and in these, so that nothing can be compared");
  if (!all.change && !arguments.since.empty())
    throw usage_error(
        "--since: no record there came to its end with exit code 0; name a run that passed, or the folder of "
        "a stack");
  if (!arguments.history.empty()) all.history = trends_of(arguments.history);

  const std::vector<report_file> observations = builder.files();
  refuse_files_of_others(arguments.folder, observations);
  make_folder(arguments.folder / "records");
  // All are printed before one is written: who interrupts the printing finds the report that was there. The page is written first: by it
  // the folder is known as one of reports.
  std::vector<std::string> printed;
  for (const report_printer* format : report_printers()) printed.push_back(format->print(all));
  for (std::size_t i = 0; i < printed.size(); ++i)
    write_whole(arguments.folder / report_printers()[i]->file, printed[i]);
  for (const report_file& f : observations)
    write_whole(arguments.folder / f.name, record_text(*f.observations));
  if (all.change) fmt::print(std::cout, "{}\n", cell(change_line(*all.change), table_style::text));
  fmt::print(std::cout, "{}: {}\n", (arguments.folder / "index.html").string(),
             plural(all.stacks.size(), "stack"));
  return all_read ? 0 : exit_unresolved;
}

void add_report(command_line& line) {
  struct given : report_arguments {
    std::filesystem::path baseline;
  };
  const auto said = std::make_shared<given>();
  CLI::App* command = line.command(
      "report", "Write a page, and files for programs: what changed, and all else",
      "Written are index.html, which needs no other file and no network, summary.md, summary.txt, arms.csv, "
      "report.json, junit.xml, ctrf.json, cufault.prom, and the observations in records/. Of each arm of a "
      "stack the latest run that observed it counts. It is compared with the last green run before it: a "
      "gate that passed, of the same stack, or else of the same GPU.\n"
      "Exit codes: 0 written; 2 bad input: records that can be read are in the report all the same.",
      [said] {
        said->baselines = baseline_folders(said->baseline);
        return write_report(*said);
      });
  command->add_option("RECORD", said->records, "records, folders of records, or folders of stacks")
      ->required()
      ->check(CLI::ExistingPath);
  add_named(command, "-o,--output", said->folder, "DIR",
            "folder to write to; made where there is none. Refused where it would replace files that no "
            "report wrote")
      ->required()
      ->check(not_empty);
  add_named(command, "--since", said->since, "RECORD",
            "compare with the last of these that ended with 0: records, folders of records, or of stacks "
            "(default: earlier runs among RECORD)")
      ->allow_extra_args(false)
      ->check(CLI::ExistingPath);
  add_named(command, "--history", said->history, "FILE", "show the trends of a history (cufault history)")
      ->check(CLI::ExistingFile);
  add_baseline(command, said->baseline);
}

const register_command report_here{
    "report", add_report, first(section::every_night, 2), {needs::source_tree}};

}  // namespace
}  // namespace cufault
