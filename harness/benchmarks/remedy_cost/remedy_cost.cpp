// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// remedy_cost: time and device memory of remedies relative to the same work without them. Writes a record (reports/model/cost.hpp), which
// `cufault cost` reads. Sides of a comparison run in one process, interleaved in an order drawn from the seed. In each round the work
// without a remedy runs twice, as a control. Environment variables, a new process and a reset are measured in new processes, A B B A. A
// failing comparison is recorded, also if it ends its process: a new process continues with the others.
//   remedy_cost [--out FILE] [--seconds S] [--seed N] [--only TEXT] [--tiny] [--list] [--cublas PATH] [--device N]
// Exit codes: 0; 1 a comparison was not measured, or a remedy was left out for want of time, which the record names; 2 bad input; 77 no GPU here; 130 interrupted.
#include "harness/benchmarks/remedy_cost/comparisons.hpp"
#include "harness/benchmarks/remedy_cost/fresh_process.hpp"
#include "harness/binding/cublas_binding.hpp"
#include "harness/cli/commit.hpp"
#include "harness/model/errors.hpp"
#include "harness/run/gpu_lock.hpp"
#include "harness/run/nvml.hpp"
#include "harness/run/stack.hpp"
#include "harness/system/process.hpp"
#include "harness/trial/observe.hpp"
#include "harness/trial/stack_probe.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <CLI/CLI.hpp>
#include <cuda_runtime.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cufault;
using namespace cufault::remedy_cost;
namespace fs = std::filesystem;
using clock_type = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

constexpr int exit_incomplete = 1, exit_bad = 2, exit_skipped = 77, exit_interrupted = 130,
              exit_context_lost = 3;

struct arguments {
  target where;
  fs::path out = "cost.jsonl";
  double seconds = 115;
  std::uint64_t seed = 0;
  std::string only;
  bool tiny = false, list = false;
  pid_t parent = 0;
  std::size_t from = 0;  // first comparison of a worker
  bool reset = false;    // a new process resets the device at its end
  [[nodiscard]] size how_large() const { return tiny ? size::tiny : size::usual; }
  [[nodiscard]] bool wanted(const std::string& name) const {
    return only.empty() || name.find(only) != name.npos;
  }
};

// ---- the process that measures both sides ----

/// Writes {"begin": INDEX} before each comparison, and its line of the record after it.
int serve_worker(const arguments& given) {
  const auto end = clock_type::now() + seconds(given.seconds);
  const auto say = [](const std::string& line) {
    if (!write_all(report_fd, line + "\n")) _exit(exit_bad);
  };
  bind_cublas({given.where.cublas, given.where.cublaslt});
  CUFAULT_REQUIRE(cudaSetDevice(given.where.device));
  CUFAULT_REQUIRE(cudaFree(nullptr));
  const auto all = all_comparisons(given.how_large());
  measuring how{.seed = given.seed};
  if (given.tiny)
    how = {.seed = given.seed, .slice_ms = 0.05, .seconds = 0.05, .least_rounds = 6, .most_rounds = 6};
  for (std::size_t i = given.from; i < all.size(); ++i) {
    if (!given.wanted(all[i].name)) continue;
    say(fmt::format(R"({{"begin": {}}})", i));
    cost_comparison found{.name = all[i].name, .work = all[i].work};
    if (clock_type::now() < end)
      found = measured(all[i], how);
    else
      found.failed = "not measured: the time of --seconds was over";
    cost_words none;  // the parent shortens texts
    say(cost_line(std::move(found), none));
    if (cudaDeviceSynchronize() != cudaSuccess) return exit_context_lost;
  }
  return 0;
}

// ---- the record in progress ----

class cost_writer {
 public:
  cost_writer(const fs::path& file, const cost_record& header)
      : file_(file), fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (fd_.get() < 0) throw_errno(file, "open");
    append(cost_header_line(header));
  }
  void append(const std::string& line) {
    if (!write_all(fd_.get(), line + "\n")) throw_errno(file_, "write");
    fsync(fd_.get());  // best effort: some file systems cannot
  }

 private:
  fs::path file_;
  descriptor fd_;
};

