// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// inject and trace: another program under libcufault.so.
#include "harness/cli/cli.hpp"
#include "harness/cli/passed_through.hpp"
#include "harness/cli/traced.hpp"
#include "harness/injector/chrome_trace.hpp"
#include "harness/injector/counts_reader.hpp"
#include "harness/injector/faultinj.hpp"
#include "harness/injector/rules.hpp"
#include "harness/system/bundled_file.hpp"
#include "harness/system/temporary_folder.hpp"
#include "harness/system/unique_fd.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr int exit_too_few = 3;

void put(const char* name, const std::string& value) {
  if (setenv(name, value.c_str(), 1) != 0)
    throw usage_error(fmt::format("{}: {}", name, std::strerror(errno)));
}

}  // namespace

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

namespace {

void preload_injector(bool host, const std::vector<std::string>& libraries) {
  put("LD_PRELOAD", preload_with_injector(host, libraries));
}

/// Becomes the command. Returns only where that fails.
[[noreturn]] void become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::cout.flush();
  execvp(words[0], words.data());
  throw usage_error(fmt::format("{}: {}", command.front(), std::strerror(errno)),
                    errno == ENOENT ? exit_not_found : exit_not_executable);
}

/// Keeps back what would end this process without its folder being removed.
sigset_t hold_back_signals() {
  sigset_t held, before;
  sigemptyset(&held);
  sigaddset(&held, SIGTERM);
  sigaddset(&held, SIGHUP);
  sigprocmask(SIG_BLOCK, &held, &before);
  return before;
}

volatile std::sig_atomic_t running = 0;  // for a signal's handler

/// Runs it to its end, whatever the terminal sends to both; what is meant to end this process goes to it. `before`: the signals
/// that were blocked before these were held back.
struct command_end {
  int exit_code;
  int signal;  // that ended it; 0: none
  [[nodiscard]] int as_of_a_shell() const { return signal != 0 ? 128 + signal : exit_code; }
};
command_end run_to_its_end(const std::vector<std::string>& command, const sigset_t& before) {
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) throw usage_error(fmt::format("cannot fork: {}", std::strerror(errno)));
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    try {
      become(command);
    } catch (const usage_error& error) {
      fmt::print(stderr, "cufault: {}\n", error.what());
      _exit(error.exit_code);
    }
  }
  for (const int sent : {SIGINT, SIGQUIT}) std::signal(sent, SIG_IGN);  // the command's to act upon
  running = child;
  for (const int sent : {SIGTERM, SIGHUP}) std::signal(sent, [](int signal) { kill(running, signal); });
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  for (const int sent : {SIGTERM, SIGHUP}) std::signal(sent, SIG_IGN);  // what is left is soon done
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

/// A file that another process writes; removed at the end.
class scratch_file {
 public:
  explicit scratch_file(const std::function<fs::path()>& make) : file_(make) {}
  ~scratch_file() {
    std::error_code none;
    fs::remove(path(), none);
  }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;
  [[nodiscard]] const fs::path& path() const { return file_.path(); }

 private:
  const signal_cleanup file_;
};

struct trace {
  struct allocations {
    std::uint64_t count = 0, bytes = 0, largest = 0;
  };
  std::map<std::string, allocations> memory;           // by calling library
  std::map<std::string, std::set<std::string>> asked;  // environment variables by library
  std::set<std::string> unwrapped;
  int lines = 0, unread = 0;  // of the log
};

/// Throws input_error, and then has taken nothing of it.
void take(trace& seen, const json_cursor& line) {
  const auto event = line.at("event").string();
  if (event == "unwrapped") seen.unwrapped.insert(line.at("function").string());
  if (event == "getenv") {
    const auto variable = line.at("variable").string();
    seen.asked[line.at("caller").string()].insert(variable);
  }
  if (event == "call" && line.has("bytes")) {
    const auto bytes = line.at("bytes").unsigned_integer();
    auto& of = seen.memory[line.at("caller").string()];
    ++of.count;
    of.bytes += bytes;
    of.largest = std::max(of.largest, bytes);
  }
}

trace trace_from(const fs::path& log) {
  trace seen;
  std::ifstream in(log);
  for (std::string text; std::getline(in, text);) {
    try {
      take(seen, json_cursor{parse_json(log.string(), text, ++seen.lines)});
    } catch (const input_error&) {
      ++seen.unread;
    }
  }
  return seen;
}

