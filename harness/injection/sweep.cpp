// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/sweep.hpp"

#include "harness/injection/operation_facts.hpp"
#include "harness/injection/preloaded.hpp"
#include "harness/injection/sweep_plan.hpp"
#include "harness/injector/driver_functions.hpp"
#include "harness/system/shared_memory.hpp"
#include "harness/trial/observe.hpp"
#include "reports/model/sweep_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "cufault/cufault_injector.h"

namespace cufault::sweeping {
namespace {

using clock = std::chrono::steady_clock;

nlohmann::json rule_for(const driver_call& call, const planned_row& row) {
  nlohmann::json rule{{"function", call.function},
                      {"caller", call.caller == "application" ? call.caller : call.caller + ".so*"},
                      {"stack", call.site},
                      {"return", row.code},
                      {"skip", call.ordinal - 1},
                      {"force", true}};
  if (row.persistent)
    rule["then_any_stack"] = true;  // the library may call the function elsewhere
  else
    rule["hits"] = 1;
  return rule;
}

// ---- one process ----

template <std::size_t n>
void say(char (&where)[n], std::string_view what) {
  where[what.copy(where, n - 1)] = '\0';
}

/// Runs `work`; returns its outcome in one word, also if preparing the process failed.
template <class Work>
std::string name_of(Work&& work) {
  try {
    return record_of(work()).text();
  } catch (const setup_failed&) {
    return "SETUP_FAILED";
  } catch (const not_provoked&) {
    return "SETUP_FAILED";
  } catch (const missing_symbol&) {
    return "SETUP_FAILED";
  }
}

status_record made_and_checked(operation& o) {
  o.prepare();
  o.enter();
  status_record made = o.make();
  return made.ok ? record_of(o.check()) : made;
}

/// Makes the operation without a fault. Throws setup_failed if that fails.
void make_once(const make_operation& fresh) {
  const auto o = fresh();
  CUFAULT_REQUIRE(made_and_checked(*o));
  CUFAULT_REQUIRE(o->multiply());
}

/// Bytes that rows of a process may leave behind: beyond that, other rows could really run out of memory.
constexpr std::int64_t most_bytes_left_behind = 256 << 20;

/// Runs one row. `clean_bytes`: what a run without a fault leaves behind. Returns false if the process is no longer as before.
bool run_row(const make_operation& fresh, const nlohmann::json& rule, std::int64_t clean_bytes,
             row_result& seen) {
  const std::int64_t held_before = bytes_held();
  auto o = fresh();
  o->prepare();
  o->enter();
  hold(rule);
  const auto injections = CUFAULT_PRELOADED(cufault_injections);
  const auto before = injections();
  const auto start = clock::now();
  say(seen.in, "the operation");
  // The only call of make(), also for clean runs: frames of this program may be part of a call site.
  const status_record status = or_terminate([&] { return o->make(); });
  seen.milliseconds = std::chrono::duration<double, std::milli>(clock::now() - start).count();
  seen.reached = rule.contains("return") && injections() != before;
  hold(nullptr);
  say(seen.status, status.text());
  seen.ok = status.ok;
  say(seen.in, "its check");
  if (status.ok) say(seen.numbers, name_of([&] { return o->check(); }));
  say(seen.in, "the same again");
  say(seen.again, name_of([&] { return made_and_checked(*o); }));
  say(seen.in, "a product");
  say(seen.handle, name_of([&] { return o->multiply(); }));
  if (!is_success_status(seen.again)) {
    say(seen.in, "the same again");
    say(seen.later, name_of([&] { return made_and_checked(*o); }));
  }
  say(seen.in, "giving back");
  o.reset();
  seen.left_bytes = bytes_held() - held_before - clean_bytes;
  const bool as_before = is_success_status(seen.again) && is_success_status(seen.handle);
  say(seen.in, "a new handle");
  if (!as_before) say(seen.afresh, name_of([&] { return made_and_checked(*fresh()); }));
  seen.over = true;
  return as_before && bytes_held() < most_bytes_left_behind;
}

// ---- planning ----

/// Keeps groups whole: which calls of a group run may depend on the results of its others.
std::vector<call_group> part_of(std::vector<call_group> all, const request& asked) {
  const auto [part, parts] = asked.shard;
  std::vector<call_group> mine;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i % static_cast<std::size_t>(parts) == static_cast<std::size_t>(part - 1))
      mine.push_back(std::move(all[i]));
  return mine;
}

// ---- an arm ----

bool is_whole(const request& asked) {
  return asked.row.empty() && asked.shard.second == 1;
}

struct how {
  bool first = false;  ///< the operation is the first of its kind in its process
  depth deep = depth::thin;
  std::chrono::seconds time{0};  ///< for all rows
};

/// Processes that run rows in parallel if each row has a process. The driver makes contexts one at a time, but not everything else.
constexpr int lanes = 4;

class sweep {
 public:
  sweep(trial& t, const operation_type& of, const how& way) : t_(t), of_(of), way_(way) {}

