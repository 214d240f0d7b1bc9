// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/command_line.hpp"
#include "harness/cli/inject.hpp"
#include "harness/injector/chrome_trace.hpp"
#include "harness/injector/counts_reader.hpp"
#include "harness/injector/rules.hpp"
#include "harness/system/temporary_folder.hpp"
#include "harness/system/unique_fd.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct trace_arguments {
  std::filesystem::path chrome;        ///< a Chrome trace of every call; empty: none
  std::filesystem::path json{};        ///< where to write what it tells, too; empty: nowhere
  std::vector<std::string> libraries;  ///< "cublas": whose calls are told, too
  std::vector<std::string> command;    ///< never empty
};

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
  const auto heading = [](std::string_view words) { fmt::print(std::cerr, "\n{}\n", words); };
  const auto print_calls = [](const auto& all) {
    for (const auto& [library, functions] : all) {
      fmt::print(std::cerr, "  {}\n", library);
      for (const auto& [function, calls] : functions)
        fmt::print(std::cerr, "    {:>12} {}\n", calls, function);
    }
  };
  const auto of_driver = calls_of(nullptr, counts);
  heading("driver calls, by the library that resolved the function");
  if (signal != 0)
    fmt::print(std::cerr, "  until signal {} ({}) ended the command\n", signal, strsignal(signal));
  if (counts.programs == 0)
    fmt::print(
        std::cerr,
        "  unknown: no program of the command loaded the injector; is it statically linked or setuid?\n");
  else if (of_driver.empty())
    fmt::print(std::cerr, "  none: the command called no function of the driver\n");
  print_calls(of_driver);
  for (const std::string& name : libraries) {
    const auto all = calls_of(injector::library_named(name), counts);
    heading(fmt::format("calls of {}, by the library that calls or resolved the function", name));
    if (all.empty())
      fmt::print(std::cerr, "  {}\n", counts.programs == 0 ? "unknown, as above" : "none that could be seen");
    print_calls(all);
  }
  if (!seen.memory.empty()) {
    heading("allocations asked of the driver, by calling library");
    for (const auto& [library, of] : seen.memory)
      fmt::print(std::cerr, "  {}: {} allocations, {} bytes, the largest {}\n", library, of.count, of.bytes,
                 of.largest);
  }
  if (!seen.asked.empty()) {
    heading("environment variables asked for, by library");
    for (const auto& [library, variables] : seen.asked)
      fmt::print(std::cerr, "  {}: {}\n", library, fmt::join(variables, " "));
  }
  if (!seen.unwrapped.empty()) {
    heading("functions of the driver that nothing stood in front of");
    fmt::print(std::cerr, "  {}\n", fmt::join(seen.unwrapped, " "));
  }
  if (counts.unread > 0)
    fmt::print(std::cerr, "\n{} files of counts could not be read and count for nothing\n", counts.unread);
  if (seen.unread > 0)
    fmt::print(std::cerr, "\n{} of {} lines of the log could not be read and count for nothing\n",
               seen.unread, seen.lines);
}

nlohmann::ordered_json to_json(const trace& seen, const injector::counted& counts,
                               const std::set<std::string>& libraries, int signal) {
  auto memory = nlohmann::ordered_json::object();
  for (const auto& [library, of] : seen.memory)
    memory[library] = {{"allocations", of.count}, {"bytes", of.bytes}, {"largest", of.largest}};
  return {{"schema", 1},
          {"programs", counts.programs},
          {"signal", signal},
          {"libraries", libraries},
          {"calls", counts.calls},
          {"allocations", memory},
          {"variables", seen.asked},
          {"not_wrapped", seen.unwrapped},
          {"unread", {{"counts", counts.unread}, {"lines", seen.unread}, {"of_lines", seen.lines}}}};
}

/// Throws usage_error.
fs::path new_file_beside(const fs::path& file) {
  std::string name = fs::absolute(file).string() + ".XXXXXX";
  const unique_fd made(mkostemp(name.data(), O_CLOEXEC));
  if (!made)
    throw usage_error(fmt::format("no file can be made beside {}, where calls are logged: {}", file.string(),
                                  std::strerror(errno)));
  return name;
}

int trace_command(const trace_arguments& arguments) {
  refuse_if_counted("trace only once");
  const bool chrome = !arguments.chrome.empty();
  std::ofstream out;  // refused before the command runs
  if (chrome) {
    out.open(arguments.chrome);
    if (!out) throw usage_error(fmt::format("{}: {}", arguments.chrome.string(), std::strerror(errno)));
  }
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
  const passed_end end = run_left_alone(arguments.command);
  print_trace(log.path(), counts, asked, end.signal, nullptr, arguments.json);
  if (chrome) {
    const std::uint64_t calls = injector::write_chrome_trace(log.path(), out);
    out.close();
    if (!out) throw usage_error(arguments.chrome.string() + ": could not be written whole");
    fmt::print(std::cerr, "\n{} calls in {}\n", calls, arguments.chrome.string());
  }
  return end.as_of_a_shell();
}

void add_trace(command_line& line) {
  const std::string example = "cufault trace -- ./program";
  const auto said = std::make_shared<trace_arguments>();
  CLI::App* command = line.command(
      "trace", "Run a command and tell its driver calls, allocations and environment look-ups, by library",
      passed_exit_codes, [said, example, &line] {
        said->command = command_behind(line, example);
        return trace_command(*said);
      });
  add_named(command, "--chrome", said->chrome, "FILE",
            "the driver calls of all its processes as a Chrome trace, which Perfetto opens; each call that "
            "libcufault.so sees then writes a line")
      ->check(not_empty);
  add_json_file(command, said->json, "what it tells", "trace");
  add_intercepted_libraries(command, said->libraries, "calls of this library, too");
  add_command_behind(line, command, example);
}

const register_command trace_here{"trace", add_trace, also(section::program_failed, 8), {needs::cuda_header}};

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
  write_json_beside(json, to_json(seen, counted, asked, signal));
}

}  // namespace cufault
