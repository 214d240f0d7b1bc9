// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/stack.hpp"

#include "harness/cli/command_line.hpp"
#include "harness/doctor/diagnosis.hpp"
#include "harness/doctor/library_facts.hpp"
#include "harness/doctor/loader.hpp"
#include "harness/system/process.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct stack_arguments {
  target where;
  fs::path file;  ///< of a library; empty: the machine
  bool json = false;
  bool load = true;  ///< ask the library itself for its version
};

int show_stack(const stack_arguments& arguments) {
  const interrupt_guard guard;
  const nvml management;
  nlohmann::json stack = read_stack(own_path(), arguments.where, management, guard.descriptor());
  if (arguments.json) {
    stack["schema"] = 1;
    print_json(stack);
  } else {
    print_stack(std::cout, stack);
  }
  return stack.value("error", std::string()).empty() ? 0 : exit_unresolved;
}

constexpr std::chrono::seconds limit{20};

/// Those that have a function that says it. Other libraries are not loaded for nothing.
bool can_say_its_version(const library_facts& facts) {
  const std::string& name = facts.elf.soname;
  return facts.elf.machine == own_machine() &&
         (name.starts_with("libcublas.so") || name.starts_with("libcublasLt.so") ||
          name.starts_with("libcudart.so"));
}

int show_library(const stack_arguments& arguments) {
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

void add_stack(command_line& line) {
  const auto said = std::make_shared<stack_arguments>();
  CLI::App* stack = line.command(
      "stack",
      "What this machine is: GPU, driver, runtime, cuBLAS, where each was loaded from, and what its file "
      "says; or what the file of one library says",
      "Exit codes: 0, with a GPU or without; 2 a library cannot be loaded, or bad input; 130 interrupted.",
      [said] { return said->file.empty() ? show_stack(*said) : show_library(*said); });
  stack->alias("library");  // its name before both were one
  CLI::Option* const file =
      stack->add_option("LIBRARY", said->file,
                        "tell of this CUDA library alone: versions, GPU code, variables. Its path, or its "
                        "name, as in libcublasLt.so.13, for the one that the loader finds");
  add_json(stack, said->json, "machine.schema.json, of a LIBRARY library");
  stack
      ->add_flag_callback(
          "--no-load", [said] { said->load = false; },
          "do not load LIBRARY in a process of its own to ask for its version")
      ->needs(file);
  add_target(stack, said->where);
}

const register_command stack_here{"stack", add_stack, also(section::program_failed, 10)};

}  // namespace
}  // namespace cufault
