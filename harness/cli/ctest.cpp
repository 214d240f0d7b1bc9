// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What CTest asks for around cases.
#include "harness/cli/command_line.hpp"
#include "harness/doctor/loader.hpp"
#include "harness/run/resources.hpp"
#include "harness/run/scratch_folder.hpp"
#include "harness/run/stack.hpp"
#include "harness/system/process.hpp"
#include "reports/base/files.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/record.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

/// By which a floor knows of the preflight before it.
fs::path preflight_stamp(const fs::path& records) {
  return records / "preflight-stamp";
}

std::string spec_of(const nlohmann::json& stack) {
  return resource_spec(stack.value("devices", std::vector<std::string>())).dump(2) + "\n";
}

void write_spec(const fs::path& file, const nlohmann::json& stack) {
  if (fs::exists(file) && !fs::is_regular_file(file))
    throw usage_error(fmt::format("{}: it is there and is not a file; give another path", file.string()));
  write_whole(file, spec_of(stack));
}

/// What a stack without a GPU comes to. Throws usage_error where libraries are wrong, or a GPU is required.
int code_of(const nlohmann::json& stack) {
  if (const std::string why = stack.value("error", std::string()); !why.empty()) throw usage_error(why);
  if (stack["gpu"].is_object()) return 0;
  const std::string why = stack.value("no_gpu", std::string("unknown"));
  if (gpu_required()) throw usage_error("CUFAULT_REQUIRE_GPU is set and there is no GPU: " + why, exit_gate);
  return exit_skipped;
}

int preflight(const target& where, const fs::path& records, const fs::path& resources) {
  fs::create_directories(records);
  const nvml management;
  const nlohmann::json stack = read_stack(own_path(), where, management);
  write_whole(preflight_stamp(records), stack["gpu"].is_object() ? "gpu\n" : "no gpu\n");
  if (!resources.empty()) write_spec(resources, stack);
  print_stack(std::cout, stack);
  std::cout << std::flush;
  const int code = code_of(stack);
  if (code != 0)
    fmt::print(std::cout, "no GPU: {}; only what needs none will run\n",
               stack.value("no_gpu", std::string("unknown")));
  return code;
}

int write_resources(const target& where, const fs::path& file) {
  const nvml management;
  const nlohmann::json stack = read_stack(own_path(), where, management);
  const int code = code_of(stack);
  if (file.empty() || file == "-")
    std::cout << spec_of(stack);
  else
    write_spec(file, stack);
  return code;
}

/// CTest writes where its files are, and an installed tree may be read-only, or another user's.
int write_ctest_files(const fs::path& folder) {
  const fs::path installed = ctest_folder(), own = fs::absolute(folder).lexically_normal();
  if (!fs::exists(installed))
    throw usage_error("this cufault is not installed; in its source tree: ctest --preset quick");
  fs::create_directories(own);
  write_whole(own / "CTestTestfile.cmake",
              fmt::format("set(CUFAULT_PROGRAM [==[{}]==])\nset(CUFAULT_TESTS_FOLDER [==[{}]==])\n"
                          "set(CUFAULT_OWN_RECORDS [==[{}]==])\n"
                          "include(\"${{CUFAULT_TESTS_FOLDER}}/installed_tests.cmake\")\n",
                          own_path().string(), installed.string(), (own / "records").string()));
  fmt::print(std::cout, "ctest --test-dir {} -L quick\n", shell_word(folder.string()));
  return 0;
}

bool process_exists(const std::string& pid) {
  std::error_code unseen;
  return fs::exists("/proc/" + pid, unseen);
}

/// What trials that are over have left: this user's folders made since `then` by runs that are no more, and
/// processes of such runs.
std::vector<std::string> left_behind(fs::file_time_type then) {
  std::vector<std::string> found;
  std::error_code no_folder, end;  // a folder that cannot be read, or read on, has no more to show
  for (auto at = fs::directory_iterator(fs::temp_directory_path(no_folder), end);
       at != fs::directory_iterator(); at.increment(end)) {
    const std::string name = at->path().filename();
    if (!name.starts_with(scratch_prefix)) continue;
    const std::string pid = name.substr(scratch_prefix.size(), name.rfind('-') - scratch_prefix.size());
    struct stat folder {};
    std::error_code gone;
    const auto made = at->last_write_time(gone);
    if (gone || made < then || lstat(at->path().c_str(), &folder) != 0 || folder.st_uid != geteuid())
      continue;
    if (!process_exists(pid)) found.push_back(at->path().string());
  }
  for (auto at = fs::directory_iterator("/proc", end); at != fs::directory_iterator(); at.increment(end)) {
    std::error_code not_ours;
    if (fs::read_symlink(at->path() / "exe", not_ours) != own_path()) continue;
    std::ifstream line(at->path() / "cmdline", std::ios::binary);
    std::string word, before;
    for (; std::getline(line, word, '\0'); before = word) {
      if (before == "--parent" && !process_exists(word))
        found.push_back(fmt::format("process {}", at->path().filename().string()));
    }
  }
  return found;
}

