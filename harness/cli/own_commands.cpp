// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What this program starts itself as; no help names it.
#include "harness/cli/command_line.hpp"
#include "harness/system/mps_keeper.hpp"

namespace cufault {
namespace {

void add_trial(command_line& line) {
  struct given {
    trial_arguments one;
    std::int64_t level = 0;
    CLI::Option* has_level = nullptr;
  };
  const auto said = std::make_shared<given>();
  CLI::App* trial = line.own_command("trial", [said] {
    if (said->has_level->count() > 0) said->one.level = said->level;
    return serve_trial(said->one);
  });
  trial->add_option("CASE", said->one.case_name)->required();
  trial->add_option("ARM", said->one.arm)->required();
  said->has_level = trial->add_option("--level", said->level);
  trial->add_option("--seed", said->one.seed);
  trial->add_option("--stage", said->one.stage);
  add_target(trial, said->one.where);
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

void add_mps_keeper(command_line& line) {
  line.own_command(
      "keep-mps", [] { return keep_mps_daemon(); }, /*outlives_thread=*/true);
}

void add_driver_hold(command_line& line) {
  line.own_command("hold-driver", [] { return serve_driver_hold(); });
}

void add_probe(command_line& line) {
  struct given {
    target where;
  };
  const auto said = std::make_shared<given>();
  CLI::App* probe = line.own_command("probe-stack", [said] { return serve_probe(said->where); });
  add_target(probe, said->where);
}

}  // namespace

void add_own_commands(command_line& line) {
  for (const auto add : {add_trial, add_trials_command, add_other_process, add_neighbour, add_mps_keeper,
                         add_driver_hold, add_probe})
    add(line);
}

}  // namespace cufault
