// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault capture -- COMMAND`: harness/injector/capture.cpp writes what the first failing call was given, reports/answers/capture.py makes
// a program of it.
#include "harness/cli/capture.hpp"

#include "harness/cli/answer.hpp"
#include "harness/cli/inject.hpp"
#include "harness/system/temporary_folder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>

namespace fs = std::filesystem;

namespace cufault {
namespace {

int capture_command(const capture_arguments& arguments, const std::vector<std::string>& words) {
  if (!variable("CUFAULT_COUNTS").empty())
    throw usage_error("another cufault counts the calls of this process (CUFAULT_COUNTS); capture alone");
  const temporary_folder folder("cufault-capture-");
  passed_command command;
  command.words = words;
  command.left_alone = true;
  command.environment = capture_variables(folder.path() / "call", arguments);
  for (const auto& [variable, name] : {std::pair{"CUFAULT_WATCH", "watch"}, {"CUFAULT_COUNTS", "counts"}}) {
    fs::create_directory(folder.path() / name);  // which calls were made before
    command.environment[variable] = (folder.path() / name).string();
  }
  command.environment["LD_PRELOAD"] = preload_with({"libcufault_why.so"});
  const passed_end end = run_passed(command);
  const bool loaded = fs::exists(folder.path() / "counts" / "loaded");
  std::cerr << (loaded ? captured(folder.path() / "call", arguments)
                       : "cufault capture: nothing was seen: no program of the command loaded cufault's "
                         "library (static, "
                         "setuid, another C library)\n");
  return end.as_of_a_shell();
}

void add_capture(command_line& line) {
  const std::string example = "cufault capture -- ./program";
  const auto said = std::make_shared<capture_arguments>();
  CLI::App* command = line.command(
      "capture", "Run a command, and make one .cu file of its first call of cuBLAS or cuBLASLt that fails",
      "The file has the function, types, extents, leading dimensions, strides, alignment and kind of each "
      "pointer, scalars, settings of the handle, workspace, stream and algorithm; random operands; and what "
      "was not "
      "captured. nvcc compiles it alone. Where there is nvcc it is compiled, and where there is a GPU run in "
      "a "
      "process of its own: it reproduces, or the state before matters.\n"
      "A call that crashes or hangs is not captured. Reproducing takes as much memory as the operands.\n"
      "Exit codes: the command's; 128 and N where signal N ended it; 2 wrong use; 126 it cannot be executed; "
      "127 it is not found.",
      [said, example, &line] { return capture_command(*said, command_behind(line, example)); });
  command->add_option("-o,--output", said->output, "the file (default: call.cu)")
      ->type_name("FILE")
      ->check(new_file);
  command
      ->add_option("--call", said->call,
                   "the first that fails of this function, by name or glob: cublasLtMatmul")
      ->type_name("FUNCTION")
      ->check(not_empty);
  command->add_flag("--data", said->data,
                    "the operands as they are behind the call, in files beside it, in place of random ones");
  command->add_flag("--arm", said->arm, "print the skeleton of an arm for cases/ on standard error, too");
  command->add_flag("--no-run", said->no_run, "neither compile nor run it");
  add_command_behind(line, command, example);
}

const register_command capture_here{
    "capture", add_capture, also(section::program_failed, 9), {needs::cuda_header}};

}  // namespace

std::map<std::string, std::string> capture_variables(const fs::path& folder,
                                                     const capture_arguments& arguments) {
  fs::create_directory(folder);
  std::map<std::string, std::string> all{{"CUFAULT_CAPTURE", folder.string()},
                                         {"CUFAULT_CAPTURE_CALL", arguments.call}};
  if (arguments.data) all["CUFAULT_CAPTURE_DATA"] = "1";
  return all;
}

std::string captured(const fs::path& folder, const capture_arguments& arguments) {
  if (!fs::exists(folder / "call.json"))
    return fs::exists(folder / "claimed")
               ? "cufault capture: the process ended before its failed call was written\n"
               : "cufault capture: no call of cuBLAS or cuBLASLt failed\n";
  const fs::path file = fs::absolute(arguments.output.empty() ? "call.cu" : arguments.output);
  try {
    const nlohmann::json said = answered("capture",
                                         {{"folder", folder.string()},
                                          {"output", file.string()},
                                          {"arm", arguments.arm},
                                          {"run", !arguments.no_run}},
                                         {});
    std::string text = said.at("arm");
    for (const std::string line : said.at("lines")) text += fmt::format("cufault capture: {}\n", line);
    return text;
  } catch (const std::exception& error) {
    return fmt::format("cufault capture: a call failed, and no program was made of it: {}\n", error.what());
  }
}

}  // namespace cufault
