// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/runner.hpp"

#include "harness/model/frame.hpp"
#include "harness/run/mps_daemon.hpp"
#include "harness/run/scratch_folder.hpp"
#include "harness/run/shared_process.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_samples{20};
constexpr std::string_view own_name = "<cufault>";

// E.g. "exited with 3", "died of SIGSEGV", "hung until the watchdog ended it"
std::string ending_text(const process_result& p) {
  if (p.how == ending::exited) return fmt::format("exited with {}", p.exit_code);
  if (p.how == ending::signalled) return fmt::format("died of {}", signal_name(p.signal));
  return "hung until the watchdog ended it";
}

void fail(observation& o, std::string why) {
  o.ended = outcome::harness_failed;
  o.why = std::move(why);
}

// Implements the table in runner.hpp. An untrustworthy channel is tested first, because it invalidates everything else.
void decide_ending(observation& o, const frame_reader& reader, const process_result& p) {
  const bool finished = p.how == ending::exited && p.exit_code == 0 && reader.done();
  if (!reader.garbled().empty()) {
    fail(o, fmt::format("garbled report: {}; the trial {}", reader.garbled(), ending_text(p)));
  } else if (reader.mid_frame()) {
    fail(o, fmt::format("its last report was cut short; the trial {}", ending_text(p)));
  } else if (reader.stopped()) {
    // The trial reported its end. If the process did not then exit properly, the report is in doubt.
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
      // Libraries do not send SIGKILL; the kernel does when host memory runs out, and people do.
      fail(o, fmt::format("the trial {}, from outside", ending_text(p)));
    } else if (!reader.done() && call_in_flight(o) == nullptr) {
      fail(o, fmt::format("the trial {} outside an observed call", ending_text(p)));
    }
  } else if (call_in_flight(o) != nullptr) {
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

void wait_for(std::chrono::milliseconds time, int stop) {
  pollfd waiting{stop, POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(time.count())) > 0) throw interrupted{};
}

struct memory_change {
  std::string why;   // empty if memory did not move
  bool seen = true;  // false if memory could not be read again
};

// Reports a change of device memory across the trial. Waits first, because a driver may return a dead process's memory late.
memory_change change_of_memory(std::uint64_t before, const runner_options& options) {
  const auto deadline = clock::now() + options.memory_settle;
  while (true) {
    const auto after = options.in_use();
    if (!after) return {"device memory in use could be read before the trial, but not after it", false};
    if (distance(before, *after) <= options.memory_slack_bytes) return {};
    if (clock::now() >= deadline) {
      return {fmt::format(
          "device memory in use by everybody {} by {} bytes over the trial: another process moved it",
          *after > before ? "grew" : "shrank", distance(before, *after))};
    }
    wait_for(between_samples, options.stop);
  }
}

struct trial_seen {
  observation what;
  bool memory_moved = false;  // by another process
  bool out_of_time = false;   // outside an observed call, or in a row of a table
};

bool a_row_timed_out(const observation& o) {
  return std::any_of(o.calls.begin(), o.calls.end(),
                     [](const call_record& call) { return call.what.status == status_timed_out; });
}

