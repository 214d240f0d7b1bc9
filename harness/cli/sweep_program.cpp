// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault sweep -- COMMAND: two clean runs list the calls of the driver, or of libraries, by call site; then the command again with one of them failed, each in turn.
// Runs side by side are in lanes, processes of ours. What was seen is written to the record when it is known, so that a sweep that was
// killed can go on.
#include "harness/cli/cli.hpp"
#include "harness/cli/commit.hpp"
#include "harness/cli/inject.hpp"
#include "harness/cli/sweep.hpp"
#include "harness/cli/sweep_journal.hpp"
#include "harness/cli/swept_command.hpp"
#include "harness/injection/program_sweep_record.hpp"
#include "harness/model/errors.hpp"
#include "harness/run/lanes.hpp"
#include "harness/system/child.hpp"
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/json_input.hpp"
#include "reports/printers/table.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault::program_sweep {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int exit_rows_left = 3;
constexpr milliseconds clean_timeout{600'000}, least_timeout{5'000};
constexpr int repetitions = 3;
constexpr std::size_t one_compared_of = 10;  // in both ways: forked and started anew

int processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

// ---- the sweep ----

class sweep {
 public:
  explicit sweep(const program_sweep_arguments& asked) : asked_(asked) {
    command_.argv = asked.command;
    command_.argv[0] = program_path(asked.command[0]);
    const auto libraries = libraries_asked_for(asked.libraries);
    libraries_ = {libraries.begin(), libraries.end()};
    command_.preload = preload_with_injector(false, libraries_);
    totals_.anew = asked.anew ? "--anew" : "";
    // Before the command runs: a path that cannot be written is not worth waiting for its clean runs.
    if (const fs::path& file = asked.record.empty() ? asked.resume : asked.record; !file.empty())
      journal_.open(file);
    if (!asked.resume.empty() && !journal_.is_empty()) earlier_ = read_record(asked.resume);
  }

  int run() {
    try {
      return everything();
    } catch (const interrupted&) {
      if (!listed_) throw;
      totals_.interrupted = true;
      return told(exit_interrupted);
    }
  }

 private:
  int everything() {
    run_clean();
    if (sites_.empty()) {
      fmt::print(std::cerr, "cufault: nothing to fail: the command called no function of {}\n",
                 libraries_.empty() ? "the driver"
                                    : fmt::format("{} that could be seen; is the library linked statically?",
                                                  fmt::join(libraries_, " or ")));
      if (preload_removed_)
        fmt::print(std::cerr,
                   "cufault: a process took LD_PRELOAD from the environment: what it started was not seen\n");
      if (clean_.processes > 0)
        fmt::print(std::cerr,
                   "cufault: its first process ended and left {} running, which then ended with it: run it "
                   "in the foreground\n",
                   plural(static_cast<std::size_t>(clean_.processes), "process"));
      return exit_skipped;
    }
    begin_record();
    print_sites();
    if (asked_.depth == "grouped")
      run_groups();
    else
      run_rows(shard_of(asked_.depth == "thin" ? plan_thin(sites_) : plan_every(sites_)));
    if (rows_.empty() && totals_.left_out == 0) {
      fmt::print(std::cerr, "cufault: nothing to fail: no call {}\n",
                 asked_.shard.second > 1 ? "belongs to this part" : "can be named in each run alike");
      return told(asked_.shard.second > 1 ? 0 : exit_skipped);
    }
    return told(totals_.findings > 0                              ? exit_gate
                : totals_.left_out > 0 || totals_.not_reached > 0 ? exit_rows_left
                                                                  : 0);
  }

  // ---- what is called ----

  void run_clean() {
    std::vector<run_seen> runs;
    const milliseconds timeout =
        asked_.timeout ? milliseconds(static_cast<long>(*asked_.timeout * 1000)) : clean_timeout;
    const auto run_once = [&] {
      runs.push_back(
          command_.run(rules_that_log_all(libraries_), "", timeout, folder_.path(), guard_.descriptor()));
    };
    for (int i = 0; i < 2; ++i) {
      if (i == 0 && asked_.jobs == 0) {
        jobs_ = runs_side_by_side(memory_taken_by(run_once), processors());
      } else {
        run_once();
      }
      const process_result& p = runs.back().process;
      if (p.how != ending::exited || p.exit_code != 0)
        throw usage_error(
            fmt::format("the command fails where nothing is made to fail ({}), so that no failure of it "
                        "would mean anything; {}",
                        ended(p), last_words(p.stderr_text)));
      if (runs.back().log.programs == 0)
        throw usage_error("no program of the command loaded the injector: " +
                          why_not_loaded(asked_.command[0]));
    }
    clean_ = agreed(runs[0], runs[1]);
    preload_removed_ = runs[0].log.preload_removed;
    sites_ = compare(runs[0].log.sites, runs[1].log.sites);
    timeout_ = asked_.timeout
                   ? timeout
                   : std::max(least_timeout, milliseconds(static_cast<long>(10 * clean_.milliseconds)));
    if (earlier_) take_sites_of_earlier();
  }

