// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Cost of keeping and reading a history of many runs, by default 1,000 made-up runs of 1,000 arms. `add` is for one run; a report covers
// all runs, read from files. With --repetitions N, `add` is measured for the last N runs, and the other steps N times with one history.
// Peak memory only rises: later samples include earlier ones.
//   history_cost [--runs N] [--arms N] [--repetitions N] [--benchmark_out=FILE.json] [other options of Google Benchmark]
#include "harness/benchmarks/samples.hpp"
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"
#include "reports/printers/printers.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace {

using namespace cufault;
using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point begun) {
  return std::chrono::duration<double>(clock_type::now() - begun).count();
}

double peak_megabytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1000;
}

call_record call(const char* api, const std::string& status, bool after_remedy = false) {
  call_record c;
  c.what.name.api = api;
  c.what.status = status;
  c.what.ok = status == "CUBLAS_STATUS_SUCCESS";
  c.milliseconds = 0.25;
  c.after_remedy = after_remedy;
  return c;
}

/// CPU seconds of this process and its children.
double cpu_seconds() {
  double all = 0;
  for (const auto whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(whose, &used);
    for (const timeval& t : {used.ru_utime, used.ru_stime})
      all += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  }
  return all;
}

/// A run: four stacks in turn; one arm in ten races, one in fifty flakes, one in twenty changes with the stack.
std::string record_of(int run, int arms) {
  record r;
  r.version = "0.1.0";
  r.commit = "0123456789ab";
  r.started = fmt::format("2026-{:02}-{:02}T{:02}:{:02}:00Z", 1 + run / 60 / 24 / 28 % 12,
                          1 + run / 60 / 24 % 28, run / 60 % 24, run % 60);
  r.seed = static_cast<std::uint64_t>(run);
  const int stack = run % 4;
  *r.stack = {{"keys", {{"cublas", fmt::format("13.{}.0", stack)}, {"driver", "580.159.04"}}},
              {"gpu", {{"name", "NVIDIA H200"}}}};
  r.complete = true;
  r.ended = r.started;
  r.exit_code = 0;
  for (int i = 0; i < arms; ++i) {
    const int number = i / 10;
    if (i % 10 == 0)
      r.cases.push_back({.name = fmt::format("family{}.case{}", number % 12, number), .arms = {}});
    arm_result a;
    a.name = fmt::format("arm_{}", i % 10);
    a.summary = "an arm of a benchmark";
    a.kind = i % 10 == 0 ? arm_kind::control : i % 3 == 0 ? arm_kind::remedy : arm_kind::fault;
    const bool races = i % 10 == 9, flakes = i % 50 == 1 && run % 17 == 0, changes = i % 20 == 2 && stack > 1;
    if (races) a.races = "made up";
    for (int trial = 0; trial < (races ? 5 : 1); ++trial) {
      observation o;
      o.ended = outcome::completed;
      o.exit_code = 0;
      o.milliseconds = 100 + run % 7;
      const bool other = flakes || changes || (races && (trial + run) % 3 == 0);
      const char* failure = other ? "CUBLAS_STATUS_INTERNAL_ERROR" : "CUBLAS_STATUS_ALLOC_FAILED";
      o.calls.push_back(
          call("cublasCreate", a.kind == arm_kind::control ? "CUBLAS_STATUS_SUCCESS" : failure));
      if (a.kind == arm_kind::remedy) {
        o.applied = "free memory";
        o.calls.push_back(call("cublasCreate", "CUBLAS_STATUS_SUCCESS", true));
        o.calls.push_back(call("cublasSgemm", "CUBLAS_STATUS_SUCCESS", true));
        o.calls.back().what.numbers = numbers_found::right;
      }
      o.context = "usable";
      o.memory = {{"before", 149437546496, 150109880320}};
      a.trials.push_back(std::move(o));
    }
    r.cases.back().arms.push_back(std::move(a));
  }
  return record_text(r);
}

/// Wall and CPU time of each repetition.
struct cpu_and_wall_samples {
  std::vector<double> seconds{}, cpu_ms{};

  void add(double took, double cpu) {
    seconds.push_back(took);
    cpu_ms.push_back(cpu * 1000);
  }
  void write(const char* name, std::map<std::string, std::vector<double>> more = {}) const {
    more["cpu_ms"] = cpu_ms;
    add_samples(name, benchmark::kMillisecond, seconds, std::move(more));
  }
};

