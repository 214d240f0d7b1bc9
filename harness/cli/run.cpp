// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault run: select, lock, run each arm, judge, record, print.
#include "harness/cli/cli.hpp"
#include "harness/cli/run_gpus.hpp"
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
#include "harness/run/wire.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/cell_name.hpp"
#include "reports/model/expectation.hpp"
#include "reports/model/record.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/printers/ctrf.hpp"
#include "reports/printers/junit.hpp"
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
#include <map>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <thread>
#include <utility>

#include "commit.hpp"

namespace cufault {
namespace {

bool registered(const std::string& case_name, const std::string& arm_name) {
  const auto& cases = all_cases();
  return std::any_of(cases.begin(), cases.end(), [&](const failure_case& c) {
    return c.name == case_name &&
           std::any_of(c.arms.begin(), c.arms.end(), [&](const arm& a) { return a.name == arm_name; });
  });
}

std::string utc_now(const char* format) {
  return fmt::format(fmt::runtime(format), fmt::gmtime(std::time(nullptr)));
}

bool interrupt_came(int stop) {
  pollfd asked{stop, POLLIN, 0};
  return poll(&asked, 1, 0) > 0;
}

std::uint64_t seed_of_trial(std::uint64_t seed, const failure_case& c, const arm& a,
                            std::optional<std::int64_t> level, int repeat) {
  std::uint64_t state = stable_hash(
      fmt::format("{}/{} {} {} {}", c.name, a.name, seed, level ? std::to_string(*level) : "-", repeat));
  return next_random(state);
}

/// An arm to run, or all of a batch, and where they stand in what was selected.
struct job {
  std::size_t case_index = 0;
  const failure_case* of = nullptr;
  std::vector<std::pair<std::size_t, const arm*>> arms{};  ///< index in what was selected of the case
  [[nodiscard]] std::string name() const {
    const std::string first = of->name + "/" + arms.front().second->name;
    return arms.size() == 1 ? first : fmt::format("{} and {} more", first, arms.size() - 1);
  }
};

/// Of an arm of which no time is known, and that finds its batch's process ready, beside one that makes it.
constexpr double weight_in_batch = 0.02;

class run {
 public:
  run(const run_arguments& arguments, std::optional<python_environment> python, int stop)
      : arguments_(arguments), stop_(stop), python_(std::move(python)), gpus_(arguments, stop) {
    expected_ = expectation_set::load(arguments_.expectations, recorded_beside(arguments_.expectations));
    record_.version = CUFAULT_VERSION;
    record_.commit = CUFAULT_COMMIT;
    record_.dirty = CUFAULT_DIRTY;
    record_.argv = arguments_.argv;
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
    options_.other_cublas = stack.value("other_cublas", std::string("none")) != "none";
    record_.stack = for_record(stack);
    if (python_) {
      record_.stack["python"] = python_->for_stack();
      for (const auto& [name, version] : python_->keys()) record_.stack["keys"][name] = version;
      options_.no_framework = [this](const arm& a) { return python_->why_not(a); };
      if (arguments_.where.cublas.empty() && python_->wrong().empty()) tell_that_cublas_is_not_of_python();
    }
  }

