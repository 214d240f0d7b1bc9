// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault report: one model of all records, and each format of it as a file.
#include "reports/printers/report.hpp"

#include "harness/cli/cli.hpp"
#include "harness/cli/command_line.hpp"
#include "reports/base/files.hpp"
#include "reports/printers/ctrf.hpp"
#include "reports/printers/html.hpp"
#include "reports/printers/junit.hpp"
#include "reports/printers/summary.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <iostream>
#include <memory>
#include <system_error>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw usage_error(fmt::format("{}: cannot create: {}", folder.string(), error.message()));
}

}  // namespace

int write_report(const report_arguments& arguments) {
  bool all_read = true;
  report_builder builder;
  const std::vector<fs::path> records =
      arguments.records.empty() ? std::vector{default_recorded()} : arguments.records;
  each_record(
      records, [&](const fs::path& file, record r) { builder.add(file.string(), std::move(r)); },
      [&](const std::string& why) {
        all_read = false;
        builder.add_unread(cell(why, table_style::text));
        fmt::print(std::cerr, "cufault: {}\n", cell(why, table_style::text));
      });
  if (builder.empty()) {
    if (!all_read) return exit_unresolved;
    throw usage_error(no_record);
  }
  const fs::path& expectations = arguments.expectations;
  const report all = builder.result(expectations.empty()
                                        ? expectation_set::load(default_expectations(), default_recorded())
                                        : expectation_set::load(expectations, recorded_beside(expectations)),
                                    load_claims(claims_file()), measured_costs(records));

  make_folder(arguments.folder / "records");
  for (const report_file& f : builder.files())
    write_whole(arguments.folder / f.name, record_text(*f.observations));
  std::vector<run_report> runs;
  for (const report::stack& s : all.stacks) runs.push_back(s.run);
  const std::pair<const char*, std::string> files[] = {{"summary.md", summary_markdown(all)},
                                                       {"junit.xml", junit_xml(runs)},
                                                       {"ctrf.json", ctrf_json(runs)},
                                                       {"index.html", html_page(all)}};
  for (const auto& [name, text] : files) write_whole(arguments.folder / name, text);
  fmt::print(std::cout, "{}: {}\n", (arguments.folder / "index.html").string(), plural(runs.size(), "stack"));
  return all_read ? 0 : exit_unresolved;
}

void add_report(command_line& line) {
  const auto said = std::make_shared<report_arguments>();
  CLI::App* command = line.command(
      "report", "Write a page, a summary, JUnit and CTRF about records into a folder",
      "Written are index.html, which needs no other file and no network, summary.md, junit.xml, ctrf.json, "
      "and the\n"
      "observations in records/. Of each arm of a stack the latest run that observed it counts.\n"
      "Exit codes: 0 written; 2 bad input: records that can be read are in the report all the same.",
      [said] { return write_report(*said); });
  command
      ->add_option(
          "RECORD", said->records,
          "records, folders of records, or folders of stacks (default: those that come with cufault)")
      ->check(CLI::ExistingPath);
  command->add_option("-o,--output", said->folder, "folder to write to; made where there is none")
      ->required()
      ->type_name("DIR")
      ->check(not_empty);
  command
      ->add_option("--expectations", said->expectations,
                   "folder of expectations (default: those that come with cufault)")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
}

}  // namespace cufault
