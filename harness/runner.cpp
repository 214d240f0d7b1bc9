// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/runner.hpp"

#include "harness/frame.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <system_error>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_samples{20};

// "exited with 3", "died of SIGSEGV", "hung until the watchdog ended it"
std::string ending_text(const process_result& p) {
  if (p.how == ending::exited) return fmt::format("exited with {}", p.exit_code);
  if (p.how == ending::signalled) return fmt::format("died of {}", signal_name(p.signal));
  return "hung until the watchdog ended it";
}

void fail(observation& o, std::string why) {
  o.ended = outcome::harness_failed;
  o.why = std::move(why);
}

// The table in runner.hpp. What makes the channel untrustworthy comes first: without it nothing can be
// concluded from the rest.
void decide_ending(observation& o, const frame_reader& reader, const process_result& p) {
  const bool finished = p.how == ending::exited && p.exit_code == 0 && reader.done();
  if (!reader.garbled().empty()) {
    fail(o, fmt::format("garbled report: {}; the trial {}", reader.garbled(), ending_text(p)));
  } else if (reader.mid_frame()) {
    fail(o, fmt::format("its last report was cut short; the trial {}", ending_text(p)));
  } else if (reader.stopped()) {
    // It has said what it has to say; but if it then did not end properly, even that is in doubt.
    if (!finished) {
      fail(o, fmt::format("{}; then the trial {}{}", o.why, ending_text(p),
                          reader.done() ? "" : " before it was done"));
    } else if (p.stragglers > 0) {
      fail(o, fmt::format("{}; and the trial left {} processes running", o.why, p.stragglers));
    }
  } else if (p.how == ending::timed_out) {
    o.ended = outcome::timed_out;
  } else if (p.how == ending::signalled) {
    o.ended = outcome::crashed;
    o.why = signal_name(p.signal);
    if (p.signal == SIGKILL || p.signal == SIGTERM || p.signal == SIGINT || p.signal == SIGHUP) {
      // No library kills its process so; the kernel does where the host has no memory left, and people do.
      fail(o, fmt::format("the trial {}, from outside", ending_text(p)));
    } else if (!reader.done() && o.in_flight.empty()) {
      fail(o, fmt::format("the trial {} outside an observed call", ending_text(p)));
    }
  } else if (!o.in_flight.empty()) {
    o.ended = outcome::crashed;
    o.why = fmt::format("exit {}", p.exit_code);
  } else if (!finished) {
    fail(o, fmt::format("the trial {} {} it was done", ending_text(p), reader.done() ? "though" : "before"));
  } else if (p.stragglers > 0) {
    fail(o, fmt::format("the trial left {} processes running", p.stragglers));
  } else {
    o.ended = outcome::completed;
  }
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : b - a;
}

void wait_a_little(int stop) {
  pollfd waiting{stop, POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(between_samples.count())) > 0) throw interrupted{};
}

// What moved the device's memory although the trial is over; empty if nothing did. A driver may take its time
// to give a dead process's memory back, so this waits for it.
std::string memory_moved(std::uint64_t before, const runner_options& options) {
  const auto deadline = clock::now() + options.memory_settle;
  while (true) {
    const auto after = options.in_use();
    if (!after) return "device memory in use could be read before the trial, but not after it";
    if (distance(before, *after) <= options.memory_slack_bytes) return {};
    if (clock::now() >= deadline) {
      return fmt::format(
          "device memory in use by everybody {} by {} bytes over the trial: another process moved it",
          *after > before ? "grew" : "shrank", distance(before, *after));
    }
    wait_a_little(options.stop);
  }
}

// A folder for one trial, removed with all that is in it whatever the trial did to its permissions.
class scratch_folder {
 public:
  scratch_folder()
      : path_((fs::temp_directory_path() / fmt::format("{}{}-XXXXXX", scratch_prefix, getpid())).string()) {
    if (mkdtemp(path_.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), fmt::format("cannot make a folder {}", path_));
  }
  ~scratch_folder() {
    open_up(path_);
    std::error_code end, failed;
    const auto options = fs::directory_options::skip_permission_denied;
    for (auto at = fs::recursive_directory_iterator(path_, options, end);
         at != fs::recursive_directory_iterator(); at.increment(end)) {
      std::error_code gone;
      if (at->symlink_status(gone).type() == fs::file_type::directory) open_up(at->path());
    }
    fs::remove_all(path_, failed);
    if (failed)
      std::fprintf(stderr, "cufault: cannot remove %s: %s\n", path_.c_str(), failed.message().c_str());
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static void open_up(const fs::path& folder) {
    std::error_code refused;  // then it cannot be removed either, which is told
    fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, refused);
  }
  std::string path_;
};

enum class rung_state { fails, succeeds, inconclusive };

rung_state state_of(std::span<const observation> repeats) {
  auto state = rung_state::succeeds;
  for (const auto& o : repeats) {
    if (!comparable(o)) return rung_state::inconclusive;
    if (failed(signature_of(o))) state = rung_state::fails;  // one failure of a race is a failure
  }
  return state;
}

struct edge {
  std::int64_t failing = 0, succeeding = 0;
};

// Runs a ladder's rungs and refines its edge.
class climber {
 public:
  climber(const failure_case& c, const arm& a, const runner_options& options)
      : case_(c), arm_(a), options_(options) {}

