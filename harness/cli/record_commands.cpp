// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What the commands that read one or more records are asked for. Those that file or compare records: baseline.cpp, compare_commands.cpp.
#include "harness/cli/answer.hpp"
#include "harness/cli/command_line.hpp"

namespace cufault {
namespace {

/// A command that takes records alone.
void add_reader(command_line& line, const char* name, const char* what,
                int (*show)(const records_to_read& records, print_form form), const char* schema) {
  const auto said = std::make_shared<to_read>();
  CLI::App* command =
      line.command(name, what, codes_of_reading, [said, show] { return show(said->records, *said); });
  add_to_read(command, said->records);
  add_form(command, *said, schema);
}

/// A command that reports/answers/NAME.py answers.
CLI::App* add_answer(command_line& line, const char* name, const char* what, const std::string& codes,
                     const char* schema) {
  const auto app = std::make_shared<CLI::App*>();
  const auto said = std::make_shared<to_read>();
  *app = line.command(name, what, codes, [app, said, name] { return answer(name, **app); });
  add_to_read(*app, said->records);
  add_form(*app, *said, schema);
  return *app;
}

void add_table(command_line& line) {
  const auto app = std::make_shared<CLI::App*>();
  const auto said = std::make_shared<to_read>();
  CLI::App* table = *app = line.command(
      "table",
      "All recorded arms as rows of a table, with what was judged of each: SQLite, CSV or JSON Lines",
      codes_of_reading, [app, said] { return answer("table", **app); });
  add_to_read(table, said->records);
  add_passed_on(table, "-o,--output", "the SQLite file; its view of arms is called arms")->type_name("FILE");
  add_passed_on(table, "--format", "csv and jsonl: on standard output (default: sqlite)")
      ->check(CLI::IsMember({"sqlite", "csv", "jsonl"}));
  table->add_flag("--columns", said->json, "what each column is, as Markdown");
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
      "Exit codes: 0 with causes; 4 no failure of a GPU library is in it, it is not understood, or no cause "
      "of it is known; 2 bad "
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

}  // namespace

void add_record_commands(command_line& line) {
  add_baseline_commands(line);
  add_reader(line, "claims", "Each claim of the source documents, its verdict, and the arms behind it",
             show_claims, "claims");
  for (const auto add : {add_show, add_causes, add_explain, add_messages, add_table}) add(line);
  add_answer(line, "frameworks",
             "What a user of PyTorch, JAX or CuPy sees, what had happened, and what cleared it",
             codes_of_reading, "frameworks");
  for (const auto add : {add_atlas, add_matrix, add_cost}) add(line);
  add_reader(line, "compare-injected",
             "Injected counterparts of fault arms: do they come to what the natural arms came to?",
             show_counterparts, "counterparts");
}

}  // namespace cufault
