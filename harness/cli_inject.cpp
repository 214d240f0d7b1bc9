// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// inject and trace: another program under libcufault.so.
#include "harness/beside.hpp"
#include "harness/cli.hpp"
#include "harness/injector/rules.hpp"
#include "harness/unique_fd.hpp"
#include "reports/json_input.hpp"

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
#include <iostream>
#include <map>
#include <set>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr int exit_not_executable = 126, exit_not_found = 127;  // as a shell's

void put(const char* variable, const std::string& value) {
  if (setenv(variable, value.c_str(), 1) != 0)
    throw usage_error(fmt::format("{}: {}", variable, std::strerror(errno)));
}

std::string from_environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

/// Behind what is preloaded already: a profiler's library, say.
void preload_injector() {
  const fs::path library = beside_program("libcufault.so");
  if (library.empty())
    throw usage_error(
        "libcufault.so does not lie in lib/cufault beside this program; build or install it whole");
  if (library.string().find_first_of(": ") != std::string::npos)
    throw usage_error(fmt::format(
        "{}: the loader takes no path with ':' or a space in LD_PRELOAD; install cufault elsewhere",
        library.string()));
  const char* others = std::getenv("LD_PRELOAD");
  put("LD_PRELOAD",
      (others != nullptr && *others != '\0' ? std::string(others) + ":" : "") + library.string());
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
/// that were blocked before these were held back. Returns its exit code, or 128 and the signal that ended it.
int run_to_its_end(const std::vector<std::string>& command, const sigset_t& before) {
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
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// A folder that is gone when the trace was shown.
class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (fs::temp_directory_path() / "cufault-trace-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw usage_error(fmt::format("no folder for the trace: {}", std::strerror(errno)));
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code none;
    fs::remove_all(path_, none);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct trace {
  std::map<std::string, std::map<std::string, std::uint64_t>> calls;  // by library and function
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
  if (event == "calls") {
    const auto calls = line.at("calls").unsigned_integer();
    seen.calls[line.at("resolved_by").string()][line.at("function").string()] += calls;
  }
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

void print(const trace& seen) {
  const auto heading = [](const char* words) { fmt::print(stderr, "\n{}\n", words); };
  heading("driver calls, by the library that resolved the function");
  if (seen.calls.empty())
    fmt::print(stderr, "  none: the command called no function of the driver{}\n",
               seen.lines > 0 ? "" : ", or, being statically linked or setuid, loaded no injector");
  for (const auto& [library, functions] : seen.calls) {
    fmt::print(stderr, "  {}\n", library);
    for (const auto& [function, calls] : functions) fmt::print(stderr, "    {:>12} {}\n", calls, function);
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
  if (seen.unread > 0)
    fmt::print(stderr, "\n{} of {} lines of the log could not be read and count for nothing\n", seen.unread,
               seen.lines);
}

}  // namespace

int inject(const inject_arguments& arguments) {
  // Both or none: rules of the environment are not mixed with others.
  if (!arguments.rules.empty() || !arguments.fail.empty()) {
    put("CUFAULT_RULES", arguments.rules.empty() ? "" : fs::absolute(arguments.rules).string());
    put("CUFAULT_FAIL", fmt::format("{}", fmt::join(arguments.fail, " ")));
  }
  if (arguments.strict) {
    try {
      static_cast<void>(
          injector::rules_of(from_environment("CUFAULT_RULES"), from_environment("CUFAULT_FAIL")));
    } catch (const input_error& error) {
      throw usage_error(error.what());
    }
    put("CUFAULT_STRICT", "1");
  }
  if (!arguments.log.empty()) {
    // Inside of the command it would be too late to refuse.
    const unique_fd log(
        open(arguments.log.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0666));
    if (!log) throw usage_error(fmt::format("{}: {}", arguments.log.string(), std::strerror(errno)));
    put("CUFAULT_LOG", fs::absolute(arguments.log).string());
  }
  preload_injector();
  become(arguments.command);
}

int trace_command(const std::vector<std::string>& command) {
  const sigset_t before = hold_back_signals();
  const temporary_folder folder;
  const fs::path log = folder.path() / "log";
  put("CUFAULT_RULES",
      R"({"rules": [{"function": "cuMem*Alloc*", "log": true}, {"function": "cuMemCreate", "log": true}], "log_environment": true})");
  put("CUFAULT_FAIL", "");
  put("CUFAULT_LOG", log.string());
  preload_injector();
  const int code = run_to_its_end(command, before);
  print(trace_from(log));
  return code;
}

}  // namespace cufault
