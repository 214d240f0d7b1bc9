// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// injector_cost: what libcufault.so adds to each driver call, beside a CUPTI callback that counts too. Each setting has a process
// (driver_calls.cpp); all live at once, with their calling threads pinned to one CPU. In each of many turns every process runs a slice of a
// few milliseconds, in random order. Results are compared with an unpreloaded process of the same turn, so that common changes cancel. A
// round is the median of its turns; the next round has new processes with other addresses. The unpreloaded process runs twice in each turn:
// the difference of the two is the noise. Without a GPU the tests' fake driver stands in, if it was built: this shows the thunk's own cost,
// without CUPTI.
//   injector_cost [--tiny] [--rounds=N] [--benchmark_out=FILE.json] [other options of Google Benchmark]
// --tiny: one round of few turns, for a test; the figures mean nothing. --rounds: 20 without it, and 1 with --tiny.
#include "harness/benchmarks/samples.hpp"
#include "harness/injector/driver_functions.hpp"
#include "harness/system/bundled_file.hpp"
#include "harness/system/unique_fd.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace cufault;
namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

// ---- settings ----

struct setting {
  std::string name;  ///< ci/bench says what it is
  bool injector = false, cupti = false;
  std::string rules = {};
  bool watched = false;  ///< as `cufault why` watches calls
};

/// {"rules": [...]} with 100 rules. If one acts, driver_calls reports an error.
std::string hundred(const std::function<json(int)>& rule) {
  json rules;
  for (int i = 0; i < 100; ++i) {
    json each = rule(i);
    each["log"] = true;
    rules["rules"].push_back(each);
  }
  return rules.dump();
}

/// Rules for functions that neither driver_calls nor a product calls.
std::string rules_elsewhere() {
  std::vector<std::string_view> names;
  for (const auto& function : injector::driver_functions())
    for (const std::string_view group : {"cuGraph", "cuTexRef", "cuArray", "cuIpc", "cuSurf"})
      if (function.name.text.starts_with(group)) names.push_back(function.name.text);
  return hundred([&](int i) {
    return json{{"function", names[static_cast<std::size_t>(i) % names.size()]}};
  });
}

/// Rules for every function, under a condition that no call meets.
std::string rules_of_all(const char* condition, const std::function<json(int)>& value) {
  return hundred([&](int i) {
    json rule{{"function", "cu*"}};
    rule[condition] = value(i);
    return rule;
  });
}

const std::vector<setting>& all_settings() {
  static const std::vector<setting> all{
      {"bare"},
      {"bare_again"},
      {"no_rule", true},
      {"watched", true, false, {}, true},
      {"rules_elsewhere", true, false, rules_elsewhere()},
      {"rules_by_size", true, false, rules_of_all("min_bytes", [](int i) { return (1LL << 60) + i; })},
      {"rules_by_thread", true, false, rules_of_all("thread", [](int i) { return (1 << 30) + i; })},
      {"rules_by_caller", true, false,
       rules_of_all("caller", [](int i) { return fmt::format("libnobody_{}.so.1", i); })},
      {"rules_by_glob", true, false,
       rules_of_all("caller", [](int i) { return fmt::format("libnobody_{}.so*", i); })},
      {"cupti", false, true}};
  return all;
}

const std::vector<std::string> all_work{"version/dlsym",        "version/proc_address", "context/dlsym",
                                        "context/proc_address", "launch/issue",         "product/issue",
                                        "product/stream"};

// ---- a measured process ----

/// env(1) with what `cufault inject` would add to the environment of this process.
std::vector<std::string> in_environment(const setting& of, const std::string& stand_in) {
  std::vector<std::string> words{"/usr/bin/env"};
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (const std::string text = *entry; text.starts_with("CUFAULT_"))
      words.insert(words.end(), {"-u", text.substr(0, text.find('='))});
  if (!stand_in.empty()) words.push_back("LD_LIBRARY_PATH=" + stand_in);
  if (of.injector) {
    const fs::path library = bundled_file(of.watched ? "libcufault_why.so" : "libcufault.so");
    if (library.empty())
      throw std::runtime_error("its libraries do not lie in lib/cufault beside this program");
    const char* const before = std::getenv("LD_PRELOAD");
    words.push_back(fmt::format("LD_PRELOAD={}:{}", before != nullptr ? before : "", library.string()));
    words.insert(words.end(), {"CUFAULT_RULES=" + of.rules, "CUFAULT_STRICT=1"});
    if (of.watched) words.emplace_back("CUFAULT_WATCH=/dev/null");  // lines go nowhere
  }
  return words;
}

