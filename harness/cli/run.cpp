// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault run: gives jobs (run_plan) to lanes (run_lane), locks GPUs, writes the record, prints.
#include "harness/cli/cli.hpp"
#include "harness/cli/commit.hpp"
#include "harness/cli/run_gpus.hpp"
#include "harness/cli/run_lane.hpp"
#include "harness/cli/run_plan.hpp"
#include "harness/cli/selection.hpp"
#include "harness/model/properties.hpp"
#include "harness/run/driver_hold.hpp"
#include "harness/run/gpu_lock.hpp"
#include "harness/run/lanes.hpp"
#include "harness/run/progress.hpp"
#include "harness/run/python.hpp"
#include "harness/run/resources.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/scheduler.hpp"
#include "harness/run/shared_process.hpp"
#include "harness/run/stack.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/arm_line.hpp"
#include "reports/model/frameworks.hpp"
#include "reports/model/record.hpp"
#include "reports/model/times.hpp"
#include "reports/printers/printers.hpp"
#include "reports/printers/render.hpp"
#include "reports/printers/summary.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <thread>
#include <utility>

namespace cufault {
namespace {

std::string utc_now(const char* format) {
  return fmt::format(fmt::runtime(format), fmt::gmtime(std::time(nullptr)));
}

bool interrupt_came(int stop) {
  pollfd asked{stop, POLLIN, 0};
  return poll(&asked, 1, 0) > 0;
}

class run {
 public:
  run(const run_arguments& arguments, std::optional<python_environment> python, int stop)
      : arguments_(arguments),
        stop_(stop),
        python_(std::move(python)),
        gpus_(arguments, stop),
        recorded_(arguments.baselines) {
    record_.version = this_build.version;
    record_.commit = this_build.commit;
    record_.dirty = this_build.dirty;
    record_.argv = arguments_.argv;
    record_.asked = {{.tier = std::string(to_string(arguments_.tier)),
                      .cases = arguments_.names,
                      .part = {arguments_.part.first, arguments_.part.second}}};
    record_.mode = arguments_.mode;
    record_.seed = arguments_.seed ? *arguments_.seed
                                   : std::uint64_t{std::random_device{}()} << 32 | std::random_device{}();
    record_.started = utc_now("{:%Y-%m-%dT%H:%M:%SZ}");
    const nlohmann::json& stack = gpus_.stack();
    options_.no_gpu =
        stack["gpu"].is_object() ? std::string() : stack.value("no_gpu", std::string("unknown"));
    if (!options_.no_gpu.empty() && gpu_required())
      throw usage_error("CUFAULT_REQUIRE_GPU is set and there is no GPU: " + options_.no_gpu, exit_gate);
    options_.own_paths = own_paths();
    options_.mps_keeper = {own_path(), "keep-mps", "--parent", std::to_string(getpid())};
    options_.other_cublas = stack.value("other_cublas", std::string("none")) != "none";
    record_.stack = for_record(stack);
    if (python_) {
      (*record_.stack)["python"] = python_->for_stack();
      for (const auto& [name, version] : python_->keys()) (*record_.stack)["keys"][name] = version;
      options_.no_framework = [this](const arm& a) { return python_->why_not(a); };
      for (const std::string& line : python_->doubts()) fmt::print(std::cerr, "cufault: {}\n", line);
      if (arguments_.where.cublas.empty()) tell_that_cublas_is_not_of_python();
    }
  }

