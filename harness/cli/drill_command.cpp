// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault drill` and `cufault ctl` are asked for; reports/answers/drill.py answers.
#include "harness/cli/answer.hpp"

namespace cufault {
namespace {

using texts = std::vector<std::string>;

CLI::Option* add_time(CLI::App* command, const char* name, const char* what, const char* by_default) {
  const auto seconds = [name](const std::string& text) { return fmt::format("{}", seconds_of(name, text)); };
  CLI::Option* const time = add_passed_on(command, name, "TIME", what)->transform(seconds);
  if (*by_default != '\0') time->default_str(by_default);
  return time;
}

constexpr const char* about_faults =
    "Names: exception (Xid 13), illegal_address (31), stopped (43), ecc (48), nvlink (74), off_the_bus (79), "
    "contained (94), uncontained (95): every call in the context returns the code. out_of_memory: "
    "allocations of device memory and of pinned memory fail. hang: waits, copies and frees do not return. "
    "nccl_peer_lost: collectives return ncclRemoteError. wrong_numbers: one element of each product of one "
    "matrix, of cuBLAS, is changed. xid31 is illegal_address, and so on.\n"
    "No GPU is made to fail: rules answer the calls. Codes of Xid 13, 31 and 43 are as recorded on an H200; "
    "what returns behind the others is not recorded: their codes are chosen by their words in cuda.h.\n";

/// `line_of` tells whether the reader gets the command behind --, or throws usage_error.
CLI::App* add_fault_command(command_line& line, const char* name, const char* what, const char* about,
                            std::function<const command_line*(const CLI::App&)> line_of) {
  CLI::App* const command = line.command(
      name, what, std::string(about_faults) + about,
      [line_of = std::move(line_of)](CLI::App& asked) { return answer("drill", asked, line_of(asked)); });
  add_passed_on(command, "--as", "NAME", "a fault by name or Xid: see below");
  add_passed_on<texts>(command, "--fail", "TEXT",
                       "FUNCTION[:N[+]|:PATTERN]=CODE, as of cufault inject; may be given again");
  return command;
}

void add_drill(command_line& line) {
  const std::string example =
      "cufault drill --as illegal_address --after-ready http://127.0.0.1:8000/health --probe "
      "http://127.0.0.1:8000/work -- ./server";
  CLI::App* const drill = add_fault_command(
      line, "drill", "See if a server whose GPU fails ends, or lives as a zombie",
      "The server runs under cufault inject. When three probes were answered, calls fail in the process that "
      "uses the GPU, and not in what it starts later. At the end none of its processes is left.\n"
      "ends: its first process ended. recovers: right answers for 5 s, or for a third of --expect-exit if "
      "that is less. says so: --health is not 2xx. zombie: it lives, --health is 2xx or there is none, and "
      "probes fail. wrong answers: 2xx, and another answer than before; where answers differ without a "
      "fault, other names in their JSON, or another value of a name that had not changed.\n"
      "Exit codes: 0 it ends, recovers or says so; 1 zombie or wrong answers; 2 it could not be drilled: "
      "wrong use, never ready, nothing failed, or answers without a GPU; 130 interrupted.",
      [&line, example](const CLI::App& app) {
        command_behind(line, example);
        if (app.count("--probe") == 0) throw usage_error("--probe is required; see cufault drill --help");
        return &line;
      });
  add_passed_on(drill, "--probe", "URL", "address of a request that needs the GPU: answers are compared");
  add_passed_on(drill, "--data", "TEXT", "what is posted to --probe, as JSON (default: a GET)");
  add_passed_on(drill, "--answer", "PATTERN", "a regular expression that a right answer to --probe matches");
  add_passed_on(
      drill, "--health", "URL",
      "address that says by its status whether the server is well (default: that of --after-ready)");
  add_passed_on(drill, "--after-ready", "URL|PATTERN",
                "the server is ready when this address answers 2xx, or when it prints this regular "
                "expression (default: when --probe does)");
  add_time(drill, "--after", "wait so long before the fault, once it is ready", "");
  add_time(drill, "--ready-within", "give up where it is not ready after so long", "600");
  add_time(drill, "--expect-exit", "watch for so long after the fault", "30");
  add_time(drill, "--probe-timeout", "a request without an answer after so long has failed", "10");
  add_passed_on(drill, "--ranks", "'K of N'",
                "hit these ranks of a job, by RANK or LOCAL_RANK of its processes: '2 of 8' draws two");
  add_passed_on<std::int64_t>(drill, "--seed", "of the ranks that are drawn")->default_str("0");
  add_passed_flag(drill, "--every-process", "hit all processes that use the GPU");
  add_passed_on(drill, "--junit", "FILE", "write the verdict as JUnit, too")->check(new_file);
  add_passed_flag(drill, "--json",
                  "as JSON (drill.schema.json); what the server prints is on standard error");
  add_command_behind(line, drill, example);
}

void add_ctl(command_line& line) {
  CLI::App* const ctl = add_fault_command(
      line, "ctl", "Change what fails in a running process that was started with cufault inject --rules FILE",
      "It writes that FILE; the process reads it within 0.2 s. Rules of other processes in it stay. Rules "
      "for functions of a library need `cufault inject --library NAME` at the start.\n"
      "Exit codes: 0 written; 2 wrong use or a wrong rule, or no such process.",
      [](const CLI::App&) { return nullptr; });
  ctl->add_option_function<std::string>(
         "PID", [](const std::string&) {}, "the process in which calls fail, and none that it forks")
      ->required();
  add_passed_on(ctl, "--rules", "FILE", "the rules of this file, in place of those of this process")
      ->check(CLI::ExistingFile);
  add_passed_flag(ctl, "--clear", "end the rules of this process; sticky errors end with their rule");
  add_passed_flag(ctl, "--shared-gpu", "start kernels that fail although other processes use a GPU");
}

const register_command drill_here{
    "drill", add_drill, first(section::does_it_survive, 3), {needs::cuda_header}};
const register_command ctl_here{"ctl", add_ctl, also(section::does_it_survive, 4), {needs::cuda_header}};

}  // namespace
}  // namespace cufault