/// What the driver wrote to the home folder since `then`, for a trial or another program: nobody can tell.
std::vector<std::string> written_to_home(fs::file_time_type then) {
  std::vector<std::string> found;
  const char* home = std::getenv("HOME");
  const fs::path cache = fs::path(home != nullptr ? home : "/nonexistent") / ".nv";
  std::error_code end;
  const auto closed = fs::directory_options::skip_permission_denied;
  for (auto at = fs::recursive_directory_iterator(cache, closed, end);
       at != fs::recursive_directory_iterator(); at.increment(end)) {
    std::error_code gone;
    const auto written = at->last_write_time(gone);
    if (!gone && written >= then) found.push_back(at->path().string());
  }
  return found;
}

int check_floor(const fs::path& records, int at_least) {
  std::error_code none;
  const auto since = fs::last_write_time(preflight_stamp(records), none);
  if (none)
    throw usage_error(
        fmt::format("no preflight has run in {}; run the tests through ctest", records.string()));
  std::string seen;
  std::getline(std::ifstream(preflight_stamp(records)), seen);
  const bool on_gpu = seen == "gpu";
  fs::remove(preflight_stamp(records), none);

  std::set<std::string> executed;
  for (const fs::path& file : records_in({records})) {
    if (fs::last_write_time(file) < since) continue;
    executed.merge(executed_cases(load_record(file).cases, on_gpu));
  }
  std::cout << fmt::format("{} cases were executed{}; the floor is {}\n", executed.size(),
                           on_gpu ? " on the GPU" : "", at_least);
  if (const auto written = written_to_home(since); !written.empty())
    std::cout << fmt::format("note: a trial or another program wrote to the home folder meanwhile: {}\n",
                             fmt::join(written, ", "));
  if (const auto left = left_behind(since); !left.empty())
    throw usage_error(fmt::format("left behind by trials: {}", fmt::join(left, ", ")), exit_gate);
  if (static_cast<int>(executed.size()) >= at_least) return 0;
  throw usage_error(
      "too few cases ran for the result to mean anything; see the skipped tests above, or CUFAULT_FLOOR",
      exit_gate);
}

void add_ctest_files(command_line& line) {
  const auto folder = std::make_shared<fs::path>();
  line.command("ctest-files", "For CTest: the cases of an installed cufault as tests, in a folder of yours",
               "Prints the line that runs them. Records go to FOLDER/records. CUFAULT_TIER, CUFAULT_RECORDS, "
               "CUFAULT_MODE, CUFAULT_JOBS and CUFAULT_PYTHON choose when CTest runs.\n"
               "Exit codes: 0; 2 the folder cannot be written, or this cufault is not installed.",
               [folder] { return write_ctest_files(*folder); })
      ->add_option("FOLDER", *folder, "where to write them")
      ->required()
      ->check(not_empty);
}

void add_preflight(command_line& line) {
  struct given {
    target where;
    std::filesystem::path records = "records", resources;
  };
  const auto said = std::make_shared<given>();
  CLI::App* preflight_command =
      line.command("preflight", "For CTest: is there a GPU?",
                   "Exit codes: 0 there is one; 1 there is none, and one is required; 2 a library cannot be "
                   "loaded, or bad input; 77 there is none.",
                   [said] { return preflight(said->where, said->records, said->resources); });
  add_named(preflight_command, "--records", said->records, "DIR", "folder of the records");
  add_named(preflight_command, "--resources", said->resources, "FILE",
            "write the GPUs that are here as a resource spec file");
  add_target(preflight_command, said->where);
}

void add_resources(command_line& line) {
  struct given {
    target where;
    std::filesystem::path file;
  };
  const auto said = std::make_shared<given>();
  CLI::App* resources =
      line.command("resources", "For CTest: the GPUs that are here, as a resource spec file",
                   "ctest --resource-spec-file FILE then gives each case a GPU. From CMake 3.28 on the "
                   "presets do so by themselves.\nExit codes: 0; 1 no GPU, and one is required; 2 a library "
                   "cannot be loaded, or bad input; 77 there is no GPU (the file has one named none).",
                   [said] { return write_resources(said->where, said->file); });
  resources->add_option("FILE", said->file, "where to write it (default: standard output)");
  add_libraries(resources, said->where);
}

void add_floor(command_line& line) {
  struct given {
    std::filesystem::path records = "records";
    int at_least = 1;
  };
  const auto said = std::make_shared<given>();
  CLI::App* floor = line.command(
      "floor", "For CTest: were enough cases executed since the preflight, and nothing left behind?",
      "Exit codes: 0 they were; 1 too few, or something was left behind; 2 no preflight has run, or bad "
      "input.",
      [said] { return check_floor(said->records, said->at_least); });
  add_named(floor, "--records", said->records, "DIR", "folder of the records");
  floor->add_option("--at-least", said->at_least, "cases that must have been executed")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->envname("CUFAULT_FLOOR")
      ->capture_default_str();
}

const register_command ctest_files_here{
    "ctest-files", add_ctest_files, also(section::more, 7), {needs::source_tree}};
const register_command preflight_here{
    "preflight", add_preflight, also(section::more, 8), {needs::source_tree}};
const register_command resources_here{
    "resources", add_resources, also(section::more, 9), {needs::source_tree}};
const register_command floor_here{"floor", add_floor, also(section::more, 10), {needs::source_tree}};

}  // namespace
}  // namespace cufault
