// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What CTest asks for around cases.
#include "harness/cli/command_line.hpp"

#include <limits>

namespace cufault {
namespace {

void add_preflight(command_line& line) {
  struct given {
    target where;
    std::filesystem::path records = "records", resources;
  };
  const auto said = std::make_shared<given>();
  CLI::App* preflight_command =
      line.command("preflight", "For CTest: is there a GPU?",
                   "Exit codes: 0 there is one; 1 there is none, and one is required; 2 a library cannot be "
                   "loaded, or bad input; 77 there is none.",
                   [said] { return preflight(said->where, said->records, said->resources); });
  preflight_command->add_option("--records", said->records, "folder of the records")->type_name("DIR");
  preflight_command
      ->add_option("--resources", said->resources, "write the GPUs that are here as a resource spec file")
      ->type_name("FILE");
  add_target(preflight_command, said->where);
}

void add_resources(command_line& line) {
  struct given {
    target where;
    std::filesystem::path file;
  };
  const auto said = std::make_shared<given>();
  CLI::App* resources =
      line.command("resources", "For CTest: the GPUs that are here, as a resource spec file",
                   "ctest --resource-spec-file FILE then gives each case a GPU. From CMake 3.28 on the "
                   "presets do so by themselves.\nExit codes: 0; 1 no GPU, and one is required; 2 a library "
                   "cannot be loaded, or bad input; 77 there is no GPU (the file has one named none).",
                   [said] { return write_resources(said->where, said->file); });
  resources->add_option("FILE", said->file, "where to write it (default: standard output)");
  add_libraries(resources, said->where);
}

void add_floor(command_line& line) {
  struct given {
    std::filesystem::path records = "records";
    int at_least = 1;
  };
  const auto said = std::make_shared<given>();
  CLI::App* floor = line.command(
      "floor", "For CTest: were enough cases executed since the preflight, and nothing left behind?",
      "Exit codes: 0 they were; 1 too few, or something was left behind; 2 no preflight has run, or bad "
      "input.",
      [said] { return check_floor(said->records, said->at_least); });
  floor->add_option("--records", said->records, "folder of the records")->type_name("DIR");
  floor->add_option("--at-least", said->at_least, "cases that must have been executed")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->envname("CUFAULT_FLOOR")
      ->capture_default_str();
}

}  // namespace

void add_ctest_commands(command_line& line) {
  for (const auto add : {add_preflight, add_resources, add_floor}) add(line);
}

}  // namespace cufault
