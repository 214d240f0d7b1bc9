// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// node: is this node usable? For prologs, health checks and preflights.
#include "harness/cli/command_line.hpp"
#include "harness/cli/commit.hpp"
#include "harness/cli/doctor.hpp"
#include "harness/cli/inject.hpp"
#include "harness/cli/selection.hpp"
#include "harness/doctor/isolated.hpp"
#include "harness/doctor/loader.hpp"
#include "harness/doctor/node_verdict.hpp"
#include "harness/system/child.hpp"
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/evidence/baselines.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/known_issues.hpp"
#include "reports/printers/table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr const char* trials_command = "node-trials";
constexpr const char* drill_rule = "cuInit=SYSTEM_NOT_READY";

/// Wrong numbers, refused arguments and their remedies, by cuBLAS and by cuBLASLt; none of them provokes a device fault.
const std::vector<std::string> usual_trials{"numbers.split_k", "layout.shapes"};

struct node_arguments {
  node_policy policy = node_policy::none;
  int timeout_seconds = 20;
  std::size_t gpus = 0;  ///< that the node must have
  fs::path pci_root = "/";
  bool drill = false, under_drill = false, json = false, prometheus = false;
  bool refuse_wrong_numbers = false;  ///< a known issue of wrong numbers makes it bad
  std::vector<std::string> trials{};
  target where{};
};

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The time that there is, and whether to go on.
class time_left {
 public:
  time_left(std::chrono::seconds all, int stop) : stop_(stop), begun_(clock::now()), end_(begun_ + all) {}
  [[nodiscard]] milliseconds left() const {
    return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(end_ - clock::now()));
  }
  /// So much of all of it is kept for what comes afterwards.
  [[nodiscard]] milliseconds left_but(double part) const {
    return std::max(milliseconds(0),
                    left() - std::chrono::duration_cast<milliseconds>((end_ - begun_) * part));
  }
  [[nodiscard]] double passed() const { return std::chrono::duration<double>(clock::now() - begun_).count(); }
  void go_on() const {
    pollfd asked{stop_, POLLIN, 0};
    if (poll(&asked, 1, 0) > 0) throw interrupted{};
  }
  [[nodiscard]] int stop() const { return stop_; }

 private:
  int stop_;
  clock::time_point begun_, end_;
};