  void run() {
    CUFAULT_PRELOADED(cufault_end_stacks_at_program)
    ();                     // another build of this program has other call sites
    if (!is_whole(asked_))  // recorded first, even if the rest fails
      t_.measure(part_of_sweep, asked_.row.empty() ? asked_.shard.first : 0,
                 fmt::format("of {}", asked_.shard.second));
    if (!run_clean()) return;
    if (!run_planned()) return tell();
    const bool ran = run_rows({planned_row{}}, 1);  // after all others, in any lane
    tell();
    if (!ran) return;
    if (const std::string why = why_it_proves_nothing(results_.back(), "end"); !why.empty())
      throw setup_failed(why);
    const auto to_go =
        std::count_if(results_.begin(), results_.end(), [](const row_result& r) { return !did_run(r); });
    if (to_go > 0)
      throw setup_failed(fmt::format("time ran out with {} of {} rows to go; split it with --shard", to_go,
                                     results_.size()));
  }

 private:
  // Each returns false if a process could not be made ready; the process has recorded why.

  /// Lists the driver calls, and measures what the first operation of a process leaves behind. Throws setup_failed if the operation fails
  /// by itself.
  bool run_clean() {
    const std::filesystem::path log = t_.scratch() / "driver_calls";
    if (!run_rows({planned_row{}, planned_row{}}, 1, log)) return false;
    for (const row_result& r : results_)
      if (const std::string why = why_it_proves_nothing(r, "start"); !why.empty()) throw setup_failed(why);
    if (way_.first) {
      clean_bytes_ = results_[0].left_bytes;
      for (row_result& r : results_) r.left_bytes -= clean_bytes_;
    }
    const auto first = program_sweep::read_log(numbered(log, 0)),
               second = program_sweep::read_log(numbered(log, 1));
    if (first.unread + second.unread > 0)
      throw setup_failed("the log of a clean run has lines that are no JSON");
    sites_ = program_sweep::compare(first.sites, second.sites);
    calls_ = calls_from(first, sites_);
    t_.measure(clean_calls, static_cast<double>(first.order.size()));
    tell_unstable();
    return true;
  }

  bool run_planned() {
    const auto lanes_used = way_.first ? lanes : 1;
    if (!asked_.row.empty()) {
      const named_row row = row_named(asked_.row);
      return run_rows({{call_named(row, calls_, sites_), row.code, row.persistent}}, 1);
    }
    const auto groups = part_of(groups_of(calls_, way_.deep), asked_);
    if (way_.deep != depth::every) t_.measure("groups of driver calls", static_cast<double>(groups.size()));
    if (!run_rows(plan(calls_, groups, way_.deep), lanes_used)) return false;
    if (way_.deep != depth::grouped) return true;
    bool ran = true;
    for (auto more = rows_between(groups, rows_, results_); ran && !more.empty();
         more = rows_between(groups, rows_, results_))
      ran = run_rows(more, lanes_used);
    t_.measure("groups that were split",
               static_cast<double>(count_differing_groups(groups, rows_, results_)));
    return ran;
  }

  /// Runs each row in its own process, this many in parallel. If `log` names a file, logs each call of a row.
  bool run_rows(const std::vector<planned_row>& rows, int side_by_side,
                const std::filesystem::path& log = {}) {
    if (rows.empty()) return true;
    const shared_array<row_result> results(rows.size());  // shared with the processes that run rows
    t_.in_forked_children(side_by_side, [&](int lane) {
      std::vector<std::size_t> mine;
      for (auto i = static_cast<std::size_t>(lane); i < rows.size();
           i += static_cast<std::size_t>(side_by_side))
        mine.push_back(i);
      const auto set_up = [&] {
        ready_process();
        return [&](std::size_t n) {
          if (clock::now() - begun_ > way_.time) return true;
          const std::size_t i = mine[n];
          if (!log.empty()) CUFAULT_PRELOADED(cufault_set_log)(numbered(log, i).c_str());
          const auto rule = rows[i].call != no_call ? rule_for(calls_[rows[i].call], rows[i])
                            : log.empty()           ? nlohmann::json()
                                                    : log_all();
          const bool as_before = run_row(of_.fresh, rule, clean_bytes_, results[i]);
          if (!log.empty()) CUFAULT_PRELOADED(cufault_set_log)("/dev/null");
          return as_before && !way_.first;
        };
      };
      const auto ends = t_.for_each_unobserved_row(mine.size(), set_up);
      for (std::size_t n = 0; n < mine.size(); ++n) say(results[mine[n]].end, ends[n]);
    });
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    const auto seen = results.all();
    results_.insert(results_.end(), seen.begin(), seen.end());
    return std::none_of(seen.begin(), seen.end(), [](const row_result& r) { return r.end[0] == '\0'; });
  }

  static std::filesystem::path numbered(std::filesystem::path log, std::size_t i) {
    return log += std::to_string(i);
  }

  /// Prepares a process so that each row starts in the same state.
  void ready_process() {
    hold(nullptr);
    if (!way_.first || of_.needs_context) t_.open_context();
    if (way_.first) return;
    make_once(of_.fresh);
    const std::int64_t before = bytes_held();
    make_once(of_.fresh);  // the first run leaves behind what stays
    clean_bytes_ = bytes_held() - before;
  }