/// Those of the driver where `of` is null.
std::map<std::string, std::map<std::string, std::uint64_t>> calls_of(const injector::known_library* of,
                                                                     const injector::counted& counts) {
  std::map<std::string, std::map<std::string, std::uint64_t>> found;
  for (const auto& [library, functions] : counts.calls)
    for (const auto& [function, calls] : functions)
      if (injector::library_of(function) == of) found[library][function] = calls;
  return found;
}

void print(const trace& seen, const injector::counted& counts, const std::set<std::string>& libraries,
           int signal) {
  const auto heading = [](std::string_view words) { fmt::print(stderr, "\n{}\n", words); };
  const auto print_calls = [](const auto& all) {
    for (const auto& [library, functions] : all) {
      fmt::print(stderr, "  {}\n", library);
      for (const auto& [function, calls] : functions) fmt::print(stderr, "    {:>12} {}\n", calls, function);
    }
  };
  const auto of_driver = calls_of(nullptr, counts);
  heading("driver calls, by the library that resolved the function");
  if (signal != 0)
    fmt::print(stderr, "  until signal {} ({}) ended the command\n", signal, strsignal(signal));
  if (counts.programs == 0)
    fmt::print(
        stderr,
        "  unknown: no program of the command loaded the injector; is it statically linked or setuid?\n");
  else if (of_driver.empty())
    fmt::print(stderr, "  none: the command called no function of the driver\n");
  print_calls(of_driver);
  for (const std::string& name : libraries) {
    const auto all = calls_of(injector::library_named(name), counts);
    heading(fmt::format("calls of {}, by the library that calls or resolved the function", name));
    if (all.empty())
      fmt::print(stderr, "  {}\n", counts.programs == 0 ? "unknown, as above" : "none that could be seen");
    print_calls(all);
  }
  if (!seen.memory.empty()) {
    heading("allocations asked of the driver, by calling library");
    for (const auto& [library, of] : seen.memory)
      fmt::print(stderr, "  {}: {} allocations, {} bytes, the largest {}\n", library, of.count, of.bytes,
                 of.largest);
  }
  if (!seen.asked.empty()) {
    heading("environment variables asked for, by library");
    for (const auto& [library, variables] : seen.asked)
      fmt::print(stderr, "  {}: {}\n", library, fmt::join(variables, " "));
  }
  if (!seen.unwrapped.empty()) {
    heading("functions of the driver that nothing stood in front of");
    fmt::print(stderr, "  {}\n", fmt::join(seen.unwrapped, " "));
  }
  if (counts.unread > 0)
    fmt::print(stderr, "\n{} files of counts could not be read and count for nothing\n", counts.unread);
  if (seen.unread > 0)
    fmt::print(stderr, "\n{} of {} lines of the log could not be read and count for nothing\n", seen.unread,
               seen.lines);
}

nlohmann::ordered_json to_json(const trace& seen, const injector::counted& counts, int signal) {
  auto memory = nlohmann::ordered_json::object();
  for (const auto& [library, of] : seen.memory)
    memory[library] = {{"allocations", of.count}, {"bytes", of.bytes}, {"largest", of.largest}};
  return {{"schema", 1},
          {"programs", counts.programs},
          {"signal", signal},
          {"calls", counts.calls},
          {"allocations", memory},
          {"variables", seen.asked},
          {"not_wrapped", seen.unwrapped},
          {"unread", {{"counts", counts.unread}, {"lines", seen.unread}, {"of_lines", seen.lines}}}};
}

}  // namespace

std::string inject_help() {
  return injector::rules_help();
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
  // Both or none: rules of the environment are not mixed with others.
  if (!rules.empty() || !arguments.fail.empty()) {
    put("CUFAULT_RULES", rules.empty() ? "" : fs::absolute(rules).string());
    put("CUFAULT_FAIL", fmt::format("{}", fmt::join(arguments.fail, " ")));
  }
  std::set<std::string> libraries = libraries_asked_for(arguments.libraries);
  bool host = false;
  try {
    if (!arguments.faultinj.empty() && !injector::is_faultinj(json_cursor{read_json(rules)}))
      throw input_error(rules.string() + ": no configuration of faultinj: it has no cudaDriverFaults");
    const auto all = injector::rules_of(variable("CUFAULT_RULES"), variable("CUFAULT_FAIL"));
    host = injector::needs_host_library(all);
    for (const auto* of : injector::libraries_needed(all)) libraries.emplace(of->name);
  } catch (const input_error& error) {
    if (!arguments.lenient) throw usage_error(error.what());
  }
  put("CUFAULT_STRICT", arguments.lenient ? "" : "1");
  if (!arguments.log.empty()) {
    // Inside of the command it would be too late to refuse.
    const unique_fd log(
        open(arguments.log.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0666));
    if (!log) throw usage_error(fmt::format("{}: {}", arguments.log.string(), std::strerror(errno)));
    put("CUFAULT_LOG", fs::absolute(arguments.log).string());
  }
  preload_injector(host, {libraries.begin(), libraries.end()});
  if (arguments.require == 0) become(arguments.command);

  const sigset_t before = hold_back_signals();
  const temporary_folder counts("cufault-inject-");
  put("CUFAULT_COUNTS", counts.path().string());
  const command_end end = run_to_its_end(arguments.command, before);
  const injector::counted counted = injector::counted_in(counts.path());
  if (counted.injections >= arguments.require) return end.as_of_a_shell();
  fmt::print(stderr, "cufault: rules acted {} times, and {} were required{}; the command ended with {}\n",
             counted.injections, arguments.require,
             counted.programs == 0 ? " (no program of the command loaded the injector)" : "",
             end.as_of_a_shell());
  return exit_too_few;
}