  run_outcome all(const std::vector<selected_case>& selected) {
    // What is wrong with the cases is said before anything runs.
    for (const selected_case& s : selected) properties_of(*s.what);
    record_writer writer(
        arguments_.records,
        utc_now("{:%Y%m%dT%H%M%SZ}") + (selected.size() == 1 ? "-" + selected[0].what->name : ""), record_);
    run_plan plan(arguments_, recorded_, record_, options_, selected);
    record_.left_out = plan.left_out();
    run_jobs(plan, writer);
    const bool complete = cut_short_.empty();
    record_.cases = std::move(plan).results();
    record_.ended = utc_now("{:%Y-%m-%dT%H:%M:%SZ}");
    record_.complete = complete;
    auto reasons = exit_reasons(record_.cases, record_.mode, arguments_.not_provoked_budget);
    const std::size_t unread = tell_unread(recorded_);
    if (unread > 0 && record_.mode == run_mode::gate)
      reasons.insert(reasons.begin(), {exit_unresolved, fmt::format("{} of the baseline could not be read",
                                                                    plural(unread, "line"))});
    if (!complete)
      reasons = {{cut_short_ == "interrupted" ? exit_interrupted : exit_unresolved,
                  fmt::format("{}; {}", cut_short_, lost_)}};
    record_.exit_code = exit_code(reasons);
    const auto file = writer.finish(record_);
    run_report judged = report_of(record_);
    judged.reasons = std::move(reasons);
    const report all = report_of_run(std::move(judged), file.string());
    const run_report& this_run = all.stacks[0].run;
    for (const auto& [format, path] : arguments_.reports) write_whole(path, print_as(format, all));
    std::cerr << std::flush;
    if (arguments_.json) {
      auto answer = summary_json(this_run, file.string());
      answer["schema"] = 1;
      std::cout << answer.dump(2) << std::endl;
    } else if (!arguments_.quiet) {
      if (arguments_.verbose) {
        print_verdicts(std::cout, record_, table_style::text);
        std::cout << '\n';
      }
      if (arguments_.verbose) print_cost();
      fmt::print(std::cout, "record: {}\nseed: {} (repeat with --seed {})\n\n", file.string(), record_.seed,
                 record_.seed);
      std::cout << print_as("text", all);  // what came of it is said last
      std::cout << std::flush;
    }
    if (!complete) fmt::print(std::cerr, "cufault: {}\n", this_run.reasons.front().why);
    return {record_.exit_code, file};
  }

 private:
  /// Who gives a Python expects that its cuBLAS is judged, too.
  void tell_that_cublas_is_not_of_python() const {
    using pointer = nlohmann::json::json_pointer;
    const auto path = record_.stack->value(pointer("/cublas/path"), std::string());
    fmt::print(
        std::cerr, "cufault: {} has no cuBLAS of its own (no package nvidia-cublas, none in {}/lib): {}\n",
        python_->path().string(), record_.stack->value(pointer("/python/prefix"), std::string()),
        path.empty() ? "the loader finds none either; --cublas gives one" : "taken is the loader's, " + path);
  }

