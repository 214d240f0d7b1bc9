// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// doctor, and the options of library.
#include "harness/cli/doctor.hpp"

#include "harness/cli/cli.hpp"
#include "harness/doctor/diagnosis.hpp"
#include "harness/doctor/loader.hpp"
#include "harness/system/process.hpp"
#include "harness/system/unique_fd.hpp"
#include "reports/base/json_input.hpp"
#include "reports/judge/judge.hpp"
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

constexpr const char* product_command = "load-product";

std::vector<fs::path> loaded_after_product() {
  spawn_options options;
  options.argv = {own_path(), product_command, "--parent", std::to_string(getpid())};
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

/// Likewise.
known_issues_list known_issues_here() {
  try {
    return load_known_issues(known_issues_file());
  } catch (const input_error& error) {
    std::cerr << fmt::format("cufault: no known issues: {}\n", error.what());
    return {};
  }
}

int run_doctor(const doctor_arguments& arguments) {
  if (!arguments.command.empty()) program_path(arguments.command.front());  // refused before the checks
  machine m = this_machine();
  m.measured = measured_here();
  m.known = known_issues_here();
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
    d.command_exit_code = why_command(
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

void add_doctor_commands(command_line& line) {
  const auto asked = std::make_shared<doctor_arguments>();
  CLI::App* doctor = line.command(
      "doctor", "Look for what makes CUDA and cuBLAS fail on this machine, without provoking it",
      "With a command after --, runs it once after the checks, and says why it failed, as cufault why does. "
      "Its output is its own.\n"
      "Exit codes: 0 no failure found; 1 something would fail, or the command failed, or with --strict "
      "anything was warned of; 2 no check was run, the command cannot be run, or wrong use. A missing "
      "driver is a warning, and a failure with CUFAULT_REQUIRE_GPU=1 or with a GPU on the PCI bus.",
      [asked, &line] {
        asked->command = line.behind;
        return run_doctor(*asked);
      });
  add_json(doctor, asked->json, "diagnosis");
  doctor->add_flag("--verbose,-v", asked->verbose,
                   "of the command: its driver calls, allocations and environment look-ups, too");
  doctor->add_flag("--strict", asked->strict, "warnings, and checks without an answer, fail");

  const auto named = std::make_shared<library_arguments>();
  CLI::App* library =
      line.command("library", "Show what a CUDA library's file says: versions, GPU code, variables",
                   codes_of_reading, [named] { return show_library(*named); });
  library
      ->add_option("PATH", named->file,
                   "its path, or its name, as in libcublasLt.so.13, for the one that the loader finds")
      ->required();
  add_json(library, named->json, "library");
  library->add_flag_callback(
      "--no-load", [named] { named->load = false; },
      "do not load it in a process of its own to ask for its version");

  const auto where = std::make_shared<target>();
  line.own_command(product_command, [where] { return serve_product(*where); });
}

}  // namespace cufault
