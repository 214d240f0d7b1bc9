// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What this program starts itself as; no help names it.
#include "harness/cli/command_line.hpp"
#include "harness/system/mps_keeper.hpp"

namespace cufault {
namespace {

void add_trial(command_line& line) {
  const auto said = std::make_shared<trial_arguments>();
  CLI::App* trial = line.own_command("trial", [said] { return serve_trial(*said); });
  trial->add_option("CASE", said->case_name)->required();
  trial->add_option("ARM", said->arm)->required();
  trial->add_option("--level", said->level);
  trial->add_option("--seed", said->seed);
  trial->add_option("--stage", said->stage);
  add_target(trial, said->where);
}

void add_trials_command(command_line& line) {
  struct given {
    target where;
    bool gpu = false;
  };
  const auto said = std::make_shared<given>();
  CLI::App* trials =
      line.own_command("trials", [said] { return serve_shared_trials(said->where, said->gpu); });
  trials->add_flag("--gpu", said->gpu);
  add_target(trials, said->where);
}

void add_other_process(command_line& line) {
  struct given {
    int device = 0;
    std::uint64_t leave_free = 0;
  };
  const auto said = std::make_shared<given>();
  CLI::App* other_process = line.own_command(
      "other-process", [said] { return serve_other_process(said->device, said->leave_free); },
      /*outlives_thread=*/true);
  other_process->add_option("--device", said->device);
  other_process->add_option("--leave-free", said->leave_free)->required();
}

void add_neighbour(command_line& line) {
  struct given {
    int device = 0;
    std::string fault;
  };
  const auto said = std::make_shared<given>();
  CLI::App* neighbour = line.own_command(
      "neighbour", [said] { return serve_neighbour(said->device, said->fault); },
      /*outlives_thread=*/true);
  neighbour->add_option("--device", said->device);
  neighbour->add_option("--fault", said->fault)->required();
}

void add_probe(command_line& line) {
  const auto where = std::make_shared<target>();
  add_target(line.own_command("probe-stack", [where] { return serve_probe(*where); }), *where);
}

}  // namespace

void add_own_commands(command_line& line) {
  for (const auto add : {add_trial, add_trials_command, add_other_process, add_neighbour, add_probe})
    add(line);
  line.own_command(
      "keep-mps", [] { return keep_mps_daemon(); }, /*outlives_thread=*/true);
  line.own_command("hold-driver", serve_driver_hold);
  line.command("make-answers", "", "", make_answers)->group("");  // by the build
}

}  // namespace cufault