  /// Runs them all, or says why not and what was lost.
  void run_jobs(run_plan& plan, record_writer& writer) {
    std::vector<work_item> items = plan.items();
    const auto order = arguments_.shuffle ? shuffled(items, record_.seed) : longest_first(items);
    const auto jobs = static_cast<std::size_t>(arguments_.jobs);
    scheduler schedule(items, order, gpus_.all().size(), jobs);
    std::vector<task> tasks;  // one for each item
    for (std::size_t i = 0; i < items.size(); ++i) tasks.push_back({i});
    double weight = 0;
    for (const work_item& item : items) weight += item.weight;
    std::size_t arms = 0;
    for (const job& j : plan.jobs()) arms += j.arms.size();
    progress shown(stderr, terminal_, arms, weight);
    if (plan.jobs().empty()) return;

    begun_ = clock::now();
    std::optional<driver_hold> hold;
    if (std::ranges::any_of(items, &work_item::needs_gpu)) {
      for (const std::string& line : gpus_.used_by_others()) fmt::print(std::cerr, "run: {}\n", line);
      hold.emplace(std::vector<std::string>{own_path(), "hold-driver", "--parent", std::to_string(getpid())},
                   stop_);
    }
    // Each lane is a process, with a copy of it.
    run_lane lane_here({arguments_, options_, plan.jobs(), plan.items(), gpus_, python_, record_.seed});
    lanes workers(
        scheduler::lanes_for(items, jobs),
        [&](const std::string& request, int stop) { return lane_here.serve(request, stop); },
        [&] { lane_here.retire(); });
    lanes_ = workers.count();
    std::vector<scheduler::start> given(workers.count());
    std::vector<clock::time_point> asked(workers.count());
    std::vector<std::string> processes(workers.count());  // of lanes, by the key of what they did last
    std::vector<std::optional<gpu_lock>> locks(gpus_.all().size());
    try {
      while (!schedule.done() || look_again(plan, schedule, items, tasks, writer, shown)) {
        for (auto lane = workers.idle(); lane; lane = workers.idle()) {
          const auto start = schedule.next(processes[*lane]);
          if (!start) break;
          if (const std::string& process = items[start->item].process; !process.empty())
            processes[*lane] = process;
          if (start->device) lock(*start, items[start->item], locks[*start->device], workers);
          given[*lane] = *start;
          asked[*lane] = clock::now();
          workers.ask(*lane, lane_request(tasks[start->item].job, start->device, tasks[start->item].again));
          const std::string name = name_of(plan, tasks[start->item]);
          if (arguments_.verbose) shown.line(name + " begins");
          shown.began(name);
        }
        const auto answer = workers.next(stop_, 1000);
        if (!answer) {
          if (interrupt_came(stop_)) throw interrupted{};
          shown.refresh();
          continue;
        }
        const scheduler::start ended = given[answer->lane];
        busy_ += clock::now() - asked[answer->lane];
        over_ = clock::now();
        schedule.over(ended);
        if (ended.device && schedule.idle(*ended.device)) unlock(schedule, locks[*ended.device], workers);
        take(plan, tasks[ended.item], *answer, writer, shown);
      }
    } catch (const interrupted&) {
      cut_short_ = "interrupted";
    } catch (const gpu_busy& e) {
      cut_short_ = e.what();
    }
    if (cut_short_.empty()) return;
    workers.end();
    std::vector<std::string> begun;
    for (const std::size_t i : schedule.running()) begun.push_back(name_of(plan, tasks[i]));
    while (!first_looks_.empty()) {
      const auto [job, arm] = first_looks_.begin()->first;
      conclude(plan, {job, arm}, writer, shown);
    }
    lost_ = fmt::format("{} of {} arms had run, and are in the record{}{}", shown.over(), arms,
                        begun.empty() ? "" : "; cut short: ", fmt::join(begun, ", "));
  }

  void lock(const scheduler::start& start, const work_item& item, std::optional<gpu_lock>& held,
            lanes& workers) {
    // Those that come last run beside each other, and other runs stay away from them.
    const bool alone = item.exclusive || item.last;
    if (held && (!alone || (item.last && held->how() == memory_class::exclusive))) return;
    // Processes that trials shared hold memory of the GPU. A lane that is busy elsewhere has none.
    if (alone) workers.ask_idle(lane_request());
    held.reset();
    try {
      held.emplace(gpus_.all()[*start.device].uuid, alone ? memory_class::exclusive : memory_class::shared,
                   std::chrono::seconds(arguments_.wait_seconds), stop_);
    } catch (const gpu_busy&) {
      if (interrupt_came(stop_)) throw interrupted{};
      throw;
    }
  }

  /// Shared, it is held as long as processes that trials share are there and arms to come.
  void unlock(const scheduler& schedule, std::optional<gpu_lock>& held, lanes& workers) {
    if (held && held->how() == memory_class::shared) {
      if (schedule.gpu_waiting()) return;
      workers.ask_idle(lane_request());
    }
    held.reset();
  }

  /// A job or, for a second look, one of its arms, by its place in it.
  struct task {
    std::size_t job = 0;
    std::optional<std::size_t> again{};
    friend bool operator==(const task&, const task&) = default;
  };
  /// What an arm came to that has its turn once more before it is judged, and its line.
  struct first_look {
    arm_result seen;
    std::string line;
  };

