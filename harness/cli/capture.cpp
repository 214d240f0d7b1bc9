// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault capture -- COMMAND`: harness/injector/capture.cpp writes what the first failing call was given, reports/answers/capture.py makes
// a program of it.
#include "harness/cli/capture.hpp"

#include "harness/cli/answer.hpp"
#include "harness/cli/inject.hpp"
#include "harness/system/temporary_folder.hpp"
#include "harness/system/unique_fd.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <set>

namespace fs = std::filesystem;

namespace cufault {
namespace {

int capture_command(const capture_arguments& arguments, const std::vector<std::string>& words) {
  refuse_if_counted("capture alone");
  const temporary_folder folder("cufault-capture-");
  const fs::path counts = folder.path() / "counts", call = folder.path() / "call";
  passed_command command;
  command.words = words;
  command.left_alone = true;
  command.environment = capture_variables(call, arguments);
  command.environment.merge(watch_variables(folder.path(), counts));
  command.environment["LD_PRELOAD"] = preload_with({"libcufault_why.so"});
  const passed_end end = run_passed(command);
  std::cerr
      << (fs::exists(counts / "loaded")
              ? captured(call, arguments)
              : fmt::format(
                    "cufault capture: nothing was seen: no program of the command loaded the injector: {}\n",
                    why_not_loaded(words.front())));
  return end.as_of_a_shell();
}

fs::path file_of(const capture_arguments& arguments) {
  return fs::absolute(arguments.output.empty() ? "call.cu" : arguments.output);
}

/// Each call has left a byte: in the file "checked", or in one named by why it was not checked.
std::string numbers_checked(const fs::path& folder) {
  std::uintmax_t checked = 0, others = 0;
  std::set<std::string> why;
  std::error_code none;
  for (const auto& each : fs::directory_iterator(folder, none)) {
    const bool is_checked = each.path().filename() == "checked";
    (is_checked ? checked : others) += each.file_size();
    if (!is_checked) why.insert(each.path().filename().string());
  }
  constexpr std::size_t told = 4;
  std::vector<std::string> first(why.begin(), why.end());
  if (first.size() > told) {
    first.resize(told);
    first.push_back(fmt::format("and {} more", why.size() - told));
  }
  return fmt::format("; numbers of {} were checked", plural(checked, "call")) +
         (others == 0 ? "" : fmt::format(", those of {} not: {}", others, fmt::join(first, "; ")));
}

void add_capture(command_line& line) {
  const std::string example = "cufault capture -- ./program";
  const auto said = std::make_shared<capture_arguments>();
  CLI::App* command = line.command(
      "capture", "Run a command, and make one .cu file of its first call of cuBLAS or cuBLASLt that fails",
      "The file has the function, types, extents, leading dimensions, strides, alignment and kind of each "
      "pointer, scalars, settings of the handle, workspace, stream and algorithm; random operands; and what "
      "was not captured. nvcc compiles it alone. Where there is nvcc it is compiled, and where there is a "
      "GPU run in a process of its own: it reproduces, or what the file lacks matters.\n"
      "A call that crashes or hangs is not captured. Reproducing takes as much memory as the operands.\n"
      "--check-numbers compares with float64 sums, within a bound for sums in any order: gemm, its Ex and "
      "StridedBatched forms, gemv, cublasLtMatmul without epilogue and scales; up to eight tiles of 16 by 16 "
      "elements of each: the first, the last, others drawn. Each such call is waited for, before and behind "
      "it, and the host copies and computes. Not checked, and told: other functions, arrays of pointers, "
      "FP8, emulation, streams that record, k beyond 131072, sums that may overflow.\n" +
          passed_exit_codes,
      [said, example, &line] { return capture_command(*said, command_behind(line, example)); });
  command->add_option("-o,--output", said->output, "the file, which is replaced (default: call.cu)")
      ->type_name("FILE")
      ->check(new_file);
  command
      ->add_option("--call", said->call,
                   "the first that fails of this function, by name or glob: cublasLtMatmul")
      ->type_name("FUNCTION")
      ->check(not_empty);
  command->add_flag("--data", said->data,
                    "the operands as they are behind the call, in files beside it, in place of random ones");
  command->add_flag("--check-numbers", said->check_numbers,
                    "a product that is wrong counts as a call that fails; slow, as told below. The file then "
                    "has the operands");
  command->add_flag("--arm", said->arm, "print the skeleton of an arm for cases/ on standard error, too");
  command->add_flag("--no-run", said->no_run, "neither compile nor run it");
  add_command_behind(line, command, example);
}

const register_command capture_here{
    "capture", add_capture, also(section::program_failed, 9), {needs::cuda_header}};

}  // namespace

std::map<std::string, std::string> capture_variables(const fs::path& folder,
                                                     const capture_arguments& arguments) {
  const fs::path file = file_of(arguments);
  const bool is_new = !fs::exists(file);
  if (const unique_fd made(open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0666)); !made)
    throw usage_error(fmt::format("{}: {}", file.string(), std::strerror(errno)));  // before the command runs
  if (is_new) fs::remove(file);
  fs::create_directory(folder);
  std::map<std::string, std::string> all{{"CUFAULT_CAPTURE", folder.string()},
                                         {"CUFAULT_CAPTURE_CALL", arguments.call}};
  if (arguments.data) all["CUFAULT_CAPTURE_DATA"] = "1";
  if (arguments.check_numbers && fs::create_directory(folder / "numbers"))
    all["CUFAULT_CAPTURE_NUMBERS"] = "1";
  return all;
}

std::string captured(const fs::path& folder, const capture_arguments& arguments) {
  const std::string numbers = arguments.check_numbers ? numbers_checked(folder / "numbers") : "";
  if (!fs::exists(folder / "call.json"))
    return fmt::format("cufault capture: {}{}\n",
                       fs::exists(folder / "claimed") ? "the process ended before its failed call was written"
                                                      : "no call of cuBLAS or cuBLASLt failed",
                       numbers);
  const fs::path file = file_of(arguments);
  try {
    const nlohmann::json said = answered("capture",
                                         {{"folder", folder.string()},
                                          {"output", file.string()},
                                          {"arm", arguments.arm},
                                          {"run", !arguments.no_run}},
                                         {});
    std::string text = said.at("arm").get<std::string>() +
                       (numbers.empty() ? "" : fmt::format("cufault capture: {}\n", numbers.substr(2)));
    for (const std::string line : said.at("lines")) text += fmt::format("cufault capture: {}\n", line);
    return text;
  } catch (const std::exception& error) {
    const fs::path kept = file.string() + ".json";
    std::error_code not_kept;
    fs::copy_file(folder / "call.json", kept, fs::copy_options::overwrite_existing, not_kept);
    return fmt::format("cufault capture: a call failed, and no program was made of it: {}{}\n", error.what(),
                       not_kept ? "" : fmt::format("; what was captured: {}", kept.string()));
  }
}

}  // namespace cufault
