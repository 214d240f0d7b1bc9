// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault run: select, lock, run each arm, judge, record, print.
#include "harness/cli.hpp"
#include "harness/gpu_lock.hpp"
#include "harness/properties.hpp"
#include "harness/runner.hpp"
#include "reports/record.hpp"
#include "reports/render.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <fnmatch.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "commit.hpp"

namespace cufault {
namespace {

struct selected_case {
  const failure_case* what;
  std::vector<const arm*> arms;
};

/// One of so many parts of a case's arms: controls belong to each, every other arm to one, and what answers a
/// fault to that of the fault. Where there are fewer than parts, the parts beyond have none: controls alone would prove nothing.
std::vector<const arm*> part_of(const std::vector<const arm*>& arms, std::pair<int, int> part) {
  std::map<std::string, int> dealt;
  int next = 0;
  for (const arm* a : arms)
    if (a->kind != arm_kind::control && a->against.empty()) dealt[a->name] = next++ % part.second + 1;
  std::vector<const arm*> mine;
  for (const arm* a : arms) {
    const auto to = dealt.find(a->against.empty() ? a->name : a->against);
    if (a->kind == arm_kind::control || (to != dealt.end() && to->second == part.first)) mine.push_back(a);
  }
  const bool controls_alone = part.first > next && part.first > 1;
  return controls_alone ? std::vector<const arm*>{} : mine;
}

/// CASE/ARM, with * for whatever there is: "*/*_injected" are all injected twins.
bool names_arm(const std::string& name, const failure_case& c, const arm& a) {
  return fnmatch(name.c_str(), (c.name + "/" + a.name).c_str(), 0) == 0;
}

/// CASE, or FAMILY.
bool names_case(const std::string& name, const failure_case& c) {
  return name == c.name || c.name.starts_with(name + ".");
}

/// Cases by name, by family, or one arm of a case (CASE/ARM, with the case's controls: without them nothing
/// is proved).
std::vector<selected_case> select(const std::vector<std::string>& names, test_tier tier) {
  const auto& cases = all_cases();
  if (cases.empty()) throw usage_error(build_it_with_cuda);
  std::vector<selected_case> selected;
  std::set<std::string> understood;
  for (const failure_case& c : cases) {
    selected_case s{&c, {}};
    for (const arm& a : c.arms) {
      const bool in_tier = tier_of(c, a) <= tier;
      bool asked = names.empty() && in_tier;
      for (const std::string& name : names) {
        const bool whole = names_case(name, c);
        const bool only_this = names_arm(name, c, a);
        // Without a working control nothing is proved, nor by a remedy without the fault that it answers.
        const bool control_of_it = a.kind == arm_kind::control &&
                                   std::any_of(c.arms.begin(), c.arms.end(),
                                               [&](const arm& other) { return names_arm(name, c, other); });
        const bool answered_by_it = std::any_of(c.arms.begin(), c.arms.end(), [&](const arm& other) {
          return other.against == a.name && names_arm(name, c, other);
        });
        if (whole || only_this) understood.insert(name);
        asked = asked || (whole && in_tier) || only_this || control_of_it || answered_by_it;
      }
      if (asked) s.arms.push_back(&a);
    }
    if (!s.arms.empty()) selected.push_back(std::move(s));
  }
  for (const std::string& name : names) {
    if (!understood.contains(name))
      throw usage_error(
          fmt::format("no case, family or CASE/ARM is called {}; `cufault list` names them", name));
  }
  return selected;
}

/// Of each name, which was not enough to run anything: what would be.
std::string how_to_run(const std::vector<std::string>& names) {
  std::string lines;
  for (const std::string& name : names) {
    test_tier first = test_tier::named;
    for (const failure_case& c : all_cases())
      for (const arm& a : c.arms)
        if (names_case(name, c)) first = std::min(first, tier_of(c, a));
    lines += first == test_tier::named
                 ? fmt::format("; the arms of {} run only when named, as CASE/ARM", name)
                 : fmt::format("; --tier {} would run {}", to_string(first), name);
  }
  return lines;
}

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

std::uint64_t seed_of_trial(std::uint64_t seed, const failure_case& c, const arm& a,
                            std::optional<std::int64_t> rung, int repeat) {
  std::seed_seq mix{static_cast<std::uint64_t>(std::hash<std::string>{}(c.name + "/" + a.name)), seed >> 32,
                    seed & 0xffffffffu, static_cast<std::uint64_t>(rung.value_or(-1)),
                    static_cast<std::uint64_t>(repeat)};
  std::array<std::uint32_t, 2> out{};
  mix.generate(out.begin(), out.end());
  return std::uint64_t{out[0]} << 32 | out[1];
}

bool interrupt_came(int stop) {
  pollfd asked{stop, POLLIN, 0};
  return poll(&asked, 1, 0) > 0;
}

class run {
 public:
  run(const run_arguments& arguments, int stop) : arguments_(arguments), stop_(stop) {
    expected_ = expectation_set::load(arguments_.expectations);
    record_.version = CUFAULT_VERSION;
    record_.commit = CUFAULT_COMMIT;
    record_.dirty = CUFAULT_DIRTY;
    record_.argv = arguments_.argv;
    record_.mode = arguments_.mode;
    record_.seed = arguments_.seed ? *arguments_.seed
                                   : std::uint64_t{std::random_device{}()} << 32 | std::random_device{}();
    record_.started = utc_now("{:%Y-%m-%dT%H:%M:%SZ}");
    stack_ = read_stack(own_path(), arguments_.where, management_, stop_);
    if (const std::string why = stack_.value("error", std::string()); !why.empty()) throw usage_error(why);
    no_gpu_ = stack_["gpu"].is_object() ? std::string() : stack_.value("no_gpu", std::string("unknown"));
    if (!no_gpu_.empty() && gpu_required())
      throw usage_error("CUFAULT_REQUIRE_GPU is set and there is no GPU: " + no_gpu_, exit_gate);
    record_.stack = for_record(stack_);
  }

