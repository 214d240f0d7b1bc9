// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Commands that Python programs of reports/answers answer: their names and options.
#include "harness/cli/answer.hpp"

#include <string>
#include <vector>

namespace cufault {
namespace {

void add_frameworks(command_line& line) {
  add_answer(line, "frameworks",
             "What a user of PyTorch, JAX or CuPy sees, what had happened, and what cleared it",
             codes_of_reading, "frameworks");
}

void add_claims(command_line& line) {
  add_answer(line, "claims", "Each claim of the source documents, its verdict, and the arms behind it",
             codes_of_reading, "claims");
}

void add_cost(command_line& line) {
  CLI::App* const cost = add_bare_answer(
      line, "cost", "What remedies cost in time and device memory, from the records of remedy_cost",
      "Exit codes: 0; 2 bad input; 77 not measured yet.");
  cost->get_option("RECORD")->description(
      "records of remedy_cost, or folders of stacks that have a cost.jsonl (default: those that come with "
      "cufault)");
  add_passed_on(cost, "--remedy", "REMEDY",
                "only this remedy, on each kind of work; a * is anything: 'workspace_*'");
  add_passed_flag(cost, "--all",
                  "each kind of work, too; csv and json always have a line or an object for each");
  CLI::Option* const format = add_passed_on(cost, "--format", "svg: a picture (default: text)")
                                  ->check(CLI::IsMember({"text", "markdown", "csv", "json", "svg"}));
  add_passed_flag(cost, "--json", "as --format json (cost.schema.json)")->excludes(format);
}

void add_messages(command_line& line) {
  CLI::App* const messages = line.command(
      "messages",
      "What the driver's error log says, what had happened, and which statuses stood in front of it",
      "Exit codes: 0; 4 no recorded message holds TEXT; 2 bad input.",
      [](CLI::App& asked) { return answer("messages", asked); });
  messages
      ->add_option_function<std::string>(
          "TEXT", [](const std::string&) {},
          "only messages that hold this text: words, a function, CUDA_ERROR_LAUNCH_FAILED, 719, or a line of "
          "CUDA_LOG_FILE (default: all)")
      ->type_name("");
  add_passed_records(messages);
  add_passed_form(messages, "messages");
}

void add_table(command_line& line) {
  CLI::App* const table = add_bare_answer(
      line, "table",
      "All recorded arms as rows of a table, with what was judged of each: SQLite, CSV or JSON Lines",
      codes_of_reading);
  add_passed_on(table, "-o,--output", "FILE", "the SQLite file; its view of arms is called arms");
  add_passed_on(table, "--format", "csv and jsonl: on standard output (default: sqlite)")
      ->check(CLI::IsMember({"sqlite", "csv", "jsonl"}));
  add_passed_flag(table, "--columns", "what each column is");
}

void add_matrix(command_line& line) {
  CLI::App* const matrix = add_bare_answer(
      line, "matrix",
      "What every operation came to under every fault, what that depends on, and what remedies did",
      "Exit codes: 0; 2 bad input; 77 no record has a cell of the matrix.");
  add_passed_on(matrix, "--fault", "FAULT", "only this fault; a * is anything: 'kernel_*'");
  add_passed_on(matrix, "--operation", "OPERATION",
                "only this operation, or function, under every fault: sgemm_64, cublasSgemm");
  add_passed_on(matrix, "--remedy", "REMEDY", "what this remedy did; a * is anything");
  add_passed_on(matrix, "--stack", "TEXT", "only stacks whose name has this text: 'cuBLAS 13.1.0'");
  add_passed_on<std::vector<std::string>>(
      matrix, "--by", "KEY,...",
      "only cells that differ between stacks, by keys of `cufault stack --json`: cublas,gpu")
      ->delimiter(',');
  CLI::Option* const format =
      add_passed_on(matrix, "--format", "csv and json have a line or an object for each cell")
          ->check(CLI::IsMember({"text", "markdown", "csv", "json"}))
          ->default_str("text");
  add_passed_flag(matrix, "--json", "as JSON (matrix.schema.json), as --format json")->excludes(format);
}

const register_command claims_here{"claims", add_claims, also(section::more, 1)};
const register_command cost_here{"cost", add_cost, also(section::more, 5)};
const register_command frameworks_here{"frameworks", add_frameworks, also(section::program_failed, 7)};
const register_command messages_here{"messages", add_messages, also(section::program_failed, 6)};
const register_command table_here{"table", add_table, also(section::more, 2)};
const register_command matrix_here{"matrix", add_matrix, also(section::more, 4)};

}  // namespace
}  // namespace cufault