/// Writes each result at once, prints a line, and keeps it.
class results {
 public:
  results(cost_record& into, cost_writer& out) : record_(into), out_(out) {}
  void add(cost_comparison one) {
    if (!one.failed.empty()) complete_ = false;  // a refused side is a finding
    out_.append(cost_line(one, stated_));
    if (one.failed.empty()) {
      fmt::print("{}: {} rounds, {}\n", one.name, one.again.size(), one.with.size());
      for (const cost_side& s : one.with)
        if (!s.failed.empty()) fmt::print("  {}: {}\n", s.remedy, one_line(s.failed));
    } else {
      fmt::print("{}: {}\n", one.name, one_line(one.failed));
    }
    std::fflush(stdout);
    record_.comparisons.push_back(std::move(one));
  }
  /// Remedies left out for lack of time.
  void leave_out(const std::vector<std::string>& remedies) {
    if (remedies.empty()) return;
    complete_ = false;
    fmt::print("left out, for --seconds was too short: {}; measure them with more, by --only process\n",
               fmt::join(remedies, ", "));
  }
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  cost_record& record_;
  cost_writer& out_;
  cost_words stated_;
  bool complete_ = true;
};

/// Parses a worker's result. An invalid time makes only that comparison fail.
cost_comparison taken(const comparison& of, const std::string& line, int number) {
  try {
    return cost_comparison_from("worker", line, number);
  } catch (const input_error& e) {
    cost_comparison failed{.name = of.name, .work = of.work};
    failed.failed = e.what();
    return failed;
  }
}

/// Runs workers until each comparison is measured or has failed.
void measure_in_one_process(const arguments& given, seconds at_most, results& into, int stop) {
  const auto all = all_comparisons(given.how_large());
  const auto end = clock_type::now() + at_most;
  std::size_t from = 0;
  while (from < all.size()) {
    const double left = std::max(seconds(end - clock_type::now()).count(), 0.0);
    spawn_options options;
    options.argv =
        argv_of_child(fs::read_symlink("/proc/self/exe"),
                      {"worker", "--from", std::to_string(from), "--seconds", fmt::format("{}", left),
                       "--seed", std::to_string(given.seed), "--only", given.only},
                      given.where);
    if (given.tiny) options.argv.emplace_back("--tiny");
    options.environment = without_remedies();
    options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>((left + 45) * 1000));
    std::string pending;
    std::optional<std::size_t> begun;
    int lines = 0;
    const process_result ended = run_process(
        options,
        [&](std::string_view bytes) {
          pending += bytes;
          for (auto at = pending.find('\n'); at != pending.npos; at = pending.find('\n')) {
            const std::string line = pending.substr(0, at);
            pending.erase(0, at + 1);
            ++lines;
            if (const auto said = nlohmann::json::parse(line, nullptr, false);
                said.is_object() && said.contains("begin")) {
              begun = said["begin"].get<std::size_t>();
              from = *begun;
              continue;
            }
            into.add(taken(all.at(from), line, lines));
            begun.reset();
            ++from;
          }
        },
        stop);
    if (ended.how == ending::interrupted) throw interrupted{};
    if (ended.how == ending::exited && ended.exit_code == 0) return;
    if (begun) {
      cost_comparison lost{.name = all[*begun].name, .work = all[*begun].work};
      lost.failed = how_it_ended(ended);
      into.add(std::move(lost));
      from = *begun + 1;
    } else if (!(ended.how == ending::exited && ended.exit_code == exit_context_lost)) {
      throw std::runtime_error("the process that measures did not begin: " + how_it_ended(ended));
    }
  }
}

// ---- the program ----

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

