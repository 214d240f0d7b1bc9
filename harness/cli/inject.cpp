// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/inject.hpp"

#include "harness/cli/command_line.hpp"
#include "harness/doctor/loader.hpp"
#include "harness/injector/counts_reader.hpp"
#include "harness/injector/faultinj.hpp"
#include "harness/injector/replay.hpp"
#include "harness/injector/rules.hpp"
#include "harness/run/nvml.hpp"
#include "harness/system/bundled_file.hpp"
#include "harness/system/child.hpp"
#include "harness/system/temporary_folder.hpp"
#include "harness/system/unique_fd.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr int exit_too_few = 3;

/// Becomes the command. Returns only where that fails.
[[noreturn]] void become(const std::vector<std::string>& command) {
  std::cout.flush();
  execvp(command.front().c_str(), pointers_to(command).data());
  throw usage_error(fmt::format("{}: {}", command.front(), std::strerror(errno)),
                    errno == ENOENT ? exit_not_found : exit_not_executable);
}

std::string why_never_acted(const injector::rule& r, const injector::counted& counts) {
  const bool of_runtime = r.of != nullptr && r.of == injector::library_named("cudart");
  bool any_of_library = false;
  std::uint64_t most = 0;  // in one process, which is what a rule counts
  for (const auto& functions : counts.by_program) {
    std::uint64_t calls = 0;
    for (const auto& [function, times] : functions) {
      const bool same = injector::library_of(function) == r.of;
      any_of_library |= same;
      if (same && injector::is_for_function(r, injector::function_name{function})) calls += times;
    }
    most = std::max(most, calls);
  }
  if (r.does == injector::effect::budget) return "no allocation went beyond it";
  if (r.does == injector::effect::hide) return "nobody looked the function up";
  if (injector::is_host_function(r.function)) return "no call that libcufault_host.so sees met it";
  if (of_runtime && !any_of_library)
    return "no shared CUDA runtime was called; rules for cudart cannot act where it is linked statically: "
           "use the driver's function, as cuMemAlloc_v2, or link with -cudart shared";
  if (most == 0)
    return fmt::format("{} was never called{}", r.function,
                       counts.calls.empty() && !counts.preload_removed
                           ? ", and no other call was seen: programs that are linked statically or setuid, "
                             "or without LD_PRELOAD, do not load the injector"
                           : "");
  if (most <= r.skip)
    return fmt::format("it waits for call {}, and no process made more than {}", r.skip + 1, most);
  return fmt::format("up to {} calls were seen in a process, and none was as its other keys ask", most);
}

/// A kernel that fails ends the work of all clients of a GPU under MPS, and holds up others.
void refuse_gpu_of_others(const injector::rule_set& all) {
  using injector::effect;
  const auto is_kernel = [](const injector::rule& r) {
    return r.does == effect::trap || r.does == effect::device_assert;
  };
  if (std::none_of(all.rules.begin(), all.rules.end(), is_kernel)) return;
  std::set<unsigned> users = nvml().compute_users();
  for (const injector::rule& r : all.rules)  // a process that rules name is no other one
    if (r.pid) users.erase(static_cast<unsigned>(*r.pid));
  if (users.empty()) return;
  throw usage_error(
      fmt::format("{} use a GPU of this machine (pid {}), and a rule starts a kernel that fails: \"return\" "
                  "with \"sticky\" touches no GPU; --shared-gpu starts it all the same",
                  users.size() == 1 ? "another process" : "other processes", fmt::join(users, ", ")));
}

void tell_what_never_acted(const injector::rule_set& all, const injector::counted& counts,
                           const std::string& command) {
  if (counts.programs == 0)
    return fmt::print(std::cerr,
                      "cufault: nothing was injected: no program of the command loaded the injector: {}\n",
                      why_not_loaded(command));
  if (all.rules.empty() && !all.log_environment && counts.injections == 0)
    fmt::print(std::cerr, "cufault: nothing was injected: there is no --fail and no --rules\n");
  for (std::size_t i = 0; i < std::min(all.rules.size(), counts.acted.size()); ++i)
    if (const injector::rule& r = all.rules[i]; counts.acted[i] == 0)
      fmt::print(std::cerr, "cufault: rule {} ({}) never acted: {}{}\n", i,
                 r.does == injector::effect::budget ? "budget_bytes" : r.function, why_never_acted(r, counts),
                 counts.preload_removed ? "; a process took LD_PRELOAD from the environment, so that what it "
                                          "started did not load the injector"
                                        : "");
}