struct slice {
  double nanoseconds = 0;  ///< a call
  double counted = 0;      ///< driver calls that the injector or CUPTI counted for each
};

/// A process that ends with this object, or with this process.
class measured_process {
 public:
  /// `stand_in`: folder of a libcuda.so.1 to use instead of the driver, or "".
  measured_process(const setting& of, const std::string& stand_in, int cpu) : name_(of.name), cpu_(cpu) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw std::system_error(errno, std::generic_category(), "socketpair");
    channel_.reset(fdopen(ends[0], "r"));
    const unique_fd its(ends[1]);
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (const int which : {STDIN_FILENO, STDOUT_FILENO})
      posix_spawn_file_actions_adddup2(&files, its.get(), which);
    std::vector<std::string> words = in_environment(of, stand_in);
    words.insert(words.end(), {fs::read_symlink("/proc/self/exe").parent_path() / "driver_calls", "--cpu",
                               std::to_string(cpu)});
    if (of.cupti) words.emplace_back("--cupti");
    if (!stand_in.empty()) words.emplace_back("--stand-in");
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int failed = posix_spawn(&pid_, pointers[0], &files, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), words[0]);
  }
  ~measured_process() {
    channel_.reset();
    waitpid(pid_, nullptr, 0);
  }
  measured_process(const measured_process&) = delete;
  measured_process& operator=(const measured_process&) = delete;

  /// The first line of the process. Call it before any slice.
  const json& ready() {
    if (ready_.is_null()) {
      ready_ = json::parse(line(), nullptr, false);
      if (!ready_.is_object()) throw std::runtime_error(name_ + ": driver_calls did not say what it has");
      if (!ready_.contains("unavailable") && ready_["cpu"] != cpu_)
        throw std::runtime_error(fmt::format("{}: driver_calls is not on CPU {}", name_, cpu_));
    }
    return ready_;
  }

  slice run(const std::string& work) {
    const std::string word = work + "\n";
    send(fileno(channel_.get()), word.data(), word.size(),
         MSG_NOSIGNAL);  // that its reader is gone is seen below
    const std::string said = line();
    double calls = 0, nanoseconds = 0;
    slice found;
    if (std::sscanf(said.c_str(), "%lf %lf %lf", &calls, &nanoseconds, &found.counted) != 3 || calls <= 0)
      throw std::runtime_error(fmt::format("{}: {} said \"{}\"", name_, work, said));
    found.nanoseconds = nanoseconds / calls;
    return found;
  }

 private:
  std::string line() {
    std::string found;
    int next = 0;
    while ((next = std::fgetc(channel_.get())) != EOF && next != '\n') found += static_cast<char>(next);
    if (next == '\n') return found;
    const bool late = std::ferror(channel_.get()) != 0 && errno == EAGAIN;
    if (late) kill(pid_, SIGKILL);
    throw std::runtime_error(name_ + (late ? ": no answer in 60 s" : ": driver_calls ended; see above"));
  }

  std::string name_;
  int cpu_;
  pid_t pid_ = -1;
  std::unique_ptr<std::FILE, decltype([](std::FILE* f) { std::fclose(f); })> channel_;
  json ready_;
};

// ---- measuring ----

struct plan {
  std::string stand_in;
  std::vector<setting> settings;  // the first preloads nothing
  std::vector<std::string> work;
  int rounds = 20, turns = 20, cpu = 0;
};

/// The last CPU that this process may use: the first ones handle more interrupts.
int cpu_to_use() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    throw std::system_error(errno, std::generic_category(), "sched_getaffinity");
  int cpu = CPU_SETSIZE - 1;
  while (cpu > 0 && !CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) --cpu;
  return cpu;
}

