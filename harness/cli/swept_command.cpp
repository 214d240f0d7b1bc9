// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// One run of a command that is swept.
#include "harness/cli/swept_command.hpp"

#include "harness/model/errors.hpp"
#include "harness/run/nvml.hpp"
#include "harness/system/child.hpp"
#include "harness/system/elf_file.hpp"
#include "harness/system/host_memory.hpp"
#include "harness/system/shared_memory.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"
#include "reports/explain/printed_output.hpp"

#include <fmt/format.h>

#include <cxxabi.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

namespace fs = std::filesystem;

namespace cufault::program_sweep {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kept_output = 4U << 20;  // of each stream of a run

using shared_files = std::map<std::string, std::array<std::int64_t, 3>>;

/// Files of shared memory that are this user's, with what tells a file from one of the same name, or from itself written again.
shared_files shared_memory() {
  shared_files found;
  std::error_code none;
  for (fs::directory_iterator at("/dev/shm", none), end; !none && at != end; at.increment(none)) {
    struct stat of {};
    if (lstat(at->path().c_str(), &of) == 0 && of.st_uid == geteuid())
      found[at->path().filename()] = {static_cast<std::int64_t>(of.st_ino), of.st_ctim.tv_sec,
                                      of.st_ctim.tv_nsec};
  }
  return found;
}

run_seen seen_of(process_result process, const shared_files& before, const fs::path& log) {
  run_seen seen{std::move(process), read_log(log), {}};
  if (seen.process.how == ending::interrupted) throw interrupted{};
  for (const auto& [file, state] : shared_memory())
    if (const auto same = before.find(file); same == before.end() || same->second != state)
      seen.shared_memory.push_back(file);
  std::error_code none;
  fs::remove(log, none);
  return seen;
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

spawn_options command_runs::options(const std::string& rules, const std::string& fail, milliseconds timeout,
                                    const fs::path& log) const {
  spawn_options all;
  all.argv = argv;
  all.environment = {{"LD_PRELOAD", preload}, {"CUFAULT_RULES", rules}, {"CUFAULT_FAIL", fail},
                     {"CUFAULT_STRICT", "1"}, {"CUFAULT_LOG", log},     {"CUFAULT_COUNTS", ""}};
  all.timeout = timeout;
  all.keep_output = kept_output;
  return all;
}

run_seen command_runs::run(const std::string& rules, const std::string& fail, milliseconds timeout,
                           const fs::path& scratch, int stop) const {
  const fs::path log = scratch / "anew";
  const auto before = shared_memory();
  return seen_of(run_process(options(rules, fail, timeout, log), {}, stop), before, log);
}

std::optional<run_seen> command_runs::run_forked(const std::string& rules, const std::string& fail,
                                                 milliseconds timeout, const fs::path& scratch, int stop) {
  if (!why_anew_.empty()) return {};
  const fs::path log = scratch / "forked";
  if (!forks_) forks_ = std::make_unique<forking_process>(options(rules, "", timeout, log), stop);
  std::error_code none;
  fs::remove(log, none);
  const auto before = shared_memory();
  if (auto process = forks_->run(rules + '\0' + fail, timeout, {}, stop))
    return seen_of(std::move(*process), before, log);
  why_anew_ = forks_->why_not();
  forks_.reset();
  return {};
}

// ---- places ----

namespace {

/// By file and offset. Empty for a file without debug information.
std::string line_at(const std::string& file, const std::string& offset, int stop) {
  static std::map<std::string, std::optional<std::uint64_t>> base_with_lines;
  static std::map<std::pair<std::string, std::string>, std::string> known;
  static const std::string program = as_a_shell_finds("addr2line");
  const auto [base, is_new] = base_with_lines.try_emplace(file);
  if (is_new) try {
      const elf_facts elf = read_elf(file, open_readable(file));
      if (program.starts_with('/') && section_named(elf, ".debug_line") != nullptr) base->second = elf.base;
    } catch (const input_error&) {
    }
  if (!base->second) return {};
  const auto [place, is_first] = known.try_emplace({file, offset});
  if (!is_first) return place->second;
  spawn_options asks;
  const std::uint64_t address = *base->second + std::stoull(offset, nullptr, 16);
  asks.argv = {program, "-C", "-f", "-e", file, fmt::format("{:#x}", address - 1)};
  asks.environment = {{"LD_PRELOAD", ""}};
  const std::string said = run_process(asks, {}, stop).stdout_text;
  const auto first = said.find('\n');
  if (first == said.npos || said.find('?') != said.npos) return {};
  std::string at = said.substr(first + 1, said.find('\n', first + 1) - first - 1);
  at = at.substr(0, at.find(" (disc"));
  return place->second = fmt::format("{} at {}", said.substr(0, first), at.substr(at.rfind('/') + 1));
}

std::string demangled(const std::string& symbol) {
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &failed), std::free);
  const std::string name = failed == 0 ? text.get() : symbol;
  return name.substr(0, name.find('('));
}

}  // namespace

std::vector<std::string> places_of(const std::vector<logged_frame>& frames, int stop) {
  std::vector<std::string> places;
  for (const logged_frame& each : frames) {
    const std::string file = fs::path(each.file).filename(), line = line_at(each.file, each.offset, stop);
    places.push_back(!line.empty()         ? line
                     : each.symbol.empty() ? fmt::format("{}+{}", file, each.offset)
                                           : fmt::format("{} in {}", demangled(each.symbol), file));
  }
  return places;
}

std::string python_place_of(const std::string& text) {
  const printed_output found = printed_output_of(text);
  const std::string frame = found.tracebacks.empty() ? "" : found.tracebacks.front().frame;
  return frame.substr(0, frame.rfind(": "));
}

// ---- memory ----

std::vector<memory_use> memory_taken_by(const std::function<void()>& work) {
  constexpr std::size_t most_gpus = 64;
  const shared_array<std::uint64_t> most(most_gpus);
  const pid_t meter = fork_child([&] {
    const nvml management;
    for (auto all = management.memory(); !all.empty(); all = management.memory()) {
      for (std::size_t i = 0; i < std::min(all.size(), most_gpus); ++i)
        most[i] = std::max(most[i], all[i].used);
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  const auto end_meter = [&] {
    kill(meter, SIGKILL);
    wait_for(meter);
  };
  try {
    work();
  } catch (...) {
    end_meter();
    throw;
  }
  end_meter();
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  std::vector<memory_use> found{
      {static_cast<std::uint64_t>(children.ru_maxrss) * 1024, available_host_memory()}};
  const nvml management;
  const auto now = management.memory();
  for (std::size_t i = 0; i < std::min(now.size(), most_gpus); ++i)
    found.push_back({most[i] - std::min(most[i], now[i].used), now[i].total - now[i].used});
  return found;
}

}  // namespace cufault::program_sweep
