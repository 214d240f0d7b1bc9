// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What the commands that read one or more records, or file one, are asked for. Those that compare records: compare_commands.cpp.
#include "harness/cli/command_line.hpp"

namespace cufault {
namespace {

void add_into(CLI::App* command, std::filesystem::path& folder) {
  command
      ->add_option(
          "--into", folder,
          "folder of recorded stacks (default: CUFAULT_BASELINE, or cufault/baseline in XDG_DATA_HOME)")
      ->type_name("DIR")
      ->check(in_existing_folder);
}

void add_taken(CLI::App* command, baseline_arguments& said) {
  command
      ->add_option("RECORD", said.record,
                   "record of a run, a folder of records, or the .tar.gz that ci/record leaves")
      ->required()
      ->check(CLI::ExistingPath);
  command->add_option("CASE", said.names, "cases, or CASE/ARM, in which a * is anything (default: all)");
  command
      ->add_option(
          "--with", said.with,
          "another record of the same stack: its trials count for the rates of arms that race; an arm that "
          "changed is added if it came to the same there; parts of one sweep (sweep --shard) are joined")
      ->allow_extra_args(false)
      ->type_name("RECORD")
      ->check(CLI::ExistingPath);
  add_into(command, said.into);
}

void add_baseline_commands(command_line& line) {
  struct given : baseline_arguments {
    print_form shown;
  };
  const auto said = std::make_shared<given>();
  CLI::App* all = line.command(
      "baseline", "Recorded stacks that later runs are judged by: add, diff, show, remove",
      "An arm that changed is left out unless it was repeated with an equal outcome: in two trials or more, "
      "or in a "
      "second record (--with). Naming CASE/ARM, without a *, adds it all the same.\n"
      "Exit codes: 0; 1 add left something out, or diff found something that it would change; 2 bad input.",
      [said, &line] {
        const CLI::App& asked = *line.app.get_subcommand("baseline");
        if (asked.got_subcommand("predictions"))
          return show_predictions(said->into.empty() ? default_recorded() : said->into, said->shown);
        if (asked.got_subcommand("show")) return show_baselines(baseline_folders(said->into), said->json);
        if (said->into.empty()) said->into = own_baseline();
        if (said->into.empty())
          throw usage_error("neither CUFAULT_BASELINE nor HOME is set: give --into DIR");
        if (asked.got_subcommand("remove")) return remove_from_baseline(*said);
        said->dry = asked.got_subcommand("diff");
        return add_to_baseline(*said);
      });
  all->require_subcommand(1);
  CLI::App* add = all->add_subcommand("add", "File what a record shows, so that later runs are judged by it");
  add_taken(add, *said);
  add->add_flag("--undefined", said->undefined,
                "the outcome of these arms is not defined: they are filed, and no run is judged by them");
  add_json(add, said->json, "baseline-change");
  CLI::App* diff = all->add_subcommand("diff", "Say what `add` would change, and write nothing");
  add_taken(diff, *said);
  add_json(diff, said->json, "baseline-change");
  CLI::App* show =
      all->add_subcommand("show", "List the recorded stacks: your own, and those that come with cufault");
  add_into(show, said->into);
  add_json(show, said->json, "baselines");
  CLI::App* predictions =
      all->add_subcommand("predictions",
                          "Say what an arm that no record of this stack has is predicted from, and how often "
                          "that held: each recorded stack is judged by the others");
  predictions
      ->add_option("--into", said->into, "folder of recorded stacks (default: those that come with cufault)")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  add_form(predictions, said->shown, "predictions");
  CLI::App* remove = all->add_subcommand("remove", "Remove a stack, or arms of it");
  remove->add_option("STACK", said->record, "folder of the stack, as `show` names it")
      ->required()
      ->check(not_empty);
  remove->add_option("CASE", said->names,
                     "cases, or CASE/ARM, in which a * is anything (default: the whole stack)");
  add_into(remove, said->into);
}

/// A command that takes records alone.
void add_reader(command_line& line, const char* name, const char* what,
                int (*show)(const records_to_read& records, print_form form), const char* schema) {
  const auto said = std::make_shared<to_read>();
  CLI::App* command =
      line.command(name, what, codes_of_reading, [said, show] { return show(said->records, *said); });
  add_to_read(command, said->records);
  add_form(command, *said, schema);
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

void add_causes(command_line& line) {
  struct given : to_read {
    std::string status;
    bool all = false, page = false, pages = false;
  };
  const auto said = std::make_shared<given>();
  CLI::App* causes = line.command(
      "causes", "What had happened where a call returned a status, how to check it, and what clears it",
      codes_of_reading, [said] {
        if (said->status.empty() != said->pages)
          throw usage_error("say which status, or --pages; see cufault causes --help");
        if (said->page && said->json) throw usage_error("--page is for people: leave --json out");
        if (said->pages) return show_message_index(*said);
        if (said->page) return show_message_pages(said->status, said->records, *said);
        return show_causes(said->status, said->records, said->all, *said);
      });
  causes->add_flag("--all", said->all, "also every recorded way to make a call return it, and every remedy");
  CLI::Option* page =
      causes->add_flag("--page", said->page,
                       "its page in reports/pages/messages, with code that fails and the same code "
                       "corrected: text on a terminal, else Markdown. "
                       "STATUS may also be the name of a page, or several with commas between them");
  CLI::Option* pages = causes->add_flag("--pages", said->pages, "each message that has a page, and which");
  causes
      ->add_option(
          "STATUS", said->status,
          "as in CUBLAS_STATUS_INTERNAL_ERROR, INTERNAL_ERROR or 14; WRONG_NUMBERS: success with wrong "
          "numbers")
      ->check(not_empty);
  page->excludes(pages);
  add_to_read(causes, said->records);
  add_form(causes, *said, "causes", ", with all tables");
}

void add_explain(command_line& line) {
  const auto said = std::make_shared<explain_arguments>();
  CLI::App* explain = line.command(
      "explain", "What can have caused the failure in a log, by records of failures",
      "Exit codes: 0 with causes; 4 no failure of a GPU library is in it, or no cause of it is known; 2 bad "
      "input.\n"
      "A message as arguments, a log as a file, or a log on standard input: ./program 2>&1 | cufault "
      "explain "
      "The driver's error log (CUDA_LOG_FILE) is read, too, alone or mixed into another log.",
      [said] { return explain_logs(*said); });
  explain->add_option(
      "TEXT|FILE", said->words,
      "a message, or logs; - or nothing: standard input. Several logs are explained one by one");
  add_to_read_as_option(explain, said->records, " to rank by");
  add_json(explain, said->json, "explanation", "; of several logs one object a line");
  explain->add_flag(
      "--more", said->more,
      "all of the answer: each cause with the words that speak for it, its records, and what was tried");
  explain->add_flag("--no-machine", said->no_machine,
                    "do not look at this machine, as doctor does where there is a driver; a log that names "
                    "another GPU or driver is explained without it anyway");
}

void add_atlas(command_line& line) {
  struct given : to_read {
    bool overview = false, nature = false;
  };
  const auto said = std::make_shared<given>();
  CLI::App* atlas = line.command(
      "atlas", "Which driver failures lead to which status, from the records of sweeps", codes_of_reading,
      [said] { return show_atlas(said->records, said->overview, said->nature, *said); });
  add_to_read(atlas, said->records);
  CLI::Option* overview = atlas->add_flag("--overview", said->overview, "one line an operation");
  atlas
      ->add_flag("--nature", said->nature,
                 "where the driver named the call that failed inside of a recorded one: did the same "
                 "failure, injected, lead to the same status?")
      ->excludes(overview);
  add_form(atlas, *said, "atlas");
}

void add_messages(command_line& line) {
  struct given : to_read {
    std::string text;
  };
  const auto said = std::make_shared<given>();
  CLI::App* messages = line.command(
      "messages",
      "What the driver's error log says, what had happened, and which statuses stood in front of it",
      "Exit codes: 0; 4 no recorded message holds TEXT; 2 bad input.",
      [said] { return show_messages(said->text, said->records, *said); });
  messages
      ->add_option("TEXT", said->text,
                   "only messages that hold this text: words, a function, CUDA_ERROR_LAUNCH_FAILED, 719, or "
                   "a line of CUDA_LOG_FILE (default: all)")
      ->type_name("");
  add_to_read_as_option(messages, said->records);
  add_form(messages, *said, "messages");
}

/// --json beside --format.
void add_json_format(CLI::App* command, std::string& format, const char* schema) {
  command
      ->add_flag_callback(
          "--json", [&format] { format = "json"; }, fmt::format("as --format json ({}.schema.json)", schema))
      ->excludes(command->get_option("--format"));
}

void add_matrix(command_line& line) {
  const auto said = std::make_shared<matrix_arguments>();
  CLI::App* matrix = line.command(
      "matrix", "What every operation came to under every fault, what that depends on, and what remedies did",
      "Exit codes: 0; 2 bad input; 77 no record has a cell of the matrix.",
      [said] { return show_matrix(*said); });
  add_to_read(matrix, said->records);
  matrix->add_option("--fault", said->fault, "only this fault; a * is anything: 'kernel_*'")
      ->type_name("FAULT")
      ->check(not_empty);
  matrix
      ->add_option("--operation", said->operation,
                   "only this operation, or function, under every fault: sgemm_64, cublasSgemm")
      ->type_name("OPERATION")
      ->check(not_empty);
  matrix->add_option("--remedy", said->remedy, "what this remedy did; a * is anything")
      ->type_name("REMEDY")
      ->check(not_empty);
  matrix->add_option("--stack", said->stack, "only stacks whose name has this text: 'cuBLAS 13.1.0'")
      ->type_name("TEXT")
      ->check(not_empty);
  matrix
      ->add_option("--by", said->by,
                   "only cells that differ between stacks, by keys of `cufault stack --json`: cublas,gpu")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("KEY,...")
      ->check(not_empty);
  matrix->add_option("--format", said->format, "csv and json have a line or an object for each cell")
      ->check(CLI::IsMember({"text", "markdown", "csv", "json"}))
      ->capture_default_str();
  add_json_format(matrix, said->format, "matrix");
}

void add_cost(command_line& line) {
  const auto said = std::make_shared<cost_arguments>();
  CLI::App* cost =
      line.command("cost", "What remedies cost in time and device memory, from the records of remedy_cost",
                   "Exit codes: 0; 2 bad input; 77 not measured yet.", [said] { return show_costs(*said); });
  add_to_read(cost, said->records, "records of remedy_cost, or folders of stacks that have a cost.jsonl");
  cost->add_option("--remedy", said->remedy,
                   "only this remedy, on each kind of work; a * is anything: 'workspace_*'")
      ->type_name("REMEDY")
      ->check(not_empty);
  cost->add_flag("--all", said->all_work,
                 "each kind of work, too; csv and json always have a line or an object for each");
  cost->add_option("--format", said->format, "svg: a picture")
      ->check(CLI::IsMember({"text", "markdown", "csv", "json", "svg"}))
      ->capture_default_str();
  add_json_format(cost, said->format, "cost");
}

}  // namespace

void add_record_commands(command_line& line) {
  add_baseline_commands(line);
  add_reader(line, "claims", "Each claim of the source documents, its verdict, and the arms behind it",
             show_claims, "claims");
  for (const auto add : {add_show, add_causes, add_explain, add_messages}) add(line);
  add_reader(line, "frameworks",
             "What a user of PyTorch, JAX or CuPy sees, what had happened, and what cleared it",
             show_frameworks, "frameworks");
  for (const auto add : {add_atlas, add_matrix, add_cost}) add(line);
  add_reader(line, "compare-injected",
             "Injected counterparts of fault arms: do they come to what the natural arms came to?",
             show_counterparts, "counterparts");
}

}  // namespace cufault