  run_outcome all(const std::vector<selected_case>& selected) {
    // What is wrong with the cases or their expectations is said before anything runs.
    for (const expectation& e : expected_.all()) {
      if (arguments_.names.empty() && !registered(e.case_name, e.arm))
        throw usage_error(
            fmt::format("{}: expects {}/{}, which this cufault does not have", e.source, e.case_name, e.arm));
    }
    for (const selected_case& s : selected) {
      properties_of(*s.what);
      for (const arm* a : s.arms) static_cast<void>(expected_.find(s.what->name, a->name, keys_of(record_)));
    }
    record_writer writer(
        arguments_.records,
        utc_now("{:%Y%m%dT%H%M%SZ}") + (selected.size() == 1 ? "-" + selected[0].what->name : ""), record_);
    take_up(selected);
    run_jobs(writer);
    const bool complete = cut_short_.empty();
    put_in_order();
    record_.ended = utc_now("{:%Y-%m-%dT%H:%M:%SZ}");
    record_.complete = complete;
    record_.exit_code = complete ? exit_code(record_.cases, record_.mode, arguments_.not_provoked_budget)
                                 : (cut_short_ == "interrupted" ? exit_interrupted : exit_unresolved);
    const auto file = writer.finish(record_);
    const run_report report = report_of(record_);
    if (!arguments_.junit.empty()) write_whole(arguments_.junit, junit_xml(report));
    if (!arguments_.ctrf.empty()) write_whole(arguments_.ctrf, ctrf_json(report));
    if (!arguments_.markdown.empty())
      write_whole(arguments_.markdown, summary_markdown(report, file.string()));
    std::cerr << std::flush;
    if (arguments_.json) {
      std::cout << summary_json(report, file.string()).dump(2) << std::endl;
    } else if (!arguments_.quiet) {
      if (arguments_.verbose) {
        print_verdicts(std::cout, record_, table_style::text);
        std::cout << '\n';
      }
      print_summary(std::cout, report, file.string());
      fmt::print(std::cout, "record: {}\nseed: {} (repeat with --seed {})\n", file.string(), record_.seed,
                 record_.seed);
      if (arguments_.verbose) print_cost();
      std::cout << std::flush;
    }
    if (!complete) fmt::print(std::cerr, "cufault: {}; {}\n", cut_short_, lost_);
    return {record_.exit_code, file};
  }

 private:
  struct pending {
    case_result result;
    std::vector<std::optional<arm_result>> arms;
    std::size_t left = 0;
  };

  /// Who gives a Python expects that its cuBLAS is judged, too.
  void tell_that_cublas_is_not_of_python() const {
    using pointer = nlohmann::json::json_pointer;
    const auto path = record_.stack.value(pointer("/cublas/path"), std::string());
    fmt::print(
        std::cerr, "cufault: {} has no cuBLAS of its own (no package nvidia-cublas, none in {}/lib): {}\n",
        python_->path().string(), record_.stack.value(pointer("/python/prefix"), std::string()),
        path.empty() ? "the loader finds none either; --cublas gives one" : "taken is the loader's, " + path);
  }

  /// Makes a job of each arm that can run here; what cannot is over at once.
  void take_up(const std::vector<selected_case>& selected) {
    for (const selected_case& s : selected) {
      const failure_case& c = *s.what;
      pending p{{c.name, {}}, std::vector<std::optional<arm_result>>(s.arms.size()), 0};
      const case_properties& properties = properties_of(c);
      // Injected counterparts of arms that fill the device take no memory; a control of such arms is as alone as they are.
      const bool squeezes = std::any_of(s.arms.begin(), s.arms.end(), [](const arm* a) {
        return a->kind != arm_kind::control && a->counterpart_of.empty();
      });
      std::map<std::string, std::size_t> batches;
      for (std::size_t i = 0; i < s.arms.size(); ++i) {
        const arm& a = *s.arms[i];
        if (is_left_out(s, a)) {
          ++record_.left_out;
          continue;
        }
        const expectation* const expected = expected_.find(c.name, a.name, keys_of(record_));
        if (!why_not_run(a, options_).empty()) {
          p.arms[i] = run_arm(c, a, options_);
          judge(*p.arms[i], expected);
          continue;
        }
        ++p.left;
        const double weight =
            weight_of(as_often_as_asked(a),
                      expected == nullptr ? std::span<const observation>() : std::span(expected->trials));
        if (!a.batch.empty() && !arguments_.separate) {
          const auto [there, fresh] = batches.try_emplace(a.batch, jobs_.size());
          if (!fresh) {
            jobs_[there->second].arms.emplace_back(i, &a);
            // What its trials took earlier was in a process that they found ready.
            const bool known = expected != nullptr && !expected->trials.empty();
            items_[there->second].weight += (known ? 1 : weight_in_batch) * weight;
            continue;
          }
        }
        jobs_.push_back({cases_.size(), &c, {{i, &a}}});
        work_item item;
        item.needs_gpu = a.needs == need::gpu;
        item.exclusive = item.needs_gpu && squeezes && a.counterpart_of.empty() && !a.beside_others &&
                         properties.memory == memory_class::exclusive;
        item.last = properties.last;
        item.in_addition = a.rarely_calls_driver;
        item.weight = weight;
        // Processes from which trials of frameworks are forked have no memory of the GPU.
        const bool may_share = !item.exclusive || !a.framework.empty();
        if (!arguments_.separate && may_share && a.batch.empty()) item.process = shared_process_key(a);
        items_.push_back(std::move(item));
      }
      cases_.push_back(std::move(p));
    }
  }