  void tell_unstable() {
    std::vector<std::string> unstable;
    for (const program_sweep::compared_site& s : sites_)
      if (!s.is_stable())
        unstable.push_back(fmt::format("{} of {} at {}, called {} and {} times", s.site.function,
                                       library_name(s.site.library), short_site(s.site.stack), s.first.calls,
                                       s.second.calls));
    if (unstable.empty()) return;
    t_.measure(unstable_sites, static_cast<double>(unstable.size()));
    t_.note(unstable_sites, fmt::format("{}", fmt::join(unstable, "; ")));
  }

  void tell() {
    for (const grouped_row& g : grouped(calls_, rows_, results_))
      t_.swept({of_.step.api}, g.status, g.milliseconds, g.calls);
    const auto seconds = std::chrono::duration<double>(clock::now() - begun_).count();
    t_.measure("rows", static_cast<double>(rows_.size()));
    t_.measure(rows_per_second, static_cast<double>(rows_.size()) / seconds);
  }

  trial& t_;
  const operation_type& of_;
  const how way_;
  const request asked_ = request_from_environment();
  const clock::time_point begun_ = clock::now();
  std::vector<program_sweep::compared_site> sites_;
  std::vector<driver_call> calls_;
  std::vector<planned_row> rows_;  // rows that ran, of all steps
  std::vector<row_result> results_;
  std::int64_t clean_bytes_ = 0;
};

void nothing_fails(trial& t, const operation_type& of) {
  if (of.needs_context) t.open_context();
  const auto o = of.fresh();
  observe_call(of.step, [&] { return made_and_checked(*o); });
  observe_call(of.product, [&] { return o->multiply(); });
}

}  // namespace

// ---- rules for the present process ----

nlohmann::json log_all() {
  return nlohmann::json::parse(program_sweep::rules_that_log_all({})).at("rules").at(0);
}

void hold(const nlohmann::json& rule) {
  // A rule that fails nothing makes the injector count device memory.
  auto rules = nlohmann::json::array({{{"budget_bytes", std::uint64_t{1} << 62}}});
  if (!rule.is_null()) rules.insert(rules.begin(), rule);
  set_rules(nlohmann::json{{"rules", rules}}.dump());
}

std::int64_t bytes_held() {
  return static_cast<std::int64_t>(CUFAULT_PRELOADED(cufault_bytes_held)());
}

// ---- the case ----

request request_from_environment() {
  request asked;
  if (const char* shard = std::getenv(shard_variable); shard != nullptr && *shard != '\0') {
    const std::string text = shard;
    const auto slash = text.find('/');
    try {
      asked.shard = {std::stoi(text), std::stoi(slash == std::string::npos ? "" : text.substr(slash + 1))};
    } catch (const std::logic_error&) {
      asked.shard = {0, 0};
    }
    if (asked.shard.first < 1 || asked.shard.first > asked.shard.second)
      throw setup_failed(fmt::format("{}={}: expected I/N, as in 1/4", shard_variable, text));
  }
  if (const char* row = std::getenv(row_variable); row != nullptr) asked.row = row;
  return asked;
}

failure_case sweep_case(operation_type of) {
  failure_case c{.name = std::string(sweep_family) + of.name,
                 .summary = of.summary + ", each driver call failed",
                 .in_tier = {"nothing_fails", every_sweep, std::string(first_of_process) + thin_sweep}};
  const auto what = std::make_shared<const operation_type>(std::move(of));
  c.add("nothing_fails", arm_kind::control, "the operation, and no driver call is made to fail",
        [what](trial& t) { nothing_fails(t, *what); });
  under_injector(c.add(operation_facts, arm_kind::control,
                       "the operation, cold, warm, and with a workspace of the program's: what it takes",
                       [what](trial& t) { tell_facts(t, *what); }));
  struct variant {
    const char *name, *summary;
    depth deep;
    std::chrono::seconds further, first;  // sums over all rows
  };
  using std::chrono::seconds;
  for (const variant& v :
       {variant{thin_sweep, "one call of each group, once", depth::thin, seconds(100), seconds(280)},
        variant{grouped_sweep,
                "two calls of each group, and more where they differ, by every code, once and persistently",
                depth::grouped, seconds(560), seconds(2000)},
        variant{every_sweep, "every call, by every code, once and persistently", depth::every, seconds(1700),
                seconds(5000)}}) {
    for (const bool first : {false, true}) {
      const how way{first, v.deep, first ? v.first : v.further};
      arm& a = c.add((first ? std::string(first_of_process) : "") + v.name, arm_kind::fault,
                     first ? fmt::format("the first of its process: {}", v.summary) : v.summary,
                     [what, way](trial& t) { sweep(t, *what, way).run(); }, what->claims);
      under_injector(a);
      a.timeout = way.time + seconds(60);
    }
  }
  return c;
}

}  // namespace cufault::sweeping