  static std::string name_of(const run_plan& plan, const task& t) {
    const job& j = plan.jobs()[t.job];
    return t.again ? fmt::format("{}/{} again", j.of->name, j.arms[*t.again].second->name) : j.name();
  }

  /// Of what came out otherwise than recorded, as much as there is time for has its turn once more: alone, behind all others, not in its
  /// batch. The rest is concluded. False where nothing has.
  bool look_again(run_plan& plan, scheduler& schedule, std::vector<work_item>& items,
                  std::vector<task>& tasks, record_writer& writer, progress& shown) {
    const std::size_t at_a_time = std::max<std::size_t>(gpus_.all().size(), 1);
    // The quick tier as a gate is to stay below 60 s. A library that differs in a hundred arms differs.
    const double seconds = 15 * static_cast<double>(at_a_time);
    constexpr double least = 0.5;  // of a trial in a process of its own
    std::vector<surprise> all;
    std::vector<task> which;
    for (const auto& [place, first] : first_looks_) {
      double each = least;
      for (const observation& o : first.seen.trials) each = std::max(each, o.milliseconds / 1000);
      all.push_back({first.seen.judged, what_changed({first.seen.judged, first.seen.why}),
                     trials_of_second_look * each});
      which.push_back({place.first, place.second});
    }
    items.clear();
    tasks.clear();
    std::vector<std::size_t> order;
    for (const std::size_t i : worth_a_second_look(all, seconds)) {
      const work_item& first = plan.items()[which[i].job];
      items.push_back({.needs_gpu = first.needs_gpu, .exclusive = first.needs_gpu, .last = first.last});
      order.push_back(tasks.size());
      tasks.push_back(which[i]);
    }
    for (const task& t : which)
      if (std::ranges::find(tasks, t) == tasks.end()) conclude(plan, t, writer, shown);
    schedule = scheduler(items, order, gpus_.all().size(), at_a_time);
    return !tasks.empty();
  }

  void take(run_plan& plan, const task& done, const lane_answer& answer, record_writer& writer,
            progress& shown) {
    const job& j = plan.jobs()[done.job];
    lane_report report;
    if (answer.died.empty()) {
      report = lane_report_from(answer.text);
      shared_counts_.trials += report.shared.trials;
      shared_counts_.processes += report.shared.processes;
      for (std::string& what : report.shared.damaged) shared_counts_.damaged.push_back(std::move(what));
    } else if (!done.again) {
      for (const auto& [index, a] : j.arms) {
        arm_result lost = result_of(*j.of, *a);
        lost.trials.emplace_back().why = fmt::format("the process that ran its trials {}", answer.died);
        report.lines.push_back(dump_json(arm_json(j.of->name, lost)));
      }
    } else {
      shown.line(fmt::format("{}: judged by its first look alone: the process of the second {}",
                             name_of(plan, done), answer.died));
    }
    const auto read = [&](const std::string& line) {
      arm_result arm = std::move(arm_from(json_cursor{parse_json(writer.file().string(), line)}).arms[0]);
      arm.source.clear();
      return arm;
    };
    if (done.again) {
      first_look& all = first_looks_.at({done.job, *done.again});
      for (const std::string& line : report.lines)
        // What cannot be compared says nothing of the library.
        std::ranges::copy_if(read(line).trials, std::back_inserter(all.seen.trials), comparable);
      note_differing_trials(all.seen);
      all.line = dump_json(arm_json(j.of->name, all.seen));
      conclude(plan, done, writer, shown);
      return;
    }
    shown.ended(j.name(), plan.items()[done.job].weight, false, 0);
    for (std::size_t i = 0; i < j.arms.size(); ++i) {
      arm_result seen = read(report.lines.at(i));
      const bool asks = plan.is_surprise(j, seen);
      first_looks_.insert_or_assign({done.job, i}, first_look{std::move(seen), report.lines[i]});
      if (!asks) conclude(plan, {done.job, i}, writer, shown);
    }
  }