  /// A cell of the matrix with a remedy is left out where the cell without it does not fail, by an expectation that this very stack
  /// showed: there is nothing to clear. The cell without it still runs, and would show a change. An expectation says nothing of trials
  /// with variables that were chosen by options: then no cell is left out.
  [[nodiscard]] bool is_left_out(const selected_case& s, const arm& a) const {
    if (!s.what->name.starts_with(matrix_family) || arguments_.tier >= test_tier::nightly ||
        !arguments_.chosen.empty() || s.named.contains(a.name))
      return false;
    const std::string without = without_remedy(a.name);
    if (without.empty()) return false;
    const expectation* const fault = expected_.find(s.what->name, without, keys_of(record_));
    return fault != nullptr &&
           std::find(fault->stacks.begin(), fault->stacks.end(), stack_folder_name(record_.stack)) !=
               fault->stacks.end() &&
           std::none_of(fault->trials.begin(), fault->trials.end(),
                        [](const observation& o) { return failed(signature_of(o)); });
  }

  /// The arm, with no more trials than this run takes of one that races.
  [[nodiscard]] arm as_often_as_asked(arm a) const {
    constexpr int below_nightly = 5;
    const int most = arguments_.repeats.value_or(arguments_.tier < test_tier::nightly ? below_nightly : 0);
    if (!a.races.empty() && most > 0) a.repeats = std::min(a.repeats, most);
    return a;
  }

  /// In a lane. A request is the numbers of a job and of the GPU that it has, or none: another lane wants a GPU to itself.
  std::string serve(const std::string& request, int stop) {
    std::istringstream words(request);
    std::size_t number = 0;
    int gpu = -1;
    if (!(words >> number >> gpu)) {
      shared_.leave_gpu();
      return {};
    }
    const job& j = jobs_.at(number);
    runner_options options = options_;
    options.stop = stop;
    // What stays of a GPU is found by ask_idle(): not while this lane is busy with another one.
    if (gpu != gpu_of_lane_) shared_.retire();
    gpu_of_lane_ = gpu;
    const bool batch = !j.arms.front().second->batch.empty() && !arguments_.separate;
    if (items_[number].exclusive && !batch) {  // a batch holds memory from one arm to the next
      if (!management_) management_.emplace();
      options.in_use = [&, uuid = gpus_.all().at(static_cast<std::size_t>(gpu)).uuid] {
        return management_->used_bytes(uuid);
      };
    }
    // Of several GPUs, a trial sees its own, as number 0: what others do on theirs then changes nothing on it.
    const std::string only = gpu >= 0 && gpus_.in_the_machine() > 1
                                 ? gpus_.all().at(static_cast<std::size_t>(gpu)).uuid
                                 : std::string();
    const int device = !only.empty() ? 0
                       : gpu < 0     ? first_device()
                                     : gpus_.all().at(static_cast<std::size_t>(gpu)).number;
    const auto command = [&](std::vector<std::string> words_of_it) {
      words_of_it.insert(words_of_it.begin(), own_path());
      for (const std::string& more :
           {std::string("--parent"), std::to_string(getpid()), std::string("--device"),
            std::to_string(device), std::string("--cublas"), arguments_.where.cublas,
            std::string("--cublaslt"), arguments_.where.cublaslt})
        words_of_it.push_back(more);
      return words_of_it;
    };
    options.command = [&](const failure_case& c, const arm& a, std::optional<std::int64_t> level,
                          int repeat) {
      const std::string seed = std::to_string(seed_of_trial(record_.seed, c, a, level, repeat));
      if (!a.framework.empty())
        return python_->command(
            {"trial", c.name, a.name, "--seed", seed, "--device", std::to_string(device)});
      std::vector<std::string> own{"trial", c.name, a.name, "--stage", "0", "--seed", seed};
      if (level) {
        own.emplace_back("--level");
        own.push_back(std::to_string(*level));
      }
      return command(std::move(own));
    };
    options.shared = &shared_;
    options.shared_command = [&](const arm& a) {
      return a.framework.empty() ? command({"trials"})
                                 : python_->command({"serve", "--device", std::to_string(device)});
    };
    options.shared_request = [&](const failure_case& c, const arm& a, int repeat) {
      return nlohmann::json{{"case", c.name},
                            {"arm", a.name},
                            {"seed", seed_of_trial(record_.seed, c, a, {}, repeat)},
                            {"alone", arguments_.jobs == 1}}
          .dump();
    };
    if (!batch && items_[number].process.empty()) {
      shared_.make_way_for(*j.arms.front().second);
      options.shared = nullptr;
    }
    lane_report report;
    for (const auto& [index, a] : j.arms) {
      arm here = as_often_as_asked(*a);
      if (!only.empty()) here.environment.try_emplace("CUDA_VISIBLE_DEVICES", only);
      report.arms.push_back(run_arm(*j.of, here, options).trials);
    }
    if (gpu >= 0)
      for (std::vector<observation>& trials : report.arms)
        for (observation& o : trials) o.gpu = gpus_.all().at(static_cast<std::size_t>(gpu)).uuid;
    if (batch) shared_.retire();
    report.shared = shared_.take_counts();
    return to_wire(report);
  }