  std::vector<observation> climb(const ladder& l) {
    // The edge is where the highest failing rung has a succeeding one above it.
    std::optional<edge> at;
    std::optional<std::int64_t> failing;
    for (const auto value : l.values) {
      const auto state = try_rung(value);
      if (state == rung_state::fails) {
        failing = value;
        at.reset();
      } else {
        if (failing && state == rung_state::succeeds) at = edge{*failing, value};
        failing.reset();
      }
    }
    if (at && l.refine_to > 0) refine(*at, static_cast<std::uint64_t>(l.refine_to));
    std::stable_sort(seen_.begin(), seen_.end(),
                     [](const observation& x, const observation& y) { return *x.rung < *y.rung; });
    if (at) {
      auto& told = seen_.front().measurements;
      told.push_back({"largest failing", static_cast<double>(at->failing), l.unit});
      told.push_back({"smallest succeeding", static_cast<double>(at->succeeding), l.unit});
    }
    return std::move(seen_);
  }

 private:
  void refine(edge& at, std::uint64_t width) {
    // Unsigned, so that rungs of any two signs have a gap that fits.
    const auto gap = [&] {
      return static_cast<std::uint64_t>(at.succeeding) - static_cast<std::uint64_t>(at.failing);
    };
    while (gap() > width) {
      const auto middle = at.failing + static_cast<std::int64_t>(gap() / 2);
      const auto first = seen_.size();
      const auto state = try_rung(middle);
      for (auto& o : std::span(seen_).subspan(first)) o.refined = true;
      if (state == rung_state::inconclusive) return;
      (state == rung_state::fails ? at.failing : at.succeeding) = middle;
    }
  }

  rung_state try_rung(std::int64_t value) {
    const auto first = seen_.size();
    for (int repeat = 0; repeat < arm_.repeats; ++repeat) {
      seen_.push_back(run_trial(case_, arm_, value, repeat, options_));
    }
    return state_of(std::span(seen_).subspan(first));
  }

  const failure_case& case_;
  const arm& arm_;
  const runner_options& options_;
  std::vector<observation> seen_;
};

}  // namespace

observation run_trial(const failure_case& c, const arm& a, std::optional<std::int64_t> rung, int repeat,
                      const runner_options& options) {
  spawn_options spawned;
  spawned.argv = options.command(c, a, rung, repeat);
  std::optional<scratch_folder> scratch;
  try {
    scratch.emplace();
  } catch (const std::system_error& error) {  // no such TMPDIR, not writable, full: of this trial only
    observation unmade;
    unmade.rung = rung;
    const char* where = std::getenv("TMPDIR");
    fail(unmade,
         fmt::format("no folder for the trial (TMPDIR={}): {}", where != nullptr ? where : "", error.what()));
    return unmade;
  }
  // Code that the driver compiles is neither kept from one trial to the next nor left in the home folder.
  spawned.environment = {{"CUFAULT_SCRATCH", scratch->path()},
                         {"CUDA_CACHE_PATH", scratch->path() + "/cache"}};
  for (const auto& [name, value] : a.environment) spawned.environment[name] = value;
  spawned.preload = a.preload;
  spawned.timeout = a.timeout;

  std::optional<std::uint64_t> before;
  if (a.needs == need::gpu && options.in_use) before = options.in_use();

  frame_reader reader;
  process_result process;
  try {
    process = run_process(
        spawned, [&](std::string_view bytes) { reader.feed(bytes); }, options.stop);
  } catch (const std::system_error& error) {  // not started, or not to be ended
    auto seen = reader.so_far();
    seen.rung = rung;
    fail(seen, error.what());
    return seen;
  }
  if (process.how == ending::interrupted) throw interrupted{};

  auto seen = reader.so_far();
  seen.rung = rung;
  if (process.how == ending::exited) seen.exit_code = process.exit_code;
  if (process.how == ending::signalled) seen.signal = process.signal;
  seen.milliseconds = process.milliseconds;
  seen.stdout_text = std::move(process.stdout_text);
  seen.stderr_text = std::move(process.stderr_text);
  decide_ending(seen, reader, process);
  if (!seen.in_flight.empty() && comparable(seen))
    seen.findings.insert(seen.findings.end(), reader.foreseen().begin(), reader.foreseen().end());

  // Also after a harness failure: the next trial counts on a quiet device. But that verdict is not softened.
  if (before) {
    if (auto moved = memory_moved(*before, options); !moved.empty()) {
      if (seen.ended != outcome::harness_failed) seen.ended = outcome::not_provoked;
      seen.why = seen.why.empty() ? std::move(moved) : seen.why + "; " + moved;
    }
  }
  return seen;
}

arm_result run_arm(const failure_case& c, const arm& a, const runner_options& options) {
  arm_result result;
  result.name = a.name;
  result.kind = a.kind;
  result.claims = a.claims;
  result.against = a.against;
  result.twin_of = a.twin_of;
  result.races = a.races;
  result.failures = c.failures;
  result.summary = a.summary;
  if (a.needs == need::gpu && !options.no_gpu.empty()) {
    observation absent;
    absent.ended = outcome::not_provoked;
    absent.why = "no GPU: " + options.no_gpu;
    result.trials.push_back(std::move(absent));
  } else if (a.other_cublas && !options.other_cublas) {
    observation absent;
    absent.ended = outcome::not_provoked;
    absent.why = "needs a second cuBLAS: ci/fetch-cublas VERSION FOLDER, then CUFAULT_OTHER_CUBLAS=FOLDER";
    result.trials.push_back(std::move(absent));
  } else if (a.rungs) {
    result.trials = climber(c, a, options).climb(*a.rungs);
  } else {
    for (int repeat = 0; repeat < a.repeats; ++repeat) {
      result.trials.push_back(run_trial(c, a, std::nullopt, repeat, options));
    }
  }
  return result;
}

}  // namespace cufault