  int all(std::vector<selected_case> selected) {
    if (arguments_.shuffle) {
      std::mt19937_64 order(record_.seed);
      std::shuffle(selected.begin(), selected.end(), order);
      for (selected_case& s : selected) std::shuffle(s.arms.begin(), s.arms.end(), order);
    }
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
    bool complete = true;
    std::string cut_short;
    try {
      for (const selected_case& s : selected) one_case(s, writer);
    } catch (const interrupted&) {
      complete = false;
      cut_short = "interrupted";
    } catch (const gpu_busy& e) {
      complete = false;
      cut_short = e.what();
    }
    record_.ended = utc_now("{:%Y-%m-%dT%H:%M:%SZ}");
    record_.complete = complete;
    record_.exit_code = complete ? exit_code(record_.cases, record_.mode, arguments_.not_provoked_budget)
                                 : (cut_short == "interrupted" ? exit_interrupted : exit_unresolved);
    const auto file = writer.finish(record_);
    std::cerr << std::flush;
    print_verdicts(std::cout, record_, table_style::text);
    fmt::print(std::cout, "record: {}\nseed: {} (repeat with --seed {})\n", file.string(), record_.seed,
               record_.seed);
    std::cout << std::flush;
    if (!complete) fmt::print(std::cerr, "cufault: {}; what had run is in the record\n", cut_short);
    if (!no_gpu_.empty()) fmt::print(std::cerr, "cufault: arms that need a GPU were not run: {}\n", no_gpu_);
    return record_.exit_code;
  }

 private:
  void one_case(const selected_case& s, record_writer& writer) {
    const failure_case& c = *s.what;
    const bool uses_gpu = no_gpu_.empty() && std::any_of(s.arms.begin(), s.arms.end(),
                                                         [](const arm* a) { return a->needs == need::gpu; });
    std::optional<gpu_lock> lock;
    const std::string uuid = uses_gpu ? stack_["gpu"].value("uuid", std::string("unknown")) : std::string();
    // Twins of squeezes take no memory.
    const bool twins_alone = std::all_of(s.arms.begin(), s.arms.end(), [](const arm* a) {
      return a->kind == arm_kind::control || !a->twin_of.empty();
    });
    const memory_class memory = twins_alone ? memory_class::shared : properties_of(c).memory;
    if (uses_gpu) {
      try {
        lock.emplace(uuid, memory, std::chrono::seconds(arguments_.wait_seconds), stop_);
      } catch (const gpu_busy&) {
        if (interrupt_came(stop_)) throw interrupted{};
        throw;
      }
    }

    runner_options options;
    options.no_gpu = no_gpu_;
    options.other_cublas = stack_.value("other_cublas", std::string("none")) != "none";
    options.stop = stop_;
    if (uses_gpu && memory == memory_class::exclusive)
      options.in_use = [this, uuid] { return management_.used_bytes(uuid); };
    options.command = [this](const failure_case& x, const arm& a, std::optional<std::int64_t> rung,
                             int repeat) {
      std::vector<std::string> words{
          own_path(),   "trial",
          x.name,       a.name,
          "--parent",   std::to_string(getpid()),
          "--stage",    "0",
          "--device",   std::to_string(arguments_.where.device),
          "--seed",     std::to_string(seed_of_trial(record_.seed, x, a, rung, repeat)),
          "--cublas",   arguments_.where.cublas,
          "--cublaslt", arguments_.where.cublaslt};
      if (rung) {
        words.emplace_back("--rung");
        words.push_back(std::to_string(*rung));
      }
      return words;
    };

    record_.cases.push_back({c.name, c.summary, {}});
    case_result& result = record_.cases.back();
    for (const arm* a : s.arms) {
      fmt::print(std::cerr, "{} / {} ... ", c.name, a->name);
      arm_result r;
      try {
        r = run_arm(c, *a, options);
      } catch (const interrupted&) {
        fmt::print(std::cerr, "interrupted\n");
        judge(result, expected_, keys_of(record_));
        throw;
      }
      judge(r, expected_.find(c.name, a->name, keys_of(record_)));
      fmt::print(std::cerr, "{}\n", to_string(r.judged));
      writer.add(c.name, c.summary, r);
      result.arms.push_back(std::move(r));
    }
    judge(result, expected_, keys_of(record_));
  }

  const run_arguments& arguments_;
  int stop_;
  nvml management_;
  expectation_set expected_;
  nlohmann::json stack_;
  std::string no_gpu_;
  record record_;
};

}  // namespace

int run_cases(const run_arguments& arguments) {
  if (arguments.part.first < 1 || arguments.part.first > arguments.part.second)
    throw usage_error(
        fmt::format("--part {} {}: there is no such part", arguments.part.first, arguments.part.second));
  auto selected = select(arguments.names, arguments.tier);
  for (selected_case& s : selected) s.arms = part_of(s.arms, arguments.part);
  std::erase_if(selected, [](const selected_case& s) { return s.arms.empty(); });
  if (selected.empty()) {
    if (arguments.part.second == 1)
      fmt::print("nothing to run in the {} tier{}\n", to_string(arguments.tier), how_to_run(arguments.names));
    else
      fmt::print("nothing to run: there are fewer arms than parts, and part {} of {} has none\n",
                 arguments.part.first, arguments.part.second);
    return exit_skipped;
  }
  const interrupt_guard guard;
  return run(arguments, guard.descriptor()).all(selected);
}

}  // namespace cufault