  [[nodiscard]] int first_device() const {
    return gpus_.all().empty() ? arguments_.where.device : gpus_.all().front().number;
  }

  /// Runs them all, or says why not and what was lost.
  void run_jobs(record_writer& writer) {
    run_host_items_in_addition(items_);
    const auto order = arguments_.shuffle ? shuffled(items_, record_.seed) : longest_first(items_);
    const auto jobs = static_cast<std::size_t>(arguments_.jobs);
    scheduler plan(items_, order, gpus_.all().size(), jobs);
    double weight = 0;
    for (const work_item& item : items_) weight += item.weight;
    std::size_t arms = 0;
    for (const job& j : jobs_) arms += j.arms.size();
    progress shown(stderr, terminal_, arms, weight);
    for (std::size_t i = 0; i < cases_.size(); ++i)
      if (cases_[i].left == 0) finish_case(i);
    if (jobs_.empty()) return;

    begun_ = clock::now();
    std::optional<driver_hold> hold;
    if (std::any_of(items_.begin(), items_.end(), [](const work_item& item) { return item.needs_gpu; }))
      hold.emplace(std::vector<std::string>{own_path(), "hold-driver", "--parent", std::to_string(getpid())},
                   stop_);
    lanes workers(
        scheduler::lanes_for(items_, jobs),
        [this](const std::string& request, int stop) { return serve(request, stop); },
        [this] { shared_.retire(); });
    lanes_ = workers.count();
    std::vector<scheduler::start> given(workers.count());
    std::vector<clock::time_point> asked(workers.count());
    std::vector<std::string> processes(workers.count());  // of lanes, by the key of what they did last
    std::vector<std::optional<gpu_lock>> locks(gpus_.all().size());
    try {
      while (!plan.done()) {
        for (auto lane = workers.idle(); lane; lane = workers.idle()) {
          const auto start = arguments_.shuffle ? plan.next() : plan.next(processes[*lane]);
          if (!start) break;
          if (const std::string& process = items_[start->item].process; !process.empty())
            processes[*lane] = process;
          if (start->device) lock(*start, locks[*start->device], workers);
          given[*lane] = *start;
          asked[*lane] = clock::now();
          workers.ask(*lane, fmt::format("{} {}", start->item,
                                         start->device ? static_cast<int>(*start->device) : -1));
          const std::string name = jobs_[start->item].name();
          if (arguments_.verbose) shown.line(name + " begins");
          shown.began(name);
        }
        const auto answer = workers.next(stop_, 1000);
        if (!answer) {
          if (interrupt_came(stop_)) throw interrupted{};
          shown.refresh();
          continue;
        }
        const scheduler::start over = given[answer->lane];
        busy_ += clock::now() - asked[answer->lane];
        over_ = clock::now();
        plan.over(over);
        if (over.device && plan.idle(*over.device)) unlock(over, plan, locks[*over.device], workers);
        take(jobs_[over.item], *answer, items_[over.item].weight, writer, shown);
      }
    } catch (const interrupted&) {
      cut_short_ = "interrupted";
    } catch (const gpu_busy& e) {
      cut_short_ = e.what();
    }
    if (cut_short_.empty()) return;
    workers.end();
    std::vector<std::string> begun;
    for (const std::size_t i : plan.running()) begun.push_back(jobs_[i].name());
    const std::size_t over = shown.over();
    lost_ = fmt::format("{} of {} arms had run, and are in the record{}{}", over, arms,
                        begun.empty() ? "" : "; cut short: ", fmt::join(begun, ", "));
  }

