// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/cli.hpp"
#include "harness/cli/doctor.hpp"
#include "harness/doctor/diagnosis.hpp"
#include "harness/doctor/library_facts.hpp"
#include "harness/doctor/loader.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <string_view>

namespace cufault {
namespace {

constexpr std::chrono::seconds limit{20};

/// Those that have a function that says it. Other libraries are not loaded for nothing.
bool can_say_its_version(const library_facts& facts) {
  const std::string& name = facts.elf.soname;
  return facts.elf.machine == own_machine() &&
         (name.starts_with("libcublas.so") || name.starts_with("libcublasLt.so") ||
          name.starts_with("libcudart.so"));
}

}  // namespace

int show_library(const library_arguments& arguments) {
  found_library asked{.name = {}, .file = arguments.file, .by = {}};
  if (!arguments.file.has_parent_path() && !std::filesystem::exists(arguments.file)) {
    machine m = this_machine();
    m.program = program_of(m, own_path());  // what `cufault stack` loads is searched for in the same way
    asked = library_named(m, arguments.file);
    constexpr std::string_view program = "the program";
    if (const auto at = asked.by.find(program); at != asked.by.npos)
      asked.by.replace(at, program.size(), "cufault");
  }
  library_facts facts = read_library(asked.file);
  facts.found_by = asked.by;
  library_answers answers;
  if (arguments.load && can_say_its_version(facts))
    answers = ask_library(std::filesystem::absolute(asked.file), limit);
  if (arguments.json) return print_json(library_json(facts, answers));
  print_library(std::cout, facts, answers);
  return 0;
}

}  // namespace cufault
