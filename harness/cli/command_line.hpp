// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/output.hpp"
#include "harness/cli/records.hpp"
#include "harness/cli/usage_error.hpp"
#include "harness/model/properties.hpp"
#include "harness/model/target.hpp"
#include "harness/system/process.hpp"
#include "reports/model/api_functions.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cufault {

inline constexpr const char* codes_of_reading = "Exit codes: 0; 2 bad input.";

struct command_line;

/// What a person asks: the headings of `cufault --help`, in the order of README.md.
enum class section { program_failed, what_changed, every_night, which_version, does_it_survive, more };
/// Where `cufault --help` has a command: `place` is its order below the question. `in_short`: `cufault` alone describes it, too.
struct in_help {
  section asked = section::more;
  int place = 0;
  bool in_short = false, hidden = false;
};
inline constexpr in_help hidden{.hidden = true};
constexpr in_help first(section asked, int place) {
  return {.asked = asked, .place = place, .in_short = true};
}
constexpr in_help also(section asked, int place) {
  return {.asked = asked, .place = place};
}
/// What a build must have for a command: all of the source tree, which the Python package has not; CUDA; cuda.h.
enum class needs { source_tree, cuda, cuda_header };

/// A command. It registers itself, with one line in its file: const register_command show_here{"show", add_show, also(section::more, 1)};
/// CMake reads that line (Commands.cmake): a source whose needs a build does not meet is left out, and the command says so.
struct register_command {
  register_command(const char* name, std::function<void(command_line&)> add, in_help where,
                   std::initializer_list<needs> = {});
  /// One that this build lacks.
  register_command(const char* name, needs unmet, in_help where);

  const char* name;
  std::function<void(command_line&)> add;
  in_help where;
};

/// As --help has them, and then those that are hidden.
std::vector<register_command> registered_commands();

/// The commands, and what the one that was asked for does.
struct command_line {
  /// With all that are registered.
  command_line(const char* about, std::vector<std::string> said)
      : app(about, "cufault"), words(std::move(said)) {
    app.require_subcommand(1);
    for (const register_command& each : registered_commands()) each.add(*this);
  }

  CLI::App* command(const char* name, const char* what, const std::string& codes,
                    std::function<int()> action) {
    return command(name, what, codes, [action = std::move(action)](CLI::App&) { return action(); });
  }
  /// One whose action looks at what was given.
  CLI::App* command(const char* name, const char* what, const std::string& codes,
                    std::function<int(CLI::App&)> action) {
    CLI::App* c = app.add_subcommand(name, what);
    c->footer(codes);
    c->preparse_callback([this, c](std::size_t) { take_variables(*c); });
    c->parse_complete_callback(
        [this, c, action = std::move(action)] { chosen = [c, action] { return action(*c); }; });
    return c;
  }

  /// A command with which cufault starts itself; hidden from help. It ends with the thread that started it. `outlives_thread`: trials
  /// in other threads use it, too; it ends by itself when its standard input does.
  CLI::App* own_command(const char* name, std::function<int()> action, bool outlives_thread = false) {
    const auto parent = std::make_shared<pid_t>(0);
    CLI::App* c = command(name, "", "", [parent, outlives_thread, action = std::move(action)] {
      if (!outlives_thread) tie_to_parent(*parent);
      return action();
    });
    c->group("");
    c->add_option("--parent", *parent)->required();
    return c;
  }

  /// `words` for the record, without the path of this program.
  [[nodiscard]] std::vector<std::string> recorded_words() const {
    std::vector<std::string> all = words;
    all[0] = "cufault";
    return all;
  }

  CLI::App app;
  std::vector<std::string> words;         ///< all that was said
  std::set<const CLI::App*> run_another;  ///< commands that take another after --
  std::vector<std::string> behind;        ///< what stands there
  std::function<int()> chosen;

 private:
  /// An option that is not given is what its variable says. Of CLI11, some versions take no notice of a wrong
  /// value, and others read the variables of every command.
  void take_variables(CLI::App& command) const {
    const std::vector<std::string> own(words.begin(),
                                       words.end() - static_cast<std::ptrdiff_t>(behind.size()));
    const auto asks_for_help = [](const std::string& word) { return word == "-h" || word == "--help"; };
    if (std::ranges::any_of(own, asks_for_help)) return;
    for (CLI::Option* const o : command.get_options()) {
      const char* value = o->get_envname().empty() ? nullptr : std::getenv(o->get_envname().c_str());
      const bool given = std::ranges::any_of(own, [&](const std::string& word) {  // also as -j2 and --jobs=2
        return word.starts_with("--")
                   ? o->check_lname(word.substr(2, word.find('=') - 2))
                   : word.size() > 1 && word.front() == '-' && o->check_sname(word.substr(1, 1));
      });
      if (value == nullptr || *value == '\0' || given) continue;
      try {
        o->add_result(value);
        o->run_callback();
      } catch (const CLI::ParseError& e) {
        throw usage_error(fmt::format("{}: {}", o->get_envname(), e.what()));
      }
    }
  }
};

/// An option whose value the help calls `type`.
template <class Value>
CLI::Option* add_named(CLI::App* command, const std::string& names, Value& to, const std::string& type,
                       const std::string& what) {
  return command->add_option(names, to, what)->type_name(type);
}

/// `what`: of which kind they are.
inline void add_to_read(CLI::App* command, records_to_read& records,
                        const std::string& what = "records or folders of records") {
  command->add_option("RECORD", records, what + " (default: those that come with cufault)")
      ->check(CLI::ExistingPath);
}
/// Of a command that takes words.
inline void add_to_read_as_option(CLI::App* command, records_to_read& records, const std::string& use = {}) {
  add_named(command, "--records", records, "RECORD",
            fmt::format("records or folders of records{} (default: those that come with cufault)", use))
      ->allow_extra_args(false)
      ->check(CLI::ExistingPath);
}