void add_inject(command_line& line) {
  const std::string example = "cufault inject --fail cuMemAlloc_v2=OUT_OF_MEMORY -- ./program";
  const auto said = std::make_shared<inject_arguments>();
  CLI::App* command =
      line.command("inject", "Run a command whose calls of the driver and of libraries fail as rules say",
                   injector::rules_help() +
                       "Without --rules and --fail, CUFAULT_RULES and CUFAULT_FAIL of the environment hold.\n"
                       "At the end a line on standard error tells of each rule that never acted, and why.\n"
                       "Exit codes: the command's; 2 wrong use, or a wrong rule; 3 rules acted less often "
                       "than --require says; 126 it cannot be executed; 127 it is not found.",
                   [said, example, &line] {
                     said->command = command_behind(line, example);
                     return inject(*said);
                   });
  add_named(command, "--rules", said->rules, "FILE", "JSON rules, read again whenever the file changes")
      ->check(not_empty);
  add_named(
      command, "--faultinj", said->faultinj, "FILE",
      "in place of --rules: a configuration file of NVIDIA's faultinj (cudaDriverFaults, cudaRuntimeFaults)")
      ->check(not_empty);
  add_named(command, "--replay", said->replay, "LOG",
            "in place of --rules: do again what this log (--log) of an earlier run tells, on the same calls "
            "of the same programs and ranks")
      ->check(not_empty)
      ->excludes("--rules")
      ->excludes("--faultinj");
  add_named(command, "--fail", said->fail, "TEXT",
            "FUNCTION[@STACK][:N[+]|:PATTERN]=CODE: the N-th call, with + each later one too, else all; "
            "PATTERN: calls with an X, as XOOXO; STACK: only calls of the call stack of this hash, as a log "
            "or `cufault sweep` tells it; CODE: a status by its name or number")
      ->allow_extra_args(false)
      ->check(not_empty);
  add_named(command, "--log", said->log, "FILE",
            "JSON lines of injections and counts (default: injections to standard error)")
      ->check(not_empty);
  add_named(command, "--require", said->require, "N",
            "exit with 3 where rules acted less often than N, in all processes together; 0: tell nothing, "
            "and become the command")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 60));
  command->add_flag("--lenient", said->lenient, "run the command without injection if a rule is wrong");
  command->add_flag("--shared-gpu", said->shared_gpu,
                    "start kernels that fail although other processes use a GPU");
  add_intercepted_libraries(
      command, said->libraries,
      "preload what intercepts this library, for rules that are set or added to the file after the start; "
      "libraries that rules name at the start need no such option");
  add_command_behind(line, command, example);
}

const register_command inject_here{
    "inject", add_inject, first(section::does_it_survive, 1), {needs::cuda_header}};

}  // namespace

std::string why_not_loaded(const std::string& command) {
  const auto program = program_of(this_machine(), command);
  struct stat is {};
  if (program && program->elf.needed.empty()) return "it is linked statically";
  if (program && stat(program->file.c_str(), &is) == 0 && (is.st_mode & (S_ISUID | S_ISGID)) != 0)
    return "it is setuid";
  return "is it linked statically or setuid, or LD_PRELOAD taken away?";
}

std::map<std::string, std::string> watch_variables(const fs::path& watch, const fs::path& counts) {
  std::error_code none;  // without it nothing is counted
  fs::create_directory(counts, none);
  return {{"CUFAULT_WATCH", watch.string()}, {"CUFAULT_COUNTS", counts.string()}};
}

void refuse_if_counted(const char* instead) {
  if (!variable("CUFAULT_COUNTS").empty())
    throw usage_error(
        fmt::format("another cufault counts the calls of this process (CUFAULT_COUNTS); {}", instead));
}

void put(const char* name, const std::string& value) {
  if (setenv(name, value.c_str(), 1) != 0)
    throw usage_error(fmt::format("{}: {}", name, std::strerror(errno)));
}

std::string preload_with_injector(bool host, const std::vector<std::string>& libraries) {
  std::vector<std::string> names;
  for (const std::string& each : libraries) names.push_back(fmt::format("libcufault_{}.so", each));
  names.emplace_back("libcufault.so");
  if (host) names.emplace_back("libcufault_host.so");
  return preload_with(names);
}

std::string preload_with(const std::vector<std::string>& names) {
  std::string preload = variable("LD_PRELOAD");
  bool searched = false;
  for (const std::string& name : names) {
    const fs::path library = bundled_file(name);
    if (library.empty())
      throw usage_error(
          fmt::format("{} does not lie in lib/cufault beside this program; build or install it whole", name));
    const std::string folder = library.parent_path().string();
    if (folder.find_first_of(":;") != std::string::npos)
      throw usage_error(fmt::format("{}: the loader takes no path with ':' or ';'; install cufault elsewhere",
                                    library.string()));
    // Spaces separate LD_PRELOAD and cannot be escaped: then it has the name alone, and LD_LIBRARY_PATH the folder.
    const bool spaces = folder.find(' ') != std::string::npos;
    if (spaces && !searched) {
      const std::string before = variable("LD_LIBRARY_PATH");
      put("LD_LIBRARY_PATH", folder + (before.empty() ? "" : ":") + before);
      searched = true;
    }
    preload += (preload.empty() ? "" : ":") + (spaces ? name : library.string());
  }
  return preload;
}

