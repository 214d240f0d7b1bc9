// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// inject and trace: another program under libcufault.so.
#include "harness/beside.hpp"
#include "harness/cli.hpp"
#include "harness/injector/rules.hpp"
#include "reports/json_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

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

/// Runs it to its end, whatever the terminal sends to both. Returns its exit code, or 128 and the signal that ended it.
int run_to_its_end(const std::vector<std::string>& command) {
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) throw usage_error(fmt::format("cannot fork: {}", std::strerror(errno)));
  if (child == 0) {
    try {
      become(command);
    } catch (const usage_error& error) {
      fmt::print(stderr, "cufault: {}\n", error.what());
      _exit(error.exit_code);
    }
  }
  for (const int sent : {SIGINT, SIGQUIT}) std::signal(sent, SIG_IGN);  // the command's to act upon
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
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
};

trace trace_from(const fs::path& log) {
  trace seen;
  std::ifstream in(log);
  int number = 0;
  for (std::string text; std::getline(in, text);) {
    const json_cursor line{parse_json(log.string(), text, ++number)};
    const auto event = line.at("event").string();
    if (event == "calls")
      seen.calls[line.at("resolved_by").string()][line.at("function").string()] +=
          line.at("calls").unsigned_integer();
    if (event == "unwrapped") seen.unwrapped.insert(line.at("function").string());
    if (event == "getenv") seen.asked[line.at("caller").string()].insert(line.at("variable").string());
    if (event == "call" && line.has("bytes")) {
      auto& of = seen.memory[line.at("caller").string()];
      const auto bytes = line.at("bytes").unsigned_integer();
      ++of.count;
      of.bytes += bytes;
      of.largest = std::max(of.largest, bytes);
    }
  }
  return seen;
}

void print(const trace& seen) {
  const auto heading = [](const char* words) { fmt::print(stderr, "\n{}\n", words); };
  heading("driver calls, by the library that resolved the function");
  if (seen.calls.empty()) fmt::print(stderr, "  none: the command called no function of the driver\n");
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
}

}  // namespace

int inject(const inject_arguments& arguments) {
  std::string texts;
  for (const std::string& text : arguments.fail) texts += (texts.empty() ? "" : " ") + text;
  if (arguments.strict) {
    try {
      static_cast<void>(injector::rules_of(arguments.rules.c_str(), texts.c_str()));
    } catch (const input_error& error) {
      throw usage_error(error.what());
    }
    put("CUFAULT_STRICT", "1");
  }
  put("CUFAULT_RULES", arguments.rules.empty() ? "" : fs::absolute(arguments.rules).string());
  put("CUFAULT_FAIL", texts);
  if (!arguments.log.empty()) put("CUFAULT_LOG", fs::absolute(arguments.log).string());
  preload_injector();
  become(arguments.command);
}

int trace_command(const std::vector<std::string>& command) {
  const temporary_folder folder;
  const fs::path log = folder.path() / "log";
  put("CUFAULT_RULES",
      R"({"rules": [{"function": "cuMem*Alloc*", "log": true}, {"function": "cuMemCreate", "log": true}], "log_environment": true})");
  put("CUFAULT_FAIL", "");
  put("CUFAULT_LOG", log.string());
  preload_injector();
  const int code = run_to_its_end(command);
  print(trace_from(log));
  return code;
}

}  // namespace cufault