trial_seen run_once(const failure_case& c, const arm& a, std::optional<std::int64_t> level, int repeat,
                    const runner_options& options) {
  const bool shares = options.shared != nullptr && !shared_process_key(a).empty();
  if (options.shared != nullptr && !shares) options.shared->make_way_for(a);
  std::optional<std::uint64_t> before;
  if (a.needs == need::gpu && options.in_use) before = options.in_use();

  frame_reader reader;
  const auto on_report = [&](std::string_view bytes) { reader.feed(bytes); };
  process_result process;
  try {
    if (shares) {
      process = options.shared->run(a, options.shared_command(a), options.shared_request(c, a, repeat),
                                    options.mps_keeper, on_report, options.stop);
    } else {
      const scratch_folder scratch;
      std::optional<mps_daemon> mps;
      spawn_options spawned;
      spawned.argv = options.command(c, a, level, repeat);
      // Keeps code that the driver compiles out of later trials and out of the home folder.
      spawned.environment = {{"CUFAULT_SCRATCH", scratch.path().string()},
                             {"CUDA_CACHE_PATH", scratch.path().string() + "/cache"}};
      for (const auto& [name, value] : a.environment) spawned.environment[name] = value;
      if (a.under_mps)
        spawned.environment.merge(mps.emplace(options.mps_keeper, a.environment, options.stop).variables());
      spawned.preload = a.preload;
      spawned.timeout = a.timeout;
      process = run_process(spawned, on_report, options.stop);
    }
  } catch (const std::system_error& error) {  // no folder, not started, or not to be ended
    auto seen = reader.so_far();
    seen.level = level;
    fail(seen, error.what());
    return {std::move(seen)};
  } catch (const not_provoked& reason) {
    observation absent;
    absent.level = level;
    absent.ended = outcome::not_provoked;
    absent.why = reason.what();
    return {std::move(absent)};
  }
  if (process.how == ending::interrupted) throw interrupted{};

  auto seen = reader.so_far();
  seen.level = level;
  if (process.how == ending::exited) seen.exit_code = process.exit_code;
  if (process.how == ending::signalled) seen.signal = process.signal;
  seen.milliseconds = process.milliseconds;
  seen.stdout_text = without_own_paths(process.stdout_text, options.own_paths);
  seen.stderr_text = without_own_paths(process.stderr_text, options.own_paths);
  decide_ending(seen, reader, process);
  const bool late = reader.out_of_time() || ran_out_of_time(seen) || a_row_timed_out(seen);

  // Also after a harness failure, since the next trial needs a quiet device. That verdict stays.
  bool moved = reader.memory_moved();
  if (before) {
    if (memory_change change = change_of_memory(*before, options); !change.why.empty()) {
      moved |= change.seen;
      if (seen.ended != outcome::harness_failed) seen.ended = outcome::not_provoked;
      seen.why = seen.why.empty() ? std::move(change.why) : seen.why + "; " + change.why;
    }
  }
  return {std::move(seen), moved, late};
}

/// Waits until device memory in use has not changed for options.memory_rest, at most five times options.memory_settle.
void wait_for_rest(const runner_options& options) {
  if (!options.in_use) {  // for an arm that shares its GPU: waits the same time without looking
    wait_for(options.memory_rest, options.stop);
    return;
  }
  const auto deadline = clock::now() + 5 * options.memory_settle;
  auto since = clock::now();
  auto in_use = options.in_use();
  while (in_use && clock::now() - since < options.memory_rest && clock::now() < deadline) {
    wait_for(between_samples, options.stop);
    const auto now = options.in_use();
    if (!now || *now != *in_use) since = clock::now();
    in_use = now;
  }
}

/// Repeats a trial up to three times if another process moved device memory: a driver may return memory later than a trial ends. Repeats
/// once if the trial ran out of time: a true hang repeats, a slow start seldom does. A call that did not return is a result and not
/// repeated. The last result counts.
observation run_again_if_inconclusive(const failure_case& c, const arm& a, std::optional<std::int64_t> level,
                                      int repeat, const runner_options& options) {
  int for_memory = 3, for_time = 1;
  while (true) {
    trial_seen seen = run_once(c, a, level, repeat, options);
    if (seen.memory_moved && seen.what.ended == outcome::not_provoked && for_memory-- > 0)
      wait_for_rest(options);
    else if (!seen.out_of_time || for_time-- <= 0)
      return std::move(seen.what);
  }
}

enum class level_state { fails, succeeds, inconclusive };

level_state state_of(std::span<const observation> repeats) {
  auto state = level_state::succeeds;
  for (const auto& o : repeats) {
    if (!comparable(o)) return level_state::inconclusive;
    if (failed(signature_of(o))) state = level_state::fails;  // one failure of a race is a failure
  }
  return state;
}

struct edge {
  std::int64_t failing = 0, succeeding = 0;
};

// Runs the levels of a range and refines its edge.
class level_search {
 public:
  level_search(const failure_case& c, const arm& a, const runner_options& options)
      : case_(c), arm_(a), options_(options) {}

  std::vector<observation> search(const level_range& l) {
    // The edge lies between the highest failing level and a succeeding level above it.
    std::optional<edge> at;
    const std::int64_t* failing = nullptr;
    for (const std::int64_t& value : l.values) {
      const auto state = try_level(value);
      if (state == level_state::fails) {
        failing = &value;
        at.reset();
      } else {
        if (failing && state == level_state::succeeds) at = edge{*failing, value};
        failing = nullptr;
      }
    }
    if (at && l.refine_to > 0) refine(*at, static_cast<std::uint64_t>(l.refine_to));
    std::stable_sort(seen_.begin(), seen_.end(),
                     [](const observation& x, const observation& y) { return *x.level < *y.level; });
    if (at) {
      auto& told = seen_.front().measurements;
      told.push_back({"largest failing", static_cast<double>(at->failing), l.unit});
      told.push_back({"smallest succeeding", static_cast<double>(at->succeeding), l.unit});
    }
    return std::move(seen_);
  }