/// Tests what this machine offers, in short-lived processes.
plan make_plan(bool tiny) {
  plan p;
  p.cpu = cpu_to_use();
  if (tiny) p.rounds = 1, p.turns = 2;
  const setting& bare = all_settings().front();
  json has = measured_process(bare, "", p.cpu).ready();
  if (has.contains("unavailable")) {
    const auto why = has["unavailable"].get<std::string>();
#ifdef CUFAULT_STAND_IN_DRIVER
    p.stand_in = CUFAULT_STAND_IN_DRIVER;
#endif
    if (p.stand_in.empty()) throw std::runtime_error("no driver to call: " + why);
    fmt::print("injector_cost: no GPU here ({}); cufault's own stand-in takes the calls\n", why);
    has = measured_process(bare, p.stand_in, p.cpu).ready();
    if (has.contains("unavailable")) throw std::runtime_error(has["unavailable"].get<std::string>());
  }
  for (const setting& each : all_settings()) {
    if (each.cupti) {
      const std::string why =
          !p.stand_in.empty() ? "no GPU"
                              : measured_process(each, "", p.cpu).ready().value("unavailable", std::string());
      if (!why.empty()) {
        fmt::print("injector_cost: CUPTI not available: {}\n", why);
        continue;
      }
    }
    p.settings.push_back(each);
  }
  for (const std::string& each : all_work)
    if (const auto& names = has["work"]; std::find(names.begin(), names.end(), each) != names.end())
      p.work.push_back(each);
  if (p.work.empty()) throw std::runtime_error("nothing of the work can be done here");
  if (has.contains("no cublas"))
    fmt::print("injector_cost: no products: {}\n", has["no cublas"].get<std::string>());
  return p;
}

/// Medians of one round's turns.
struct round_of_setting {
  double nanoseconds = 0;  ///< a call
  double kept = 1;         ///< of the rate with nothing preloaded
  double counted = 0;
};
/// By work and setting.
using results = std::map<std::string, std::map<std::string, std::vector<round_of_setting>>>;

void run_round(const plan& p, std::mt19937& random, results& found) {
  std::vector<std::unique_ptr<measured_process>> processes;
  for (const setting& each : p.settings)
    processes.push_back(std::make_unique<measured_process>(each, p.stand_in, p.cpu));
  for (auto& each : processes)
    if (each->ready().contains("unavailable"))
      throw std::runtime_error(each->ready()["unavailable"].get<std::string>());
  for (const std::string& work : p.work) {
    std::vector<std::vector<double>> nanoseconds(processes.size());
    std::vector<double> counted(processes.size());
    in_rounds(p.turns, processes.size(), random, [&](std::size_t which) {
      const slice one = processes[which]->run(work);
      nanoseconds[which].push_back(one.nanoseconds);
      counted[which] = one.counted;
    });
    for (std::size_t which = 0; which < processes.size(); ++which) {
      const setting& by = p.settings[which];
      if ((by.injector || by.cupti) && counted[which] < 1 && !work.starts_with("product"))
        throw std::runtime_error(fmt::format("{}, {}: not every call was counted", work, by.name));
      std::vector<double> kept;  // differences within a turn
      for (std::size_t turn = 0; turn < nanoseconds[which].size(); ++turn)
        kept.push_back(nanoseconds.front()[turn] / nanoseconds[which][turn]);
      found[work][by.name].push_back({median(nanoseconds[which]), median(kept), counted[which]});
    }
  }
}

void measure(bool tiny, int rounds) {
  plan p = make_plan(tiny);
  if (rounds > 0) p.rounds = rounds;
  results found;
  std::mt19937 random(1);
  for (int round = 0; round < p.rounds; ++round) run_round(p, random, found);

  for (const std::string& work : p.work)
    for (const setting& each : p.settings) {
      std::vector<double> seconds, counted, kept;
      for (const round_of_setting& one : found.at(work).at(each.name)) {
        seconds.push_back(one.nanoseconds * 1e-9);
        counted.push_back(one.counted);
        kept.push_back(one.kept);
      }
      add_samples(fmt::format("{}/{}", work, each.name), benchmark::kNanosecond, std::move(seconds),
                  {{"driver_calls_counted", std::move(counted)}, {"rate_kept", std::move(kept)}});
    }
}

}  // namespace

int main(int count, char** words) {
  std::vector<char*> others;
  int rounds = 0;
  char rest = 0;
  for (char* const word : std::span(words, static_cast<std::size_t>(count)))
    if (std::sscanf(word, "--rounds=%d%c", &rounds, &rest) != 1 || rounds < 1) others.push_back(word);
  return measured_by("injector_cost", static_cast<int>(others.size()), others.data(),
                     [&](bool tiny) { measure(tiny, rounds); });
}