void preload_injector(bool host, const std::vector<std::string>& libraries) {
  put("LD_PRELOAD", preload_with_injector(host, libraries));
}

passed_end run_passed(const passed_command& command) {
  try {
    return run_passed_through(command);
  } catch (const not_started& error) {
    throw usage_error(
        fmt::format("{}: {}", command.words.front(), error.code().message()),
        error.code() == std::errc::no_such_file_or_directory ? exit_not_found : exit_not_executable);
  }
}

passed_end run_left_alone(const std::vector<std::string>& command) {
  passed_command left;
  left.words = command;
  left.left_alone = true;
  return run_passed(left);
}

std::vector<std::string> injectable_libraries() {
  std::vector<std::string> names;
  for (const injector::known_library& each : injector::libraries()) names.emplace_back(each.name);
  return names;
}

std::set<std::string> libraries_asked_for(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (injector::library_named(name) == nullptr)
      throw usage_error(fmt::format("--library {}: one of {}{}", one_line(name), injector::library_names(),
                                    did_you_mean(name, injectable_libraries())));
  }
  return {names.begin(), names.end()};
}

int inject(const inject_arguments& arguments) {
  if (!arguments.rules.empty() && !arguments.faultinj.empty())
    throw usage_error("--rules and --faultinj: rules come from one file");
  const fs::path& rules = arguments.faultinj.empty() ? arguments.rules : arguments.faultinj;
  std::string replayed;
  if (!arguments.replay.empty()) try {
      replayed = injector::rules_of_log(arguments.replay);
    } catch (const input_error& error) {
      throw usage_error(error.what());
    }
  // Both or none: rules of the environment are not mixed with others.
  if (!rules.empty() || !arguments.fail.empty() || !replayed.empty()) {
    put("CUFAULT_RULES", rules.empty() ? replayed : fs::absolute(rules).string());
    put("CUFAULT_FAIL", fmt::format("{}", fmt::join(arguments.fail, " ")));
  }
  std::set<std::string> libraries = libraries_asked_for(arguments.libraries);
  bool host = false;
  std::optional<injector::rule_set> all;
  std::error_code none;  // they need not be in a file
  const auto rules_written = fs::last_write_time(variable("CUFAULT_RULES"), none);
  try {
    if (!arguments.faultinj.empty() && !injector::is_faultinj(json_cursor{read_json(rules)}))
      throw input_error(rules.string() + ": no configuration of faultinj: it has no cudaDriverFaults");
    all = injector::rules_of(variable("CUFAULT_RULES"), variable("CUFAULT_FAIL"));
    host = injector::needs_host_library(*all);
    for (const auto* of : injector::libraries_needed(*all)) libraries.emplace(of->name);
  } catch (const input_error& error) {
    if (!arguments.lenient) throw usage_error(error.what());
  }
  if (all && !arguments.shared_gpu) refuse_gpu_of_others(*all);
  put("CUFAULT_STRICT", arguments.lenient ? "" : "1");
  if (!arguments.log.empty()) {
    // Inside of the command it would be too late to refuse.
    const unique_fd log(
        open(arguments.log.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0666));
    if (!log) throw usage_error(fmt::format("{}: {}", arguments.log.string(), std::strerror(errno)));
    put("CUFAULT_LOG", fs::absolute(arguments.log).string());
  }
  preload_injector(host, {libraries.begin(), libraries.end()});
  const std::uint64_t required = arguments.require.value_or(0);
  // Inside of another cufault, which counts, or by rules that are wrong, nothing can be told.
  if (required == 0 && (arguments.require || !all || !variable("CUFAULT_COUNTS").empty()))
    become(arguments.command);

  std::optional<temporary_folder> counts("cufault-inject-");
  put("CUFAULT_COUNTS", counts->path().string());
  const passed_end end = run_left_alone(arguments.command);
  const injector::counted counted = injector::counted_in(counts->path());
  counts.reset();
  if (counted.injections < required)
    fmt::print(std::cerr, "cufault: rules acted {} times, and {} were required; the command ended with {}\n",
               counted.injections, required, end.as_of_a_shell());
  // Rules of a file that has changed meanwhile may have other numbers.
  if (all && counted.unread == 0 && fs::last_write_time(variable("CUFAULT_RULES"), none) == rules_written)
    tell_what_never_acted(*all, counted, arguments.command.front());
  if (counted.injections < required) return exit_too_few;
  if (end.signal != 0) {  // the parent sees the same signal; this process writes no core file
    prctl(PR_SET_DUMPABLE, 0);
    std::signal(end.signal, SIG_DFL);
    raise(end.signal);
  }
  return end.as_of_a_shell();
}

}  // namespace cufault