int measure_all(const arguments& given, const std::vector<std::string>& words) {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  cost_record record;
  record.version = this_build.version;
  record.commit = this_build.commit;
  record.dirty = this_build.dirty;
  record.argv = words;
  record.argv[0] = "remedy_cost";  // the path on this machine is no evidence
  record.started = utc_now();
  record.size = given.tiny ? "tiny" : "usual";
  record.seed = given.seed;

  const interrupt_guard interrupts;
  const nvml management;
  const nlohmann::json stack = read_stack(self, given.where, management, interrupts.descriptor());
  if (const auto error = stack.value("error", std::string()); !error.empty()) throw std::runtime_error(error);
  if (!stack["gpu"].is_object()) {
    fmt::print("remedy_cost: nothing is measured: there is no GPU here ({})\n",
               stack.value("no_gpu", "unknown"));
    return exit_skipped;
  }
  record.stack = for_record(stack);
  const gpu_lock alone(stack["gpu"].value("uuid", ""), memory_class::exclusive, std::chrono::seconds(10),
                       interrupts.descriptor());

  const auto begun = clock_type::now();
  cost_writer out(given.out, record);
  results into(record, out);
  bool stopped = false;
  try {
    // First, while no other process here has a context.
    if (given.only.empty() || given.only.starts_with("process"))
      into.leave_out(measure_fresh_processes({.where = given.where,
                                              .how_large = given.how_large(),
                                              .seed = given.seed,
                                              .at_most = seconds(given.seconds * 0.75),
                                              .stop = interrupts.descriptor()},
                                             [&](cost_comparison one) { into.add(std::move(one)); }));
    measure_in_one_process(given, seconds(given.seconds) - (clock_type::now() - begun), into,
                           interrupts.descriptor());
  } catch (const interrupted&) {
    stopped = true;
  }
  record.ended = utc_now();
  record.complete = !stopped;
  out.append(cost_end_line(record));
  fmt::print("{} comparisons in {:.0f} s; read them by: cufault cost {}\n", record.comparisons.size(),
             seconds(clock_type::now() - begun).count(), given.out.string());
  return stopped ? exit_interrupted : into.complete() ? 0 : exit_incomplete;
}

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  arguments given;
  given.seed = std::random_device{}();
  CLI::App app("What remedies cost, in time and device memory, relative to the same work without them",
               "remedy_cost");
  const auto add_target = [&](CLI::App& to) {
    to.add_option("--cublas", given.where.cublas,
                  "cuBLAS library or its folder (default: what the loader takes)")
        ->type_name("PATH");
    to.add_option("--cublaslt", given.where.cublaslt, "cuBLASLt library or its folder")->type_name("PATH");
    to.add_option("--device", given.where.device, "CUDA device")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
  };
  const auto add_measuring = [&](CLI::App& to) {
    add_target(to);
    to.add_option("--seconds", given.seconds,
                  "time for all, about; comparisons beyond it are recorded as not measured")
        ->capture_default_str();
    to.add_option("--seed", given.seed, "seed of all orders (default: a new one, recorded)");
    to.add_option("--only", given.only, "only comparisons whose name has this text: workspace.fp16, process")
        ->type_name("TEXT");
    to.add_flag("--tiny", given.tiny, "small shapes and few rounds, for a test: the figures mean nothing");
  };
  add_measuring(app);
  app.add_option("--out", given.out, "the record")->type_name("FILE")->capture_default_str();
  app.add_flag("--list", given.list,
               "print the comparisons that are made in one process, and measure nothing");
  // Commands of this program for itself, not for people.
  const auto own = [&](const char* name) {
    CLI::App* const c = app.add_subcommand(name, "");
    c->group("");
    c->add_option("--parent", given.parent)->required();
    return c;
  };
  CLI::App *const worker = own("worker"), *const fresh = own("fresh-process"),
                  *const probe = own("probe-stack");
  add_measuring(*worker);
  worker->add_option("--from", given.from);
  add_target(*fresh);
  fresh->add_flag("--tiny", given.tiny);
  fresh->add_flag("--reset", given.reset);
  add_target(*probe);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    fmt::print(stderr, "remedy_cost: {}; see remedy_cost --help\n", e.what());
    return exit_bad;
  }
  if (given.parent != 0) tie_to_parent(given.parent);
  if (probe->parsed()) return probe_stack(given.where);
  if (fresh->parsed()) return serve_fresh_process(given.where, given.how_large(), given.reset);
  if (worker->parsed()) return serve_worker(given);
  if (given.list) {
    for (const comparison& each : all_comparisons(given.how_large()))
      if (given.wanted(each.name)) fmt::print("{}: {}\n", each.name, each.work);
    return 0;
  }
  return measure_all(given, words);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "remedy_cost: {}\n", error.what());
    return exit_bad;
  }
}