  void lock(const scheduler::start& start, std::optional<gpu_lock>& held, lanes& workers) {
    const bool exclusive = items_[start.item].exclusive;
    if (held && !exclusive) return;
    // Processes that trials shared hold memory of the GPU. A lane that is busy elsewhere has none.
    if (exclusive) workers.ask_idle({});
    held.reset();
    try {
      held.emplace(gpus_.all()[*start.device].uuid,
                   exclusive ? memory_class::exclusive : memory_class::shared,
                   std::chrono::seconds(arguments_.wait_seconds), stop_);
    } catch (const gpu_busy&) {
      if (interrupt_came(stop_)) throw interrupted{};
      throw;
    }
  }

  /// Shared, it is held as long as processes that trials share are there and arms to come.
  void unlock(const scheduler::start& over, const scheduler& plan, std::optional<gpu_lock>& held,
              lanes& workers) {
    if (!items_[over.item].exclusive) {
      if (plan.gpu_waiting()) return;
      workers.ask_idle({});
    }
    held.reset();
  }

  void take(const job& j, const lane_answer& answer, double weight, record_writer& writer, progress& shown) {
    lane_report report;
    if (answer.died.empty()) {
      report = report_from_wire(answer.text);
      shared_counts_.trials += report.shared.trials;
      shared_counts_.processes += report.shared.processes;
      for (std::string& what : report.shared.damaged) shared_counts_.damaged.push_back(std::move(what));
    } else {
      observation lost;
      lost.ended = outcome::harness_failed;
      lost.why = fmt::format("the process that ran its trials {}", answer.died);
      report.arms.assign(j.arms.size(), {lost});
    }
    pending& p = cases_[j.case_index];
    for (std::size_t i = 0; i < j.arms.size(); ++i) {
      const auto& [index, a] = j.arms[i];
      arm_result r = result_of(*j.of, *a);
      r.trials = std::move(report.arms.at(i));
      judge(r, expected_.find(j.of->name, a->name, keys_of(record_)));
      writer.add(j.of->name, r);
      const std::string name = j.of->name + "/" + a->name;
      if (arguments_.verbose) shown.line(fmt::format("{} {}", name, to_string(r.judged)));
      shown.ended(i == 0 ? j.name() : name, weight / static_cast<double>(j.arms.size()),
                  !as_expected(r.judged));
      p.arms[index] = std::move(r);
      --p.left;
    }
    if (p.left > 0) return;
    finish_case(j.case_index);
    if (!terminal_) shown.line(case_line(p.result));
  }

  void finish_case(std::size_t index) {
    pending& p = cases_[index];
    for (auto& a : p.arms)
      if (a) p.result.arms.push_back(*std::move(a));
    judge(p.result, expected_, keys_of(record_));
  }

  /// What the runner itself takes: the time of lanes beyond that of the trials that they ran, from start to reaped.
  void print_cost() const {
    double trials = 0;
    for (const case_result& c : record_.cases)
      for (const arm_result& a : c.arms)
        for (const observation& o : a.trials) trials += o.milliseconds / 1000;
    const double busy = busy_.count(), wall = std::chrono::duration<double>(over_ - begun_).count();
    fmt::print(
        std::cout,
        "runner's own cost: {:.2f} s beyond {:.2f} s of trials ({:.1f} %); {:.2f} s in all on {} lanes, "
        "busy {:.0f} % of it\n",
        busy - trials, trials, trials > 0 ? 100 * (busy - trials) / trials : 0, wall, lanes_,
        wall > 0 ? 100 * busy / (wall * static_cast<double>(lanes_)) : 0);
    fmt::print(std::cout, "shared processes: {} trials in {}; damaged: {}\n", shared_counts_.trials,
               shared_counts_.processes, shared_counts_.damaged.size());
    for (const std::string& what : shared_counts_.damaged) fmt::print(std::cout, "  {}\n", what);
  }