  /// Rows of a record are of its sites, whichever differ between the clean runs of today.
  void take_sites_of_earlier() {
    const header& h = earlier_->head;
    const auto refuse = [&](std::string_view what) {
      throw usage_error(fmt::format("--resume {}: it was made with another {}; begin anew with --record",
                                    asked_.resume.string(), what));
    };
    if (h.command != asked_.command) refuse("command");
    if (h.libraries != libraries_) refuse("--library");
    if (h.depth != asked_.depth) refuse("--depth");
    if (h.unacceptable != asked_.unacceptable) refuse("--unacceptable");
    if (h.shard != static_cast<std::size_t>(asked_.shard.first) ||
        h.shards != static_cast<std::size_t>(asked_.shard.second))
      refuse("--shard");
    for (const compared_site& old : earlier_->sites) {
      const auto same = [&](const compared_site& s) { return s.site == old.site; };
      if (old.is_stable() && std::ranges::none_of(sites_, same))
        refuse("build of the command or of its libraries, which makes its calls elsewhere");
    }
    sites_ = earlier_->sites;
  }

  void begin_record() {
    listed_ = true;
    header h;
    h.version = this_build.text();
    h.began = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    h.command = asked_.command;
    h.libraries = libraries_;
    h.depth = asked_.depth;
    h.unacceptable = asked_.unacceptable;
    h.timeout_seconds = static_cast<double>(timeout_.count()) / 1000;
    h.shard = static_cast<std::size_t>(asked_.shard.first);
    h.shards = static_cast<std::size_t>(asked_.shard.second);
    h.sites = sites_.size();
    h.clean = clean_;
    std::string lines = line_of(h);
    for (const compared_site& s : sites_) lines += line_of(s);
    if (earlier_) {
      journal_.go_on(earlier_->bytes);
      for (const row& r : earlier_->rows) take(r);
      groups_told_ = {earlier_->groups.begin(), earlier_->groups.end()};
      if (asked_.json) journal_.print_too();
      return;
    }
    journal_.begin();
    if (asked_.json) journal_.print_too();
    journal_.write(lines);
  }

  void print_sites() const {
    if (asked_.json) return;
    std::uint64_t calls = 0;
    for (const compared_site& s : sites_) calls += s.first.calls * s.first.processes;
    fmt::print(std::cout, "two clean runs, the longer one of {:.2f} s: {} at {} call sites\n",
               clean_.milliseconds / 1000,
               libraries_.empty() ? fmt::format("{} driver calls", calls)
                                  : fmt::format("{} calls of {}", calls, fmt::join(libraries_, " and ")),
               sites_.size());
    if (!clean_.same_output || !clean_.same_errors)
      fmt::print(std::cout, "{} differs between them: there only words of a failure are looked for\n",
                 clean_.same_output   ? "standard error"
                 : clean_.same_errors ? "standard output"
                                      : "output");
    for (const compared_site& s : sites_) {
      const auto why = why_left_alone(s.site);
      if (!s.is_stable())
        fmt::print(std::cout, "not swept: {}, called {} and {} times in {} and {} processes\n",
                   place_of(s.site), s.first.calls, s.second.calls, s.first.processes, s.second.processes);
      else if (!why.empty())
        fmt::print(std::cout, "not swept: {}: {}\n", place_of(s.site), why);
    }
    std::fflush(stdout);
  }

  static std::string place_of(const call_site& s) {
    return fmt::format("{} at {}{}{}", s.function, s.library, s.offset.empty() ? "" : "+", s.offset);
  }

  // ---- runs with a failure ----