/// --library of commands that run another program. `what` they do with it.
CLI::Option* add_intercepted_libraries(CLI::App* command, std::vector<std::string>& libraries,
                                       const std::string& what);

inline std::string not_empty(const std::string& text) {
  return text.find_first_not_of(' ') == std::string::npos ? "is empty" : "";
}

/// Of a file or folder that is written to: what was typed wrongly is refused before anything runs.
inline std::string in_existing_folder(const std::string& path) {
  if (std::string wrong = not_empty(path); !wrong.empty()) return wrong;
  auto folder = std::filesystem::absolute(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  folder = folder.parent_path();
  std::error_code unseen;
  return std::filesystem::is_directory(folder, unseen)
             ? std::string()
             : fmt::format("there is no folder {}", folder.string());
}

/// Of a file that is written: as in_existing_folder(), and no folder.
inline std::string new_file(const std::string& path) {
  if (std::string wrong = in_existing_folder(path); !wrong.empty()) return wrong;
  std::error_code unseen;
  const bool folder =
      !std::filesystem::path(path).has_filename() || std::filesystem::is_directory(path, unseen);
  return folder ? fmt::format("{} is a folder; name a file", path) : "";
}

/// Which cuBLAS to take. For a command with which cufault starts itself an empty path is that of the loader.
inline void add_libraries(CLI::App* command, target& where) {
  CLI::Option* const cublas = add_named(command, "--cublas", where.cublas, "PATH",
                                        "cuBLAS library or its folder (default: what the loader takes)")
                                  ->envname("CUFAULT_CUBLAS");
  CLI::Option* const cublaslt = add_named(command, "--cublaslt", where.cublaslt, "PATH",
                                          "cuBLASLt library or its folder (default: the one beside --cublas)")
                                    ->envname("CUFAULT_CUBLASLT");
  std::vector<CLI::Option*> options{cublas, cublaslt};
  for (const step_library& each : step_libraries)
    if (each.binding == library_binding::own)
      options.push_back(
          add_named(command, fmt::format("--{}", each.key), where.others[std::string(each.key)], "PATH",
                    fmt::format("{} library or its folder (default: the one beside cuBLAS)", each.title))
              ->envname(fmt::format("CUFAULT_{}", each.environment)));
  if (command->get_group().empty()) return;
  for (CLI::Option* option : options) option->check(not_empty);
}

/// Which cuBLAS and which device to take.
inline void add_target(CLI::App* command, target& where) {
  add_libraries(command, where);
  command->add_option("--device", where.device, "CUDA device")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

inline void add_wait(CLI::App* command, int& seconds) {
  command->add_option("--wait", seconds, "seconds to wait for a GPU in use by another cufault")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

inline void add_new_record(CLI::App* command, std::filesystem::path& folder) {
  add_named(command, "--records", folder, "DIR", "folder for the record")->capture_default_str();
}

/// To judge by.
inline void add_baseline(CLI::App* command, std::filesystem::path& folder) {
  add_named(command, "--baseline", folder, "DIR",
            "folder of recorded stacks, which come before those of cufault (default: CUFAULT_BASELINE, or "
            "cufault/baseline in XDG_DATA_HOME)")
      ->check(CLI::ExistingDirectory);
}

inline test_tier tier_of(const std::string& name) {
  return name == "quick" ? test_tier::quick : name == "full" ? test_tier::full : test_tier::nightly;
}

inline void add_jobs(CLI::App* command, int& jobs) {
  command
      ->add_option(
          "--jobs,-j", jobs,
          "number of arms that run at the same time, on all GPUs together. Up to half as many more run in "
          "addition if they need no GPU or rarely call the driver. An arm that fills a GPU runs alone on it "
          "(default: one for each processor, at most 4; 8 with cases of Python frameworks alone)")
      ->check(CLI::Range(1, 1000))
      ->envname("CUFAULT_JOBS");
}

inline void add_import_timeout(CLI::App* command, int& seconds) {
  command->add_option("--import-timeout", seconds, "seconds to wait for the import of a framework")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
}

/// `schema`: the name of what it holds in reports/schemas. `also`: what else the help says.
inline CLI::Option* add_json(CLI::App* command, bool& json, const std::string& schema,
                             const std::string& also = {}) {
  return command->add_flag("--json", json, fmt::format("as JSON{} ({}.schema.json)", also, schema));
}

inline void add_form(CLI::App* command, print_form& form, const std::string& schema,
                     const std::string& also = {}) {
  CLI::Option* const json = add_json(command, form.json, schema, also);
  command->add_flag("--markdown", form.markdown, "as Markdown")->excludes(json);
}

/// Seconds of "90", "90s", "10m" or "2h". Throws usage_error.
double seconds_of(const char* option, const std::string& text);
template <class Seconds>
CLI::Option* add_seconds(CLI::App* command, const char* name, Seconds& to, const std::string& what) {
  const auto take = [&to, name](const std::string& text) { to = seconds_of(name, text); };
  return command->add_option_function<std::string>(name, take, what)->type_name("TIME")->check(not_empty);
}
/// `COMMAND`, which stands after --: what stands before it is refused. Only for the help is it an option.
void add_command_behind(command_line& line, CLI::App* command, const std::string& example);
/// Throws usage_error where there is none.
std::vector<std::string> command_behind(const command_line& line, const std::string& example);
/// --json FILE, of a command whose standard output is that of another program.
void add_json_file(CLI::App* command, std::filesystem::path& file, const char* what, const char* schema);

}  // namespace cufault
