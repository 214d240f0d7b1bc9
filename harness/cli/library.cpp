// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/cli.hpp"
#include "harness/cli/doctor.hpp"
#include "harness/doctor/diagnosis.hpp"
#include "harness/doctor/library_facts.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <string>

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
  const library_facts facts = read_library(arguments.file);
  library_answers answers;
  if (arguments.load && can_say_its_version(facts))
    answers = ask_library(std::filesystem::absolute(arguments.file), limit);
  if (arguments.json)
    std::cout << library_json(facts, answers).dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
              << '\n';
  else
    print_library(std::cout, facts, answers);
  return 0;
}

}  // namespace cufault