  /// Results in the catalogue's order, whatever the one they came in. Of a case that was cut short, what there is.
  void put_in_order() {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (cases_[i].left > 0) finish_case(i);
      if (!cases_[i].result.arms.empty()) record_.cases.push_back(std::move(cases_[i].result));
    }
  }

  const run_arguments& arguments_;
  int stop_;
  std::optional<python_environment> python_;
  run_gpus gpus_;
  expectation_set expected_;
  runner_options options_;
  record record_;
  std::vector<pending> cases_;
  std::vector<job> jobs_;
  std::vector<work_item> items_;
  std::string cut_short_, lost_;
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  shared_process::counts shared_counts_;
  using clock = std::chrono::steady_clock;
  std::size_t lanes_ = 0;
  clock::time_point begun_{}, over_{};
  std::chrono::duration<double> busy_{0};
  // Of a lane alone.
  shared_process shared_;
  std::optional<nvml> management_;
  int gpu_of_lane_ = -1;
};

}  // namespace

int default_jobs() {
  // Four: of 2, 3, 4, 6 and 12 the fastest for 72 arms on one H200 (reports/pages/performance.md).
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 4U));
}

namespace {
int first_of(const run_arguments& arguments) {
  return arguments.devices.empty() ? arguments.where.device : arguments.devices.front();
}

/// What several runs come to: unresolved before failed, before as expected, before nothing provoked.
int worst_of(const std::vector<int>& codes) {
  for (const int code : {int{exit_interrupted}, int{exit_unresolved}, int{exit_gate}, 0})
    if (std::find(codes.begin(), codes.end(), code) != codes.end()) return code;
  return codes.empty() ? 0 : codes.front();
}

}  // namespace

run_outcome run_cases_in(const run_arguments& arguments, std::optional<python_environment> python, int stop) {
  const auto selected = select_cases(arguments, python.has_value());
  if (selected.empty()) {
    if (arguments.part.second == 1)
      fmt::print("nothing to run in the {} tier{}\n", to_string(arguments.tier), how_to_run(arguments.names));
    else
      fmt::print("nothing to run: there are fewer arms than parts, and part {} of {} has none\n",
                 arguments.part.first, arguments.part.second);
    return {exit_skipped, {}};
  }
  {
    const temporary_folder tried(
        "cufault-run-");  // no trial gets one where it throws: said once, not by each arm
  }
  run_arguments completed = arguments;
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

int run_cases(const run_arguments& asked) {
  const bool one_report =
      asked.json || !asked.junit.empty() || !asked.ctrf.empty() || !asked.markdown.empty();
  if (asked.pythons.size() > 1 && one_report)
    throw usage_error("--json, --junit, --ctrf and --markdown are of one run: give one --python with them");
  const auto families = families_of(select_cases(asked, !asked.pythons.empty()));
  const interrupt_guard guard;
  run_arguments arguments = asked;
  if (asked.devices.empty() && !asked.all_devices && ctest_allocates())
    arguments.devices = devices_from_ctest(asked.where, guard.descriptor());
  if (arguments.pythons.empty()) return run_cases_in(arguments, {}, guard.descriptor()).exit_code;
  std::vector<int> codes;
  for (const std::filesystem::path& path : arguments.pythons) {
    if (arguments.pythons.size() > 1) fmt::print(std::cout, "python: {}\n", path.string());
    std::cout << std::flush;
    python_environment python(path, frameworks_folder(), families, first_of(arguments), guard.descriptor(),
                              std::chrono::seconds(arguments.import_seconds));
    codes.push_back(run_cases_in(arguments, std::move(python), guard.descriptor()).exit_code);
    if (codes.back() == exit_interrupted) break;
  }
  return worst_of(codes);
}

}  // namespace cufault