  /// Every N-th.
  template <class Each>
  std::vector<Each> shard_of(std::vector<Each> all) const {
    std::vector<Each> mine;
    const auto [part, parts] = asked_.shard;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i % static_cast<std::size_t>(parts) == static_cast<std::size_t>(part - 1))
        mine.push_back(std::move(all[i]));
    return mine;
  }

  using calls_in_order = std::span<const planned_call>;

  /// In each group the first and the last call; where they differ, the same of each half, as soon as both are known.
  void run_groups() {
    groups_ = shard_of(plan_groups(sites_));
    const auto ends = [this] {
      std::vector<planned_call> calls;
      const auto add = [&](calls_in_order part, const row*, const row*) {
        calls.insert(calls.end(), {part.front(), part.back()});
      };
      for (const auto& group : groups_) for_each_part(group, add);
      return calls;
    };
    run_rows(ends(), ends);
  }

  /// Calls see(part, row of its first call, of its last) for each part that is not split: its ends agree, one is unknown, or it has no middle.
  template <class See>
  void for_each_part(calls_in_order calls, See see) const {
    const row* first = row_of(calls.front());
    const row* last = row_of(calls.back());
    if (first == nullptr || last == nullptr || calls.size() < 3 || same_result(*first, *last))
      return see(calls, first, last);
    for_each_part(calls.first(calls.size() / 2), see);
    for_each_part(calls.subspan(calls.size() / 2), see);
  }

  void tell_groups() {
    const auto tell = [&](const row& r, std::size_t calls) {
      const std::string line =
          line_of(group_result{r.site.function, r.site.library, r.code, r.came_to, calls});
      if (const auto told = groups_told_.find(line); told != groups_told_.end())
        groups_told_.erase(told);  // the record that is gone on with has it
      else
        journal_.write(line);
    };
    const auto tell_part = [&](calls_in_order calls, const row* first, const row* last) {
      if (first == nullptr || last == nullptr) return;  // it did not run
      if (same_result(*first, *last)) return tell(*first, calls.size());
      tell(*first, 1);
      tell(*last, 1);
    };
    for (const auto& group : groups_) for_each_part(group, tell_part);
  }

  [[nodiscard]] std::string name_of_call(const planned_call& call) const {
    return name_of_row(sites_[call.site].site, call.ordinal, call.code, call.then);
  }

  /// The row of a call that ran, in the record or still to be compared or repeated; nullptr for others.
  [[nodiscard]] const row* row_of(const planned_call& call) const {
    for (const std::string name = name_of_call(call); const auto* all : {&rows_, &unwritten_})
      if (const auto found = all->find(name); found != all->end()) return &found->second;
    return nullptr;
  }

  [[nodiscard]] bool is_out_of_time() const {
    return asked_.budget && clock::now() - began_ > std::chrono::duration<double>(*asked_.budget);
  }

  lanes& workers() {
    if (!workers_)
      workers_ = std::make_unique<lanes>(
          static_cast<std::size_t>(jobs_),
          [this](const std::string& request, int stop) { return run_one(request, stop); },
          [this] { command_.end_forks(); });
    return *workers_;
  }

  /// In a lane. Returns a line on how it was run, and the row as a record has it; or what was wrong behind a '!'.
  std::string run_one(const std::string& request, int stop) {
    try {
      const auto asked = nlohmann::json::parse(request.substr(0, request.find('\n')));
      const row wanted = read_row(std::string_view(request).substr(request.find('\n') + 1));
      const planned_call call{asked["site"], wanted.ordinal, wanted.code, wanted.then};
      const fs::path scratch = folder_.path() / fmt::format("{}", getpid());
      fs::create_directories(scratch);
      const std::string rules =
          asked_.pairs && !call.then ? rules_that_log_all(libraries_) : rules_that_log_memory();
      const auto judge = [&](const run_seen& seen) { return judged_here(wanted.site, call, seen, stop); };
      std::string differs;
      std::optional<row> forked, anew;
      if (asked["compares"])
        forked = wanted;
      else if (!asked["forks"])
        command_.end_forks();  // it may hold what a program that is started takes
      else if (const auto seen = command_.run_forked(rules, wanted.name(), timeout_, scratch, stop))
        forked = judge(*seen);
      const auto run_anew = [&] {
        return judge(command_.run(rules, wanted.name(), timeout_, scratch, stop));
      };
      if (!forked || asked["compares"])
        anew = run_anew();
      else if (!asked["once"] && wants_repeating(forked->came_to) && forked->came_to != outcome::hung)
        forked->repeats = {run_anew().came_to};
      // A program that does not do the same each time, or not beside the one that is forked, says nothing of forks.
      if (forked && anew && !same_result(*forked, *anew)) {
        const auto again = command_.run_forked(rules, wanted.name(), timeout_, scratch, stop);
        const bool forks_agree = again && same_result(judge(*again), *forked);
        command_.end_forks();
        const row before = *std::exchange(anew, run_anew());
        if (forks_agree && same_result(before, *anew))
          differs = fmt::format("{} came to {} ({}) in a forked process, and to {} ({}) anew", wanted.name(),
                                name_of(forked->came_to), forked->ended, name_of(anew->came_to), anew->ended);
      }
      row& found = anew ? *anew : *forked;
      found.forked = !anew;
      const nlohmann::json beside{{"compared", forked && anew},
                                  {"differs", !differs.empty()},
                                  {"anew", differs.empty() ? command_.why_anew() : differs}};
      return beside.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + '\n' +
             line_of(found, asked_.command);
    } catch (const std::exception& error) {
      return std::string("!") + error.what();
    }
  }

  row judged_here(const call_site& site, const planned_call& call, const run_seen& seen, int stop) const {
    row r = judged(site, call, seen, clean_);
    if (!asked_.unacceptable.empty())
      r.acceptable = std::ranges::find(asked_.unacceptable, name_of(r.came_to)) == asked_.unacceptable.end();
    r.where = places_of(seen.log.frames, stop);
    r.python = python_place_of(seen.log.python);
    if (asked_.pairs && !call.then) r.further = further_call_of(seen.log.after, sites_);
    return r;
  }

  /// What a lane is asked for: one run with that failure.
  struct task {
    planned_call call;
    bool forks = false;           // if the command can be forked
    bool once = false;            // else a finding of a forked process is run anew, too
    std::optional<row> forked{};  // of a forked process: this run is anew, to compare the two
  };

  void ask(std::size_t lane, const task& t) {
    row wanted;
    wanted.site = sites_[t.call.site].site;
    wanted.ordinal = t.call.ordinal;
    wanted.code = t.call.code;
    wanted.then = t.call.then;
    const nlohmann::json beside{
        {"site", t.call.site}, {"forks", t.forks}, {"once", t.once}, {"compares", t.forked.has_value()}};
    workers().ask(lane, beside.dump() + '\n' + line_of(t.forked.value_or(wanted), asked_.command));
  }

  std::pair<std::size_t, row> next_row() {
    const auto answer = workers().next(guard_.descriptor());
    if (!answer) throw interrupted{};
    if (!answer->died.empty())
      throw usage_error(fmt::format("a process of cufault's own {} while it ran the command", answer->died));
    if (answer->text.starts_with('!')) throw usage_error(answer->text.substr(1));
    const auto end = answer->text.find('\n');
    const auto beside = nlohmann::json::parse(answer->text.substr(0, end));
    totals_.compared += beside["compared"].get<bool>() ? 1 : 0;
    if (const std::string anew = beside["anew"]; !anew.empty() && totals_.anew.empty()) {
      totals_.anew = anew;
      if (!asked_.json)
        fmt::print(std::cout, "the command is started anew for each run: {}\n", one_line(anew));
      forks_differ_ = beside["differs"];
    }
    return {answer->lane, read_row(std::string_view(answer->text).substr(end + 1))};
  }

  row run_alone(const planned_call& call, bool forks) {
    ask(workers().idle().value(), {call, forks && totals_.anew.empty(), true});
    return next_row().second;
  }

  /// Side by side. What is run again runs alone, which empties all lanes: it waits until there is one such row for each lane.
  /// `further`, if any, are calls that follow from the rows that are known.
  void run_rows(const std::vector<planned_call>& calls,
                const std::function<std::vector<planned_call>()>& further = {}) {
    std::deque<planned_call> to_run;
    std::set<std::string> planned;
    const auto plan = [&](const planned_call& call) {
      if (row_of(call) == nullptr && planned.insert(name_of_call(call)).second) to_run.push_back(call);
    };
    const auto plan_second = [&](planned_call call, const row& r) {
      call.then = r.further;
      if (call.then) plan(call);
    };
    for (const planned_call& call : calls) plan(call);
    for (const planned_call& call : calls)
      if (const row* known = row_of(call)) plan_second(call, *known);
    std::map<std::size_t, task> running;  // by lane
    std::deque<task> to_compare;
    std::vector<planned_call> to_repeat;
    const auto next_task = [&] {
      task next;
      if (to_compare.empty()) {
        next = {to_run.front(), totals_.anew.empty(), asked_runs_++ % one_compared_of == 0};
        to_run.pop_front();
      } else {
        next = std::move(to_compare.front());
        to_compare.pop_front();
      }
      return next;
    };
    while (true) {
      while (to_repeat.size() < static_cast<std::size_t>(jobs_) &&
             (!to_compare.empty() || (!to_run.empty() && !is_out_of_time()))) {
        const auto lane = workers().idle();
        if (!lane) break;
        ask(*lane, running[*lane] = next_task());
      }
      if (!running.empty()) {
        auto [lane, r] = next_row();
        task done = std::move(running.extract(lane).mapped());
        plan_second(done.call, r);
        if (done.once && r.forked) {  // one of ten
          unwritten_[name_of_call(done.call)] = r;
          to_compare.push_back({done.call, false, false, std::move(r)});
        } else {
          if (done.forked && same_result(r, *done.forked) && r.came_to != outcome::hung) {
            if (wants_repeating(r.came_to)) done.forked->repeats = {r.came_to};
            r = *std::move(done.forked);
          }
          if (wants_repeating(r.came_to)) {
            unwritten_[name_of_call(done.call)] = std::move(r);
            to_repeat.push_back(done.call);
          } else {
            finish(done.call, std::move(r));
          }
        }
      } else if (!to_repeat.empty()) {
        for (const planned_call& call : std::exchange(to_repeat, {}))
          finish(call, repeated(call, unwritten_.at(name_of_call(call))));
      } else if (forks_differ_ && !forked_.empty()) {
        for (const planned_call& call : std::exchange(forked_, {})) {
          forget(name_of_call(call));
          to_run.push_back(call);
        }
      } else {
        break;
      }
      // Where forks differ, ends of a group that were run in different ways say nothing of it.
      if (further && (!forks_differ_ || (running.empty() && unwritten_.empty() && forked_.empty())))
        for (const planned_call& call : further()) plan(call);
    }
    totals_.left_out += to_run.size();
  }

  row repeated(const planned_call& call, row r) {
    // Files of shared memory do not say whose they are: they may be another run's, or another program's.
    const bool only_files =
        r.came_to == outcome::leaked && r.left.processes == 0 && !r.left.shared_memory.empty();
    if (only_files) {
      r = run_alone(call, false);
      if (!wants_repeating(r.came_to)) return r;
    }
    row alone;
    const bool agreed_anew = !r.repeats.empty() && r.repeats.front() == r.came_to;
    // A hang takes its whole timeout: a second one, alone, is enough.
    const auto hung_again = [&] { return r.came_to == outcome::hung && r.repeats == std::vector{r.came_to}; };
    while (r.repeats.size() < repetitions && !hung_again())
      r.repeats.push_back((alone = run_alone(call, agreed_anew)).came_to);
    // Three of three runs come to another end: runs beside it, or the fork, were the cause.
    if ((jobs_ > 1 || r.forked) && r.came_to != alone.came_to &&
        std::ranges::count(r.repeats, alone.came_to) == repetitions)
      r.acceptable = alone.acceptable;
    return r;
  }

  void finish(const planned_call& call, row r) {
    unwritten_.erase(name_of_call(call));
    journal_.write(line_of(r, asked_.command));
    if (r.forked) forked_.push_back(call);
    take(std::move(r));
  }

  /// What take() did.
  void forget(const std::string& name) {
    const auto found = rows_.find(name);
    if (found == rows_.end()) return;
    const row& r = found->second;
    --totals_.rows;
    if (--by_outcome_[r.came_to] == 0) by_outcome_.erase(r.came_to);
    if (r.came_to == outcome::not_reached) --totals_.not_reached;
    if (!r.acceptable) --totals_.findings;
    if (r.forked) --totals_.forked;
    rows_.erase(found);
  }

  /// In place of an earlier one of its name.
  void take(row r) {
    forget(r.name());
    ++totals_.rows;
    ++by_outcome_[r.came_to];
    if (r.came_to == outcome::not_reached) ++totals_.not_reached;
    if (!r.acceptable) ++totals_.findings;
    if (r.forked) ++totals_.forked;
    if (!asked_.json) print(r);
    const std::string name = r.name();
    rows_.insert_or_assign(name, std::move(r));
  }

  void print(const row& r) const {
    fmt::print(std::cout, "{:<12} {}, call {}: {}; {}, {:.2f} s{}{}\n", name_of(r.came_to), place_of(r.site),
               r.ordinal, r.code, r.ended, r.seconds, r.acceptable ? "" : "; NOT ACCEPTABLE",
               r.repeats.empty()   ? ""
               : r.is_repeatable() ? fmt::format("; {0} of {0} again", r.repeats.size())
                                   : fmt::format("; NOT REPEATABLE, again {}", words_of(r.repeats)));
    const auto tell = [](std::string_view what, const std::string& text) {
      if (!text.empty()) fmt::print(std::cout, "             {}{}\n", what, one_line(text));
    };
    tell("said: ", r.said);
    if (r.left.processes > 0) tell("left running: ", fmt::format("{} processes", r.left.processes));
    tell("left in /dev/shm: ", fmt::format("{}", fmt::join(r.left.shared_memory, " ")));
    if (r.left.device_allocations > 0)
      tell("device allocations not released: ", fmt::format("{}", r.left.device_allocations));
    if (r.then)
      tell("then ", fmt::format("{}, call {}: {}", place_of(r.then->site), r.then->ordinal, r.then->code));
    tell("where: ", fmt::format("{}", fmt::join(r.where, " < ")));
    tell("Python: ", r.python);
    tell("why: ", r.why);
    fmt::print(std::cout, "             {}\n", line_that_repeats(r, asked_.command));
    std::fflush(stdout);
  }

  static std::string words_of(const std::vector<outcome>& all) {
    std::vector<std::string_view> names;
    for (const outcome each : all) names.push_back(name_of(each));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  // ---- the end ----

  int told(int code) {
    if (workers_) workers_->end();
    unwritten_.clear();  // of a sweep that was interrupted
    tell_groups();
    totals_.exit_code = code;
    journal_.write(line_of(totals_));
    if (asked_.json) return code;
    std::vector<std::string> counts;
    for (const auto& [came_to, count] : by_outcome_)
      counts.push_back(fmt::format("{} {}", count, name_of(came_to)));
    fmt::print(std::cout, "\n{} rows{}{}; {} not acceptable\n", totals_.rows, counts.empty() ? "" : ": ",
               fmt::join(counts, ", "), totals_.findings);
    if (totals_.forked > 0 || totals_.compared > 0)
      fmt::print(std::cout, "{} of {} rows ran in forked processes, {} in both ways\n", totals_.forked,
                 totals_.rows, totals_.compared);
    if (totals_.left_out > 0)
      fmt::print(std::cout, "{} rows were left out: the budget was spent; {}\n", totals_.left_out,
                 asked_.record.empty() && asked_.resume.empty()
                     ? "with --resume FILE the next sweep goes on where this one ends"
                     : fmt::format("go on with --resume {}",
                                   asked_.record.empty() ? asked_.resume.string() : asked_.record.string()));
    if (totals_.interrupted) fmt::print(std::cout, "interrupted\n");
    return code;
  }

  const program_sweep_arguments& asked_;
  std::vector<std::string> libraries_;  // in order, each once
  const clock::time_point began_ = clock::now();
  const interrupt_guard guard_;
  const temporary_folder folder_{"cufault-sweep-"};
  command_runs command_;
  std::optional<earlier_record> earlier_;
  clean_runs clean_;
  std::vector<compared_site> sites_;
  milliseconds timeout_{0};
  journal journal_;
  bool listed_ = false, preload_removed_ = false;
  int jobs_ = asked_.jobs;
  std::size_t asked_runs_ = 0;
  bool forks_differ_ = false;
  std::vector<planned_call> forked_;      // rows that are run again where forks differ
  std::map<std::string, row> rows_;       // by name
  std::map<std::string, row> unwritten_;  // still to be compared or repeated
  std::map<outcome, std::uint64_t> by_outcome_;
  std::vector<std::vector<planned_call>> groups_;
  std::multiset<std::string> groups_told_;  // lines of an earlier record
  totals totals_;
  std::unique_ptr<lanes> workers_;  // made when all that they read is known; the first to go
};

}  // namespace
}  // namespace cufault::program_sweep

namespace cufault {

int sweep_program(const program_sweep_arguments& arguments) {
  if (const auto ended = go_on_in_child()) return *ended;
  try {
    return program_sweep::sweep(arguments).run();
  } catch (const input_error& error) {
    throw usage_error(error.what());
  }
}

}  // namespace cufault