/// Runs `cufault history`, which lies beside this program.
void run_history(std::vector<std::string> words) {
  words.insert(words.begin(), {fs::read_symlink("/proc/self/exe").parent_path() / "cufault", "history"});
  spawn_options started;
  started.argv = std::move(words);
  started.timeout = std::chrono::minutes(10);
  const process_result ended = run_process(started, {});
  if (ended.how != ending::exited || ended.exit_code != 0) throw std::runtime_error(ended.stderr_text);
}

constexpr int at_once = 50;  // files of runs; all together would fill the disk

std::vector<std::string> written(const fs::path& folder, int first, int last, int arms) {
  std::vector<std::string> files;
  for (int run = first; run < last; ++run) {
    files.push_back(folder / fmt::format("run{}.jsonl", run));
    write_whole(files.back(), record_of(run, arms));
  }
  return files;
}

/// A report over all runs, each from a file.
void measure_report(cpu_and_wall_samples& into, const fs::path& folder, int runs, int arms) {
  double took = 0, took_cpu = 0;
  report_builder all;
  for (int first = 0; first < runs; first += at_once) {
    const std::vector<std::string> files = written(folder, first, std::min(first + at_once, runs), arms);
    const auto begun = clock_type::now();
    const double cpu = cpu_seconds();
    each_record(
        {files.begin(), files.end()},
        [&](const fs::path& from, record r) { all.add(from.string(), std::move(r)); },
        [](const std::string& why) { throw std::runtime_error(why); });
    took += seconds_since(begun);
    took_cpu += cpu_seconds() - cpu;
    for (const std::string& done : files) fs::remove(done);
  }
  const auto begun = clock_type::now();
  const double cpu = cpu_seconds();
  const report whole = all.result({}, {});
  for (const report_printer* format : report_printers()) benchmark::DoNotOptimize(format->print(whole));
  took += seconds_since(begun);
  into.add(took, took_cpu + cpu_seconds() - cpu);
}

int positive(const std::string& option, const std::string& value) {
  const int number = std::atoi(value.c_str());
  if (number < 1) throw std::runtime_error(fmt::format("{} {}: a number from 1 on", option, value));
  return number;
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> words(argv, argv + argc);
  if (!take_benchmark_options(words)) return 2;
  std::map<std::string, int> given{{"--runs", 1000}, {"--arms", 1000}, {"--repetitions", 1}};
  for (std::size_t i = 1; i < words.size(); i += 2) {
    if (!given.contains(words[i]) || i + 1 == words.size())
      throw std::runtime_error("unknown argument '" + words[i] +
                               "'; known: --runs N, --arms N, --repetitions N");
    given[words[i]] = positive(words[i], words[i + 1]);
  }
  const int runs = given["--runs"], arms = given["--arms"],
            repetitions = std::min(given["--repetitions"], runs);
  const temporary_folder folder("cufault-history-cost-");
  const fs::path file = folder.path() / "history.db";

  cpu_and_wall_samples last_adds;  // only the last ones, since the file grows
  for (int first = 0, last = 0; first < runs; first = last) {
    last = first < runs - repetitions ? std::min(first + at_once, runs - repetitions) : first + 1;
    std::vector<std::string> words = written(folder.path(), first, last, arms);
    words.insert(words.begin(), {"add", file});
    const auto begun = clock_type::now();
    const double cpu = cpu_seconds();
    run_history(words);
    if (first >= runs - repetitions) last_adds.add(seconds_since(begun), cpu_seconds() - cpu);
    for (const std::string& done : std::span(words).subspan(2)) fs::remove(done);
  }
  last_adds.write("add");

  const auto show = [&](const char* name, const std::vector<std::string>& patterns) {
    cpu_and_wall_samples shown;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      const auto begun = clock_type::now();
      const double cpu = cpu_seconds();
      std::vector<std::string> words{"show", file};
      words.insert(words.end(), patterns.begin(), patterns.end());
      run_history(words);
      shown.add(seconds_since(begun), cpu_seconds() - cpu);
    }
    shown.write(name);
  };
  show("show_all", {});
  show("show_one", {"family0.case0/arm_9"});

  cpu_and_wall_samples reported;
  std::vector<double> peaks;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    measure_report(reported, folder.path(), runs, arms);
    peaks.push_back(peak_megabytes());
  }
  reported.write("report", {{"peak_MB", peaks}});
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "history_cost: {}\n", error.what());
  return 2;
}
