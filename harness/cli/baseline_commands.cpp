// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What baseline is asked for.
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

}  // namespace

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

}  // namespace cufault