  /// Judges an arm by what is known of it, and writes its line.
  void conclude(run_plan& plan, const task& t, record_writer& writer, progress& shown) {
    const job& j = plan.jobs()[t.job];
    first_look all = std::move(first_looks_.extract({t.job, *t.again}).mapped());
    const arm_result& r = plan.add_result(j, *t.again, std::move(all.seen));
    writer.add(all.line);
    if (arguments_.verbose) shown.line(fmt::format("{}/{} {}", j.of->name, r.name, to_string(r.judged)));
    shown.ended(name_of(plan, t), 0, !as_expected(r.judged));
    const case_result* const ended = plan.case_if_ended(j);
    if (ended != nullptr && !terminal_) shown.line(case_line(*ended));
  }

  /// What the runner itself takes: the time of lanes beyond that of the trials that they ran, from start to reaped.
  void print_cost() const {
    double trials = 0;
    for (const case_result& c : record_.cases)
      for (const arm_result& a : c.arms)
        for (const observation& o : a.trials) trials += o.milliseconds / 1000;
    const double busy = busy_.count(), wall = std::chrono::duration<double>(over_ - begun_).count();
    fmt::print(std::cout,
               "runner's own cost: {:.2f} s beyond {:.2f} s of trials ({:.1f} %); {:.2f} s in all on {} "
               "lanes, busy {:.0f} % of it\n",
               busy - trials, trials, trials > 0 ? 100 * (busy - trials) / trials : 0, wall, lanes_,
               wall > 0 ? 100 * busy / (wall * static_cast<double>(lanes_)) : 0);
    fmt::print(std::cout, "shared processes: {} trials in {}; damaged: {}\n", shared_counts_.trials,
               shared_counts_.processes, shared_counts_.damaged.size());
    for (const std::string& what : shared_counts_.damaged) fmt::print(std::cout, "  {}\n", what);
  }

  const run_arguments& arguments_;
  int stop_;
  std::optional<python_environment> python_;
  run_gpus gpus_;
  baselines recorded_;
  runner_options options_;
  record record_;
  std::string cut_short_, lost_;
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  shared_process::counts shared_counts_;
  std::map<std::pair<std::size_t, std::size_t>, first_look> first_looks_;  // by job, and place in it
  using clock = std::chrono::steady_clock;
  std::size_t lanes_ = 0;
  clock::time_point begun_{}, over_{};
  std::chrono::duration<double> busy_{0};
};

}  // namespace

namespace {
/// Where nothing else is asked for.
int default_jobs(const std::vector<selected_case>& selected) {
  // Four: of 2, 3, 4, 6 and 12 the fastest for 72 arms on one H200 (reports/pages/evidence/performance.md). A trial of a framework is
  // mostly Python before CUDA.
  const bool frameworks = std::ranges::all_of(
      selected, [](const selected_case& s) { return framework_of_case(s.what->name) != nullptr; });
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, frameworks ? 8U : 4U));
}

/// CTest knows one exit code that skips.
int for_ctest(int code) {
  return code == exit_no_baseline && variable("CUFAULT_SKIPS_UNJUDGED") == "1" ? int{exit_skipped} : code;
}

/// What several runs come to: unresolved before failed, before not judged, before as expected, before nothing provoked.
int worst_of(const std::vector<int>& codes) {
  for (const int code : {int{exit_interrupted}, int{exit_unresolved}, int{exit_gate}, exit_no_baseline, 0})
    if (std::ranges::find(codes, code) != codes.end()) return code;
  return codes.empty() ? 0 : codes.front();
}

}  // namespace