std::string first_line_of(const fs::path& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

/// libcuda in a process of its own: it may hang there.
void ask_driver(node_facts& facts, milliseconds limit) {
  const isolated_answer said = run_isolated(
      [] {
        const driver_answers d = cufault::ask_driver();
        auto devices = nlohmann::json::array();
        for (const auto& device : d.devices) devices.push_back({device.name, device.bus_id});
        return dump_json({{"absent", d.why_absent},
                          {"library", d.library},
                          {"init", d.initialised},
                          {"devices", devices}});
      },
      limit);
  if (!said.answered) {
    facts.driver_silent = said.why;
    return;
  }
  const auto answer = nlohmann::json::parse(said.text);
  facts.driver.why_absent = answer["absent"];
  facts.driver.library = answer["library"];
  facts.driver.initialised = answer["init"];
  for (const auto& device : answer["devices"])
    facts.driver.devices.push_back({.name = device[0], .bus_id = device[1]});
  if (facts.driver.why_absent.empty() || !facts.driver.library.empty()) return;
  if (const auto file = find_library(this_machine(), "libcuda.so.1")) facts.driver.library = file->file;
}

/// Processes on any GPU; nothing where NVML does not tell. NVML numbers GPUs in another order than CUDA may, so that none is told apart.
std::optional<std::size_t> other_users(milliseconds limit) {
  const isolated_answer said = run_isolated(
      [] {
        const auto gpus = ask_management().gpus;
        std::size_t users = 0;
        for (const gpu_state& gpu : gpus) {
          if (!gpu.users) return std::string();
          users += gpu.users->size();
        }
        return gpus.empty() ? std::string() : std::to_string(users);
      },
      limit);
  if (!said.answered || said.text.empty()) return {};
  return std::stoul(said.text);
}

/// One run on each of the GPUs, side by side, each with its records in FOLDER/DEVICE and what ended it badly in FOLDER/DEVICE/ended.
void run_trials(const std::map<int, std::vector<std::string>>& names_by_device, const node_arguments& asked,
                const fs::path& folder, milliseconds limit, int stop) {
  std::vector<pid_t> children;
  for (const auto& [device, names] : names_by_device) {
    const fs::path mine = folder / std::to_string(device);
    fs::create_directories(mine);
    children.push_back(fork_child([&, device = device, &names = names] {
      std::string ended;
      try {
        spawn_options options;
        target where = asked.where;
        where.device = device;
        options.argv = argv_of_child(own_path(), {trials_command, "--records", mine}, where);
        options.argv.insert(options.argv.end(), names.begin(), names.end());
        options.environment["CUFAULT_PREFLIGHT"] = "";  // no preflight has tried these GPUs
        options.timeout = limit;
        const process_result r = run_process(options, {}, stop);
        if (r.how == ending::timed_out)
          ended = fmt::format("trials had not ended after {} ms", limit.count());
        if (r.how == ending::signalled) ended = fmt::format("trials ended by {}", signal_name(r.signal));
        if (r.how == ending::exited && r.exit_code == exit_unresolved) ended = r.stderr_text;
      } catch (const std::exception& e) {
        ended = e.what();
      }
      std::ofstream(mine / "ended") << ended;
    }));
  }
  for (const pid_t child : children) wait_for(child);
}

/// "cufault: GPU ... is in use by ...": the last line, without the name of the program.
std::string last_words_in(const fs::path& file) {
  std::string last;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last.starts_with("cufault: ") ? last.substr(9) : last;
}

/// What a run left, judged by the baselines.
struct judged_run {
  std::vector<node_arm> arms{};
  std::string refused{}, unfinished{};
};

judged_run read_run(const fs::path& folder, const baselines& recorded) {
  judged_run seen;
  bool complete = false;
  for (const fs::path& file : records_in({folder})) {
    record r = load_record(file);
    complete = r.complete;
    if (!(*r.stack)["gpu"].is_object()) seen.refused = r.stack->value("no_gpu", std::string());
    for (case_result& c : r.cases) {
      judge(c, recorded, keys_of(r));
      for (const arm_result& a : c.arms)
        seen.arms.push_back(
            {.case_name = c.name,
             .arm = a.name,
             .control = a.kind == arm_kind::control,
             .harness_failed = std::ranges::any_of(
                 a.trials, [](const observation& o) { return o.ended == outcome::harness_failed; }),
             .judged = a.judged,
             .why = a.why});
    }
  }
  if (!complete) {
    seen.unfinished = last_words_in(folder / "ended");
    if (seen.unfinished.empty()) seen.unfinished = "the trials left no whole record";
  }
  return seen;
}

void try_gpus(node_facts& facts, const node_arguments& asked, const time_left& time) {
  const temporary_folder folder("cufault-node-");
  const baselines recorded(baseline_folders());
  std::map<int, std::vector<std::string>> all;
  for (int i = 0; i < static_cast<int>(facts.driver.devices.size()); ++i) all[i] = asked.trials;
  run_trials(all, asked, folder.path() / "first", time.left_but(0.25), time.stop());
  time.go_on();
  std::map<int, std::vector<std::string>> repeated;
  for (const auto& [device, names] : all) {
    node_gpu gpu{.device = device, .name = facts.driver.devices[static_cast<std::size_t>(device)].name};
    judged_run seen = read_run(folder.path() / "first" / std::to_string(device), recorded);
    gpu.arms = std::move(seen.arms);
    gpu.refused = seen.refused;
    gpu.unfinished = seen.unfinished;
    std::set<std::string> cases;
    for (const node_arm& a : gpu.arms)
      if (needs_repeating(a)) cases.insert(a.case_name);
    if (!gpu.refused.empty() && cases.empty()) cases.insert(asked.trials.begin(), asked.trials.end());
    if (!cases.empty()) repeated[device] = {cases.begin(), cases.end()};
    facts.gpus.push_back(std::move(gpu));
  }
  const milliseconds limit = time.left_but(0.15);
  if (repeated.empty() || limit < milliseconds(500)) return;
  run_trials(repeated, asked, folder.path() / "again", limit, time.stop());
  time.go_on();
  for (const auto& [device, names] : repeated) {
    const judged_run seen = read_run(folder.path() / "again" / std::to_string(device), recorded);
    node_gpu& gpu = facts.gpus[static_cast<std::size_t>(device)];
    gpu.refused_again = seen.refused;
    for (node_arm& a : gpu.arms)
      for (const node_arm& b : seen.arms)
        if (needs_repeating(a) && a.case_name == b.case_name && a.arm == b.arm) {
          a.again = b.judged;
          a.harness_failed = a.harness_failed || b.harness_failed;
        }
  }
}

/// Those of doctor that are quick, each in what is left of the time. What needs a driver is not asked without one.
void check(node_facts& facts, const time_left& time) {
  const std::set<std::string> slow{"unread_variables", "kernel_log", "loaded"};
  machine m = this_machine();
  m.measured = measured_here();
  m.known = issues_of;
  for (probe p : all_probes()) {
    if (slow.contains(p.name)) continue;
    time.go_on();
    p.limit = std::min(p.limit, time.left());
    if (p.needs_driver && facts.driver.usable()) p.needs_driver = false;
    if (p.limit < milliseconds(200))
      facts.checks.probes.push_back(
          {.name = p.name, .what = p.what, .report = {.not_asked = "no time was left"}, .unanswered = {}});
    else
      facts.checks.probes.push_back(examine({p}, m).probes.front());
  }
}

/// The same with and without a driver, where no trial would be begun. Throws usage_error.
void refuse_wrong_use(const node_arguments& asked) {
  if (check_libraries != nullptr) check_libraries(asked.where);
  if (all_cases().empty()) return;  // built without CUDA: the verdict says so
  for (const std::string& name : asked.trials) {
    run_arguments alone;
    alone.names = {name};
    alone.tier = test_tier::quick;
    if (select_cases(alone, false).empty())
      throw usage_error(fmt::format("--trials {}: none of its arms is of the quick tier", name));
  }
}

node_verdict look_at_node(node_facts& facts, const node_arguments& asked, const time_left& time) {
  ask_driver(facts, time.left() / 2);
  time.go_on();
  if (facts.driver_silent.empty() && facts.driver.usable()) {
    facts.other_users = other_users(time.left() / 4);
    if (all_cases().empty())
      facts.no_trials = build_it_with_cuda;
    else if (facts.driver.devices.size() >= facts.gpus_required)  // else it is bad already
      try_gpus(facts, asked, time);
    // A process may have come while the trials ran.
    if (const auto users = other_users(time.left() / 4); !users || !facts.other_users)
      facts.other_users.reset();
    else
      facts.other_users = std::max(*facts.other_users, *users);
  }
  check(facts, time);
  facts.seconds = time.passed();
  node_verdict v = decide(facts);
  if (facts.drill && (v.state != node_state::bad || v.reasons.front().code != "driver_refuses"))
    return no_verdict(facts, fmt::format("the drill did not make it fail ({}): it needs a driver", v.line));
  return v;
}

int examine_node(const node_arguments& asked) {
  if (asked.drill && !asked.under_drill) {
    inject_arguments drill;
    drill.fail = {drill_rule};
    drill.command = {own_path(),
                     "node",
                     "--under-drill",
                     "--policy",
                     name_of(asked.policy),
                     "--timeout",
                     std::to_string(asked.timeout_seconds)};
    if (asked.json) drill.command.emplace_back("--json");
    if (asked.prometheus) drill.command.emplace_back("--prometheus");
    if (asked.refuse_wrong_numbers)
      drill.command.insert(drill.command.end(), {"--fail-on", std::string(harms[0])});
    return present(inject, build_it_with_headers)(drill);
  }
  const interrupt_guard guard;
  const time_left time(std::chrono::seconds(asked.timeout_seconds), guard.descriptor());
  node_facts facts;
  facts.version = this_build.text();
  facts.host = host_name();
  facts.boot = first_line_of("/proc/sys/kernel/random/boot_id");
  facts.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  facts.drill = asked.under_drill;
  facts.refuse_wrong_numbers = asked.refuse_wrong_numbers;
  facts.gpus_required = std::max<std::size_t>(asked.gpus, gpu_required() ? 1 : 0);
  facts.pci_gpus = gpus_on_pci_bus(asked.pci_root);
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    facts.visible_devices = "CUDA_VISIBLE_DEVICES=" + one_line(visible);
  node_verdict v;
  try {
    v = look_at_node(facts, asked, time);
  } catch (const std::exception& e) {
    facts.seconds = time.passed();
    v = no_verdict(facts, e.what());
  }
  const std::string line = line_for(v, facts, asked.policy);
  if (asked.prometheus) {
    std::cerr << line << "\n";
    std::cout << node_metrics(v, facts);
  } else if (asked.json) {
    std::cerr << line << "\n";
    print_json(node_json(v, facts, asked.policy));
  } else {
    const paint how = v.state == node_state::usable ? paint::good
                      : v.state == node_state::bad  ? paint::bad
                                                    : paint::doubtful;
    std::cout << painted(line, how, terminal_of(std::cout)) << '\n';
  }
  return exit_code(v, asked.policy);
}

void add_node_trials(command_line& line) {
  const auto said = std::make_shared<run_arguments>();
  CLI::App* own = line.own_command(trials_command, [said] {
    constexpr int side_by_side = 2, patience_seconds = 2;
    said->argv = {"cufault", "node"};
    said->tier = test_tier::quick;
    said->jobs = side_by_side;
    said->wait_seconds = patience_seconds;
    return run_cases(*said);
  });
  own->add_option("--device", said->where.device)->required();
  own->add_option("--records", said->records)->required();
  own->add_option("--cublas", said->where.cublas);
  own->add_option("--cublaslt", said->where.cublaslt);
  own->add_option("CASE", said->names)->required();
}

void add_node(command_line& line) {
  struct given {
    node_arguments asked;
    std::string policy = "none", fail_on{};
  };
  const auto said = std::make_shared<given>();
  CLI::App* node = line.command(
      "node", "Is this node usable? One verdict in bounded time, for prologs, health checks and preflights",
      "It reports and does not act. A node is bad where GPUs are missing that --gpus or "
      "CUFAULT_REQUIRE_GPU=1 asks for, where a GPU on the PCI bus has no driver, where libcuda cannot be "
      "used, or where cuInit refuses. It is bad, too, where the runtime cannot use a GPU or a trial fails, "
      "twice and while no other process uses the GPUs.\n"
      "Exit codes: 0 usable, or not decidable (busy, no GPU, no time); 1 proved bad; 2 the check could not "
      "be made; 130 interrupted.\n"
      "--policy slurm, k8s: 1 proved bad, else 0. --policy nagios: 0 usable; 1 usable, with findings; 2 "
      "proved bad; 3 not decidable, or no check.\n"
      "Wrong use is 2 under every policy.",
      [said] {
        for (const auto& [policy, name] : names_of(node_policy::none))
          if (name == said->policy) said->asked.policy = policy;
        said->asked.refuse_wrong_numbers = !said->fail_on.empty();
        refuse_wrong_use(said->asked);
        if (said->asked.trials.empty()) said->asked.trials = usual_trials;
        return examine_node(said->asked);
      });
  node_arguments& asked = said->asked;
  node->add_option("--policy", said->policy, "who reads the exit code")
      ->check(CLI::IsMember({"none", "slurm", "k8s", "nagios"}))
      ->capture_default_str();
  node->add_option("--timeout", asked.timeout_seconds, "seconds that it may take in all")
      ->check(CLI::Range(2, 600))
      ->capture_default_str();
  node->add_option("--gpus", asked.gpus, "GPUs that the node must have; with fewer it is bad")
      ->check(CLI::Range(1, 256));
  node->add_flag("--drill", asked.drill,
                 "fail on purpose: the injector fails cuInit, so that what reads the verdict is tested");
  node->add_option("--fail-on", said->fail_on,
                   "a node is bad, too, where its cuBLAS has a known issue of this harm on its GPUs, "
                   "measured, documented or likely (cufault known)")
      ->check(CLI::IsMember({std::string(harms[0])}));
  CLI::Option* const json =
      add_json(node, asked.json, "node", ": the verdict; the line goes to standard error");
  node->add_flag("--prometheus", asked.prometheus,
                 "the verdict in Prometheus' text format, for the textfile collector of node_exporter; the "
                 "line goes to standard error")
      ->excludes(json);
  add_named(node, "--trials", asked.trials, "CASE", "cases of the quick tier to run on each GPU")
      ->default_str("numbers.split_k layout.shapes");
  add_libraries(node, asked.where);
  node->add_flag("--under-drill", asked.under_drill)->group("");
  node->add_option("--pci-root", asked.pci_root)->group("");
}

const register_command node_here{"node", add_node, also(section::what_changed, 5), {needs::source_tree}};
const register_command node_trials_here{"node-trials", add_node_trials, hidden, {needs::source_tree}};

}  // namespace
}  // namespace cufault
