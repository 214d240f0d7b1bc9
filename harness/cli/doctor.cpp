// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/doctor.hpp"

#include "harness/cli/answer.hpp"
#include "harness/cli/command_line.hpp"
#include "harness/cli/why_answer.hpp"
#include "harness/doctor/diagnosis.hpp"
#include "harness/doctor/loader.hpp"
#include "harness/system/process.hpp"
#include "harness/system/unique_fd.hpp"
#include "reports/base/json_input.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/known_issues.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/printers/table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

std::vector<fs::path> loaded_after_product() {
  spawn_options options;
  options.argv = {own_path(), "load-product", "--parent", std::to_string(getpid())};
  std::string said;
  const process_result ended = run_process(options, [&](std::string_view bytes) { said += bytes; });
  if (ended.how != ending::exited || ended.exit_code != 0)
    throw std::runtime_error(ended.stderr_text.empty() ? "a process that makes a product did not end well"
                                                       : one_line(ended.stderr_text));
  std::vector<fs::path> files;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) files.emplace_back(line);
  return files;
}

}  // namespace

/// A record that cannot be read takes the evidence away, not the checks.
measured_facts measured_here() {
  try {
    return facts_in(judged_records(stacks_in(default_recorded()),
                                   {std::begin(families_of_doctor), std::end(families_of_doctor)}));
  } catch (const std::exception& error) {
    std::cerr << fmt::format("cufault: no records: {}\n", error.what());
    return {};
  }
}

std::map<std::string, std::string> frameworks_in(const std::vector<std::string>& folders) {
  try {
    return answered("known", {{"installed", true}}, folders).get<std::map<std::string, std::string>>();
  } catch (const std::exception&) {
    return {};
  }
}

namespace {

struct doctor_arguments {
  std::vector<std::string> command{};  ///< to run once, as `cufault why` does; may be empty
  bool json = false, strict = false;
  bool verbose = false;  ///< of the command: what `trace` tells, too
};

int run_doctor(const doctor_arguments& arguments) {
  if (!arguments.command.empty()) program_path(arguments.command.front());  // refused before the checks
  machine m = this_machine();
  m.measured = measured_here();
  m.known = issues_of;
  m.packages = frameworks_in({});
  m.loaded = loaded_after_product;
  if (!arguments.command.empty()) m.program = program_of(m, arguments.command.front());
  diagnosis d = examine(all_probes(), m);
  if (!arguments.json) print_findings(std::cout, d);
  if (!arguments.command.empty()) {
    d.command = fmt::format("{}", fmt::join(arguments.command, " "));
    std::set<std::string> libraries;
    std::cout << std::flush;
    const unique_fd own_output(arguments.json ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : -1);
    if (own_output) dup2(STDERR_FILENO, STDOUT_FILENO);  // what is parsed is JSON alone
    d.command_exit_code = present(why_command, build_it_with_headers)(
        {.after = {}, .verbose = arguments.verbose, .command = arguments.command}, &d, &libraries);
    if (own_output) dup2(own_output.get(), STDOUT_FILENO);
    add_loaded(d, {libraries.begin(), libraries.end()});
    if (arguments.verbose && !arguments.json && !libraries.empty())
      std::cout << fmt::format(
          "libraries of the command that called the driver or asked for variables: {}\n\n",
          fmt::join(libraries, " "));
  }
  if (arguments.json)
    print_json(diagnosis_json(d, arguments.strict));
  else
    std::cout << painted(fmt::format("verdict: {}: {}", verdict_of(d), line_of(d)),
                         exit_code(d, arguments.strict) != 0 ? paint::bad
                         : verdict_of(d) == "warning"        ? paint::doubtful
                                                             : paint::good,
                         terminal_of(std::cout))
              << '\n';
  return exit_code(d, arguments.strict);
}

void add_doctor(command_line& line) {
  const auto asked = std::make_shared<doctor_arguments>();
  CLI::App* doctor = line.command(
      "doctor", "Look for what makes CUDA and cuBLAS fail on this machine, without provoking it",
      "With a command after --, runs it once after the checks, and says why it failed, as cufault why does. "
      "Its output is its own.\n"
      "Exit codes: 0 no failure found; 1 something would fail, or the command failed, or with --strict "
      "anything was warned of; 2 no check was run, the command cannot be run, or wrong use. A missing driver "
      "is a warning, and a failure with CUFAULT_REQUIRE_GPU=1 or with a GPU on the PCI bus.",
      [asked, &line] {
        asked->command = line.behind;
        return run_doctor(*asked);
      });
  line.run_another.insert(doctor);
  add_json(doctor, asked->json, "diagnosis");
  doctor->add_flag("--verbose,-v", asked->verbose,
                   "of the command: its driver calls, allocations and environment look-ups, too");
  doctor->add_flag("--strict", asked->strict, "warnings, and checks without an answer, fail");
}

const register_command doctor_here{"doctor", add_doctor, first(section::program_failed, 3)};

}  // namespace
}  // namespace cufault
