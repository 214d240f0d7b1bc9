// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// inject and trace: another program under libcufault.so.
#include "harness/cli/cli.hpp"
#include "harness/cli/passed_through.hpp"
#include "harness/cli/traced.hpp"
#include "harness/doctor/loader.hpp"
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
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
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

passed_end run_left_alone(const std::vector<std::string>& command) {
  passed_command left;
  left.words = command;
  left.left_alone = true;
  return run_passed_through(left);
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

namespace {

/// Why no program of the command loaded the injector.
std::string why_not_loaded(const std::string& command) {
  const auto program = program_of(this_machine(), command);
  struct stat is {};
  if (program && program->elf.needed.empty()) return "it is linked statically";
  if (program && stat(program->file.c_str(), &is) == 0 && (is.st_mode & (S_ISUID | S_ISGID)) != 0)
    return "it is setuid";
  return "is it linked statically or setuid, or LD_PRELOAD taken away?";
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
           "use "
           "the driver's function, as cuMemAlloc_v2, or link with -cudart shared";
  if (most == 0)
    return fmt::format("{} was never called{}", r.function,
                       counts.calls.empty()
                           ? ", and no other call was seen: programs that are linked statically or "
                             "setuid, or without LD_PRELOAD, do not load the injector"
                           : "");
  if (most <= r.skip)
    return fmt::format("it waits for call {}, and no process made more than {}", r.skip + 1, most);
  return fmt::format("up to {} calls were seen in a process, and none was as its other keys ask", most);
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
      fmt::print(std::cerr, "cufault: rule {} ({}) never acted: {}\n", i,
                 r.does == injector::effect::budget ? "budget_bytes" : r.function,
                 why_never_acted(r, counts));
}

}  // namespace

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
  write_json_beside(json, to_json(seen, counted, asked, signal));
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

}  // namespace cufault