run_outcome run_cases_in(const run_arguments& arguments, std::optional<python_environment> python, int stop) {
  const auto selected = select_cases(arguments, python.has_value());
  if (selected.empty()) {
    const std::string why =
        arguments.part.second == 1
            ? fmt::format("nothing to run in the {} tier{}", to_string(arguments.tier),
                          how_to_run(arguments.names))
            : fmt::format("nothing to run: there are fewer arms than parts, and part {} of {} has none",
                          arguments.part.first, arguments.part.second);
    if (arguments.json)
      std::cout << json_of_failure(exit_skipped, why) << '\n';
    else
      fmt::print(std::cout, "{}\n", why);
    return {exit_skipped, {}};
  }
  {
    const temporary_folder tried(
        "cufault-run-");  // no trial gets one where it throws: said once, not by each arm
  }
  run_arguments completed = arguments;
  if (completed.jobs == 0) completed.jobs = default_jobs(selected);
  if (python && completed.where.cublas.empty()) completed.where.cublas = python->cublas();
  // The record's stack has what trials have.
  for (const auto& [name, usual] : usual_environment())
    if (const auto found = arguments.chosen.find(name); found != arguments.chosen.end())
      ::setenv(name.c_str(), found->second.c_str(), 1);
    else
      ::unsetenv(name.c_str());
  std::deque<failure_case> copies;
  return run(completed, std::move(python), stop)
      .all(with_chosen_variables(selected, arguments.chosen, copies));
}

namespace {

/// Of a run that cannot begin, or cannot write its record: files of its report with one test, which is an error. Whoever collects them
/// would miss them, else.
void write_reports_of(const std::exception& error, int exit_code, const run_arguments& asked) {
  run_report none{.version = this_build.version,
                  .started = utc_now("{:%Y-%m-%dT%H:%M:%SZ}"),
                  .mode = asked.mode,
                  .exit_code = exit_code,
                  .reasons = {{exit_code, error.what()}}};
  none.stack = "no stack";
  none.ended = none.started;
  none.start_ms = none.stop_ms = milliseconds_of(none.started);
  none.arms = {{.case_name = "cufault.run", .arm = "begins", .kind = "control", .why = error.what()}};
  none.arms[0].repeat = fmt::format("{}", fmt::join(asked.argv, " "));
  const report all = report_of_run(std::move(none), "");
  for (const auto& [format, path] : asked.reports) try {
      write_whole(path, print_as(format, all));
    } catch (const std::exception& unwritten) {
      fmt::print(std::cerr, "cufault: {}\n", unwritten.what());  // beside the error, which main() says
    }
}

int run_asked(const run_arguments& asked) {
  if (asked.pythons.size() > 1 && (asked.json || !asked.reports.empty()))
    throw usage_error("--json and the files of a report are of one run: give one --python with them");
  const auto families = families_of(select_cases(asked, !asked.pythons.empty()));
  const interrupt_guard guard;
  run_arguments arguments = asked;
  if (arguments.pythons.empty()) return for_ctest(run_cases_in(arguments, {}, guard.descriptor()).exit_code);
  // python_environment imports the frameworks before run_gpus has chosen a GPU, so it needs the GPU that CTest gave.
  if (asked.devices.empty() && !asked.all_devices && ctest_allocates())
    arguments.devices = devices_from_ctest(asked.where, guard.descriptor());
  // All of them before anything runs: one that was typed wrongly is bad input.
  auto pythons =
      python_environment::all(arguments.pythons, frameworks_folder(), families,
                              arguments.devices.empty() ? arguments.where.device : arguments.devices.front(),
                              guard.descriptor(), std::chrono::seconds(arguments.import_seconds));
  std::vector<int> codes;
  for (python_environment& python : pythons) {
    if (pythons.size() > 1) fmt::print(std::cout, "python: {}\n", python.path().string());
    std::cout << std::flush;
    codes.push_back(run_cases_in(arguments, std::move(python), guard.descriptor()).exit_code);
    if (codes.back() == exit_interrupted) break;
  }
  return for_ctest(worst_of(codes));
}

}  // namespace

int run_cases(const run_arguments& asked) {
  try {
    return run_asked(asked);
  } catch (const usage_error& error) {
    write_reports_of(error, error.exit_code, asked);
    throw;
  } catch (const std::exception& error) {
    write_reports_of(error, exit_unresolved, asked);
    throw;
  }
}

}  // namespace cufault