namespace {

/// Throws usage_error.
fs::path new_file_beside(const fs::path& file) {
  std::string name = fs::absolute(file).string() + ".XXXXXX";
  const unique_fd made(mkostemp(name.data(), O_CLOEXEC));
  if (!made)
    throw usage_error(fmt::format("no file can be made beside {}, where calls are logged: {}", file.string(),
                                  std::strerror(errno)));
  return name;
}

}  // namespace

std::map<std::string, std::string> trace_variables(const fs::path& log, const fs::path& counts,
                                                   const std::vector<std::string>& logged) {
  nlohmann::json rules{{"log_environment", true}, {"rules", nlohmann::json::array()}};
  for (const std::string& each : logged) rules["rules"].push_back({{"function", each}, {"log", true}});
  return {{"CUFAULT_RULES", rules.dump()},
          {"CUFAULT_FAIL", ""},
          {"CUFAULT_LOG", log.string()},
          {"CUFAULT_COUNTS", counts.string()}};
}

void print_trace(const fs::path& log, const fs::path& counts, const std::set<std::string>& asked, int signal,
                 std::set<std::string>* libraries, const fs::path& json) {
  const trace seen = trace_from(log);
  const injector::counted counted = injector::counted_in(counts);
  if (libraries != nullptr) {
    for (const auto& [library, variables] : seen.asked) libraries->insert(library);
    for (const auto& [library, functions] : counted.calls) libraries->insert(library);
  }
  print(seen, counted, asked, signal);
  write_json_beside(json, to_json(seen, counted, signal));
}

int trace_command(const trace_arguments& arguments) {
  if (!variable("CUFAULT_COUNTS").empty())
    throw usage_error("another cufault counts the calls of this process (CUFAULT_COUNTS); trace only once");
  const bool chrome = !arguments.chrome.empty();
  std::ofstream out;  // refused before the command runs
  if (chrome) {
    out.open(arguments.chrome);
    if (!out) throw usage_error(fmt::format("{}: {}", arguments.chrome.string(), std::strerror(errno)));
  }
  const sigset_t before = hold_back_signals();
  const temporary_folder folder("cufault-trace-");
  // A log of every call may be long: it lies beside what is made of it, not in memory that is a file system.
  const scratch_file log{chrome ? std::function([&] { return new_file_beside(arguments.chrome); })
                                : [&] { return folder.path() / "log"; }};
  const std::set<std::string> asked = libraries_asked_for(arguments.libraries);
  std::vector<std::string> logged = allocating_functions;
  if (chrome) {
    logged = {"*"};
    for (const std::string& name : asked)
      logged.push_back(std::string(injector::library_named(name)->prefix) + "*");
  }
  const fs::path counts = folder.path() / "counts";
  fs::create_directory(counts);
  for (const auto& [name, value] : trace_variables(log.path(), counts, logged)) put(name.c_str(), value);
  preload_injector(true, {asked.begin(), asked.end()});
  const command_end end = run_to_its_end(arguments.command, before);
  print_trace(log.path(), counts, asked, end.signal, nullptr, arguments.json);
  if (chrome) {
    const std::uint64_t calls = injector::write_chrome_trace(log.path(), out);
    out.close();
    if (!out) throw usage_error(arguments.chrome.string() + ": could not be written whole");
    fmt::print(stderr, "\n{} calls in {}\n", calls, arguments.chrome.string());
  }
  return end.as_of_a_shell();
}

}  // namespace cufault
