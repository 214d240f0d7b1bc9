// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/atlas.hpp"

#include "harness/cli/answer.hpp"

#include <nlohmann/json.hpp>

#include <iostream>
#include <vector>

namespace cufault {
namespace {

int show_atlas(const records_to_read& records, bool overview, print_form form) {
  const auto atlas =
      atlas_tables(load_judged(records), overview ? atlas_extent::overview : atlas_extent::all);
  if (atlas.empty()) throw usage_error("no sweep is among these records; `cufault sweep` makes them");
  if (form.json) return print_json(to_json(atlas));
  print_atlas(std::cout, atlas, form.style());
  return 0;
}

void add_atlas(command_line& line) {
  struct given : to_read {
    bool overview = false, nature = false;
  };
  const auto said = std::make_shared<given>();
  CLI::App* atlas = line.command(
      "atlas", "Which driver failures lead to which status, from the records of sweeps", codes_of_reading,
      [said](CLI::App& asked) {
        return said->nature ? answer("nature", asked) : show_atlas(said->records, said->overview, *said);
      });
  add_to_read(atlas, said->records);
  CLI::Option* overview = atlas->add_flag("--overview", said->overview, "one line an operation");
  atlas
      ->add_flag("--nature", said->nature,
                 "where the driver named the call that failed inside of a recorded one: did the same "
                 "failure, injected, lead to the same status?")
      ->excludes(overview);
  add_form(atlas, *said, "atlas");
}

const register_command atlas_here{"atlas", add_atlas, also(section::more, 3)};

}  // namespace
}  // namespace cufault
