// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// One run of a command that is swept.
#include "harness/cli/swept_command.hpp"

#include "harness/cli/cli.hpp"
#include "harness/model/errors.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <system_error>

namespace fs = std::filesystem;

namespace cufault::program_sweep {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds oracle_timeout{600'000};
constexpr std::size_t kept_output = 4U << 20;  // of each stream of a run

/// Files of shared memory that are this user's, with what tells a file from one of the same name, or from itself written again.
std::map<std::string, std::array<std::int64_t, 3>> shared_memory() {
  std::map<std::string, std::array<std::int64_t, 3>> found;
  std::error_code none;
  for (fs::directory_iterator at("/dev/shm", none), end; !none && at != end; at.increment(none)) {
    struct stat of {};
    if (lstat(at->path().c_str(), &of) == 0 && of.st_uid == geteuid())
      found[at->path().filename()] = {static_cast<std::int64_t>(of.st_ino), of.st_ctim.tv_sec,
                                      of.st_ctim.tv_nsec};
  }
  return found;
}

}  // namespace

std::string last_words(const std::string& text) {
  const std::string last = last_line(text);
  return last.empty() ? "it printed nothing on standard error" : "it said: " + one_line(last);
}

std::string ended(const process_result& p) {
  return p.how == ending::exited      ? fmt::format("exit {}", p.exit_code)
         : p.how == ending::signalled ? signal_name(p.signal)
                                      : "its timeout";
}

run_seen command_runs::run(const std::string& rules, const std::string& fail, milliseconds timeout,
                           const fs::path& scratch, int stop) const {
  const fs::path log = scratch / "log";
  spawn_options options;
  options.argv = argv;
  options.environment = {{"LD_PRELOAD", preload}, {"CUFAULT_RULES", rules}, {"CUFAULT_FAIL", fail},
                         {"CUFAULT_STRICT", "1"}, {"CUFAULT_LOG", log},     {"CUFAULT_COUNTS", ""}};
  options.timeout = timeout;
  options.keep_output = kept_output;
  const auto before = shared_memory();
  run_seen seen;
  seen.process = run_process(options, {}, stop);
  if (seen.process.how == ending::interrupted) throw interrupted{};
  for (const auto& [file, state] : shared_memory())
    if (const auto same = before.find(file); same == before.end() || same->second != state)
      seen.shared_memory.push_back(file);
  seen.log = read_log(log);
  std::error_code none;
  fs::remove(log, none);
  return seen;
}

bool command_runs::accepts(const process_result& process, std::string_view outcome, const std::string& fail,
                           const fs::path& scratch, int stop) const {
  const fs::path output = scratch / "stdout", errors = scratch / "stderr";
  std::ofstream(output) << process.stdout_text;
  std::ofstream(errors) << process.stderr_text;
  spawn_options options;
  options.argv = {"/bin/sh", "-c", ok};
  options.environment = {
      {"CUFAULT_RUN_STDOUT", output},
      {"CUFAULT_RUN_STDERR", errors},
      {"CUFAULT_RUN_OUTCOME", std::string(outcome)},
      {"CUFAULT_RUN_FAILED", fail},
      {"CUFAULT_RUN_EXIT", process.how == ending::exited ? fmt::format("{}", process.exit_code) : ""}};
  options.timeout = oracle_timeout;
  const process_result said = run_process(options, {}, stop);
  if (said.how == ending::interrupted) throw interrupted{};
  const bool answered = said.how == ending::exited && said.exit_code != 126 && said.exit_code != 127;
  if (!answered)
    throw usage_error(fmt::format("--ok {}: it does not answer; it ended by {}; {}", one_line(ok),
                                  ended(said), last_words(said.stderr_text)));
  return said.exit_code == 0;
}

}  // namespace cufault::program_sweep