 private:
  void refine(edge& at, std::uint64_t width) {
    // Unsigned, so that the gap between any two levels fits.
    const auto gap = [&] {
      return static_cast<std::uint64_t>(at.succeeding) - static_cast<std::uint64_t>(at.failing);
    };
    while (gap() > width) {
      const auto middle = at.failing + static_cast<std::int64_t>(gap() / 2);
      const auto first = seen_.size();
      const auto state = try_level(middle);
      for (auto& o : std::span(seen_).subspan(first)) o.refined = true;
      if (state == level_state::inconclusive) return;
      (state == level_state::fails ? at.failing : at.succeeding) = middle;
    }
  }

  level_state try_level(std::int64_t value) {
    const auto first = seen_.size();
    for (int repeat = 0; repeat < arm_.repeats; ++repeat) {
      seen_.push_back(run_again_if_inconclusive(case_, arm_, value, repeat, options_));
    }
    return state_of(std::span(seen_).subspan(first));
  }

  const failure_case& case_;
  const arm& arm_;
  const runner_options& options_;
  std::vector<observation> seen_;
};

}  // namespace

observation run_trial(const failure_case& c, const arm& a, std::optional<std::int64_t> level, int repeat,
                      const runner_options& options) {
  return run_once(c, a, level, repeat, options).what;
}

std::string without_own_paths(std::string_view text, const std::vector<std::filesystem::path>& own) {
  std::string kept(text);
  for (const auto& folder : own) {
    const std::string begin = folder.lexically_normal().string();
    if (begin.size() < 2) continue;  // "/" contains everything
    const auto is_of_path = [&](std::size_t at) {
      const auto is_word = [&](std::size_t i) {
        return i < kept.size() &&
               (std::isalnum(static_cast<unsigned char>(kept[i])) != 0 || kept[i] == '_' || kept[i] == '-');
      };
      return is_word(at) || (at < kept.size() && kept[at] == '.' &&
                             is_word(at + 1));  // a full stop ends a sentence, not the path
    };
    for (std::size_t at = 0; (at = kept.find(begin, at)) != kept.npos;) {
      const auto end = at + begin.size();
      if ((at > 0 && is_of_path(at - 1)) || is_of_path(end)) {
        at = end;
        continue;
      }
      kept.replace(at, begin.size(), own_name);
      at += own_name.size();
    }
  }
  return kept;
}

arm_result result_of(const failure_case& c, const arm& a) {
  arm_result result;
  result.name = a.name;
  result.kind = a.kind;
  result.claims = a.claims;
  result.against = a.against;
  result.counterpart_of = a.counterpart_of;
  result.made_up = a.kind != arm_kind::control && (a.made_up || c.made_up);
  result.races = a.races;
  result.undefined = a.undefined;
  result.second_cublas = a.other_cublas;
  result.any_architecture = a.any_architecture;
  result.rate_depends_on_load = a.rate_depends_on_load;
  result.summary = a.summary;
  return result;
}

std::string why_not_run(const arm& a, const runner_options& options) {
  if (!a.framework.empty() && !options.no_framework)
    return "needs a Python: cufault run --python /path/to/env/bin/python";
  std::string why = a.framework.empty() ? std::string() : options.no_framework(a);
  if (a.needs == need::gpu && !options.no_gpu.empty())
    why = fmt::format("no GPU: {}{}{}", options.no_gpu, why.empty() ? "" : "; ", why);
  if (!why.empty()) return why;
  if (a.other_cublas && !options.other_cublas)
    return "needs a second cuBLAS: ci/fetch-cublas VERSION FOLDER, then CUFAULT_OTHER_CUBLAS=FOLDER";
  return {};
}

arm_result run_arm(const failure_case& c, const arm& a, const runner_options& options, int first) {
  arm_result result = result_of(c, a);
  if (std::string why = why_not_run(a, options); !why.empty()) {
    observation absent;
    absent.ended = outcome::not_provoked;
    absent.why = std::move(why);
    result.trials.push_back(std::move(absent));
  } else if (a.levels) {
    result.trials = level_search(c, a, options).search(*a.levels);
  } else {
    for (int repeat = first; repeat < first + a.repeats; ++repeat) {
      result.trials.push_back(run_again_if_inconclusive(c, a, std::nullopt, repeat, options));
    }
  }
  return result;
}

}  // namespace cufault
