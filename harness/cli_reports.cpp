// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The commands that read and write data and run nothing: list, bless, claims, show, diff, floor; and stack
// and preflight.
#include "harness/cli.hpp"
#include "harness/process.hpp"
#include "harness/properties.hpp"
#include "harness/runner.hpp"
#include "reports/atlas.hpp"
#include "reports/failures.hpp"
#include "reports/json_input.hpp"
#include "reports/render.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

namespace fs = std::filesystem;

namespace cufault {
namespace {

fs::path data_folder(const char* installed, const char* in_source) {
  const fs::path beside = own_path().parent_path().parent_path() / "share" / "cufault" / installed;
  return fs::exists(beside) ? beside : fs::path(CUFAULT_SOURCE_DIR) / in_source;
}

/// What an arm's signature can depend on that tends to change it: the library's major version always, the
/// GPU's architecture where the arm needs a GPU, the second pair's version where it takes one. Anything narrower is for a person to say with --when, once a
/// difference was seen.
conditions usual_conditions(const stack_keys& stack, const arm* here) {
  conditions when;
  const bool on_gpu = here == nullptr || here->needs == need::gpu;
  if (const auto other = stack.find("other_cublas");
      here != nullptr && here->other_cublas && other != stack.end())
    when.by_key["other_cublas"] = other->second;
  if (const auto cublas = stack.find("cublas"); cublas != stack.end()) {
    const int major = std::atoi(cublas->second.c_str());
    when.by_key["cublas"] = fmt::format(">={} <{}", major, major + 1);
  }
  if (const auto capability = stack.find("compute_capability"); on_gpu && capability != stack.end()) {
    when.by_key["compute_capability"] = capability->second;
  }
  return when;
}

const arm* find_arm(const std::string& case_name, const std::string& arm_name) {
  for (const failure_case& c : all_cases()) {
    if (c.name != case_name) continue;
    for (const arm& a : c.arms) {
      if (a.name == arm_name) return &a;
    }
  }
  return nullptr;
}

std::vector<fs::path> records_in(const std::vector<fs::path>& named) {
  std::vector<fs::path> files;
  for (const fs::path& name : named) {
    if (!fs::is_directory(name)) {
      files.push_back(name);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(name)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Judged by what they show: a control that failed silences its case, whatever the file says of itself.
std::vector<record> load_judged(const std::vector<fs::path>& named) {
  std::vector<record> loaded;
  for (const fs::path& file : records_in(named)) {
    loaded.push_back(load_record(file));
    for (case_result& c : loaded.back().cases) judge(c, {}, keys_of(loaded.back()));
  }
  return loaded;
}

table_style style(bool markdown) {
  return markdown ? table_style::markdown : table_style::text;
}

bool process_exists(const std::string& pid) {
  std::error_code unseen;
  return fs::exists("/proc/" + pid, unseen);
}

/// What trials that are over have left: this user's folders made since `then` by runs that are no more, and
/// processes of such runs.
std::vector<std::string> left_behind(fs::file_time_type then) {
  std::vector<std::string> found;
  std::error_code no_folder, end;  // a folder that cannot be read, or read on, has no more to show
  for (auto at = fs::directory_iterator(fs::temp_directory_path(no_folder), end);
       at != fs::directory_iterator(); at.increment(end)) {
    const std::string name = at->path().filename();
    if (!name.starts_with(scratch_prefix)) continue;
    const std::string pid = name.substr(scratch_prefix.size(), name.rfind('-') - scratch_prefix.size());
    struct stat folder {};
    std::error_code gone;
    const auto made = at->last_write_time(gone);
    if (gone || made < then || lstat(at->path().c_str(), &folder) != 0 || folder.st_uid != geteuid())
      continue;
    if (!process_exists(pid)) found.push_back(at->path().string());
  }
  for (auto at = fs::directory_iterator("/proc", end); at != fs::directory_iterator(); at.increment(end)) {
    std::error_code not_ours;
    if (fs::read_symlink(at->path() / "exe", not_ours) != own_path()) continue;
    std::ifstream line(at->path() / "cmdline", std::ios::binary);
    std::string word, before;
    for (; std::getline(line, word, '\0'); before = word) {
      if (before == "--parent" && !process_exists(word))
        found.push_back(fmt::format("process {}", at->path().filename().string()));
    }
  }
  return found;
}

/// What the driver wrote to the home folder since `then`, for a trial or another program: nobody can tell.
std::vector<std::string> written_to_home(fs::file_time_type then) {
  std::vector<std::string> found;
  const char* home = std::getenv("HOME");
  const fs::path cache = fs::path(home != nullptr ? home : "/nonexistent") / ".nv";
  std::error_code end;
  const auto closed = fs::directory_options::skip_permission_denied;
  for (auto at = fs::recursive_directory_iterator(cache, closed, end);
       at != fs::recursive_directory_iterator(); at.increment(end)) {
    std::error_code gone;
    const auto written = at->last_write_time(gone);
    if (!gone && written >= then) found.push_back(at->path().string());
  }
  return found;
}

fs::path stamp_file(const fs::path& records) {
  return records / "preflight-stamp";
}

}  // namespace

fs::path own_path() {
  static const fs::path path = fs::read_symlink("/proc/self/exe");
  return path;
}

fs::path default_expectations() {
  return data_folder("expectations", "reports/expectations");
}
fs::path default_recorded() {
  return data_folder("recorded", "reports/recorded");
}
fs::path claims_file() {
  return data_folder("claims.json", "cases/claims.json");
}
fs::path failures_file() {
  return data_folder("failures.json", "cases/failures.json");
}

bool gpu_required() {
  const char* value = std::getenv("CUFAULT_REQUIRE_GPU");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

int show_stack(const target& where, bool json) {
  const interrupt_guard guard;
  const nvml management;
  const nlohmann::json stack = read_stack(own_path(), where, management, guard.descriptor());
  if (json) {
    std::cout << stack.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    print_stack(std::cout, stack);
  }
  return stack.value("error", std::string()).empty() ? 0 : exit_unresolved;
}

int list_cases(bool json) {
  const auto legend = load_failures(failures_file());
  nlohmann::json all = nlohmann::json::array();
  for (const failure_case& c : all_cases()) {
    const case_properties& p = properties_of(c);
    nlohmann::json failures = nlohmann::json::array();
    for (const std::string& id : c.failures) {
      const auto known =
          std::find_if(legend.begin(), legend.end(), [&](const field_failure& f) { return f.id == id; });
      // No text: a case that is wrong must not keep the others from being listed. The self-tests refuse it.
      failures.push_back({{"id", id}, {"text", known != legend.end() ? known->text : ""}});
    }
    nlohmann::json arms = nlohmann::json::array();
    for (const arm& a : c.arms) {
      arms.push_back({{"name", a.name},
                      {"kind", to_string(a.kind)},
                      {"summary", a.summary},
                      {"claims", a.claims},
                      {"tier", to_string(tier_of(c, a))},
                      {"races", a.races},
                      {"twin_of", a.twin_of},
                      {"other_cublas", a.other_cublas},
                      {"needs", a.needs == need::gpu ? "gpu" : "host"}});
    }
    all.push_back({{"name", c.name},
                   {"summary", c.summary},
                   {"failures", failures},
                   {"tier", p.tier},
                   {"needs", p.needs},
                   {"memory", p.memory == memory_class::exclusive ? "exclusive" : "shared"},
                   {"arms", arms}});
  }
  if (json) {
    std::cout << all.dump(2) << '\n';
    return 0;
  }
  if (all.empty()) fmt::print(stderr, "cufault: {}\n", build_it_with_cuda);
  for (const auto& c : all) {
    fmt::print("{}  [{}, {}, {}]\n  {}\n", c["name"].get<std::string>(), c["tier"].get<std::string>(),
               c["needs"].get<std::string>(), c["memory"].get<std::string>(),
               c["summary"].get<std::string>());
    for (const auto& f : c["failures"]) {
      const auto text = f["text"].get<std::string>();
      fmt::print("    {:<9} {}\n", f["id"].get<std::string>(),
                 text.empty() ? "unknown: not in cases/failures.json" : "reported: " + text);
    }
    for (const auto& a : c["arms"]) {
      std::string claims;
      for (const auto& id : a["claims"]) claims += " " + id.get<std::string>();
      std::string marks;
      if (const auto tier = a["tier"].get<std::string>(); tier == "named")
        marks += " (only when named)";
      else if (tier != "quick")
        marks += " (" + tier + " tier)";
      if (!a["races"].get<std::string>().empty()) marks += " (races)";
      if (a["other_cublas"].get<bool>()) marks += " (second cuBLAS)";
      fmt::print("    {:<9} {:<34} {}{}{}{}\n", a["kind"].get<std::string>(), a["name"].get<std::string>(),
                 a["summary"].get<std::string>(), marks, claims.empty() ? "" : "  --", claims);
    }
  }
  return 0;
}

namespace {

record to_bless(const fs::path& file) {
  record r = load_record(file);
  if (!r.complete)
    throw usage_error(file.string() + " is of a run that did not come to its end; run it again");
  if (r.dirty)
    throw usage_error(
        file.string() +
        " was made by a cufault that differs from every commit; commit the case, build, run it again");
  if (!keys_of(r).contains("cublas"))
    throw usage_error(file.string() + " does not say which cuBLAS it was made on");
  return r;
}

/// Adds the trials of the same arm. Returns the files of records that have some.
std::vector<std::string> add_trials(arm_result& to, const std::string& case_name,
                                    const std::vector<std::pair<std::string, record>>& others) {
  std::vector<std::string> files;
  for (const auto& [file, r] : others) {
    for (const case_result& c : r.cases) {
      if (c.name != case_name) continue;
      for (const arm_result& a : c.arms) {
        if (a.name != to.name || !observed(a)) continue;
        to.trials.insert(to.trials.end(), a.trials.begin(), a.trials.end());
        files.push_back(file);
      }
    }
  }
  return files;
}

}  // namespace

int bless(const bless_arguments& arguments) {
  record r = to_bless(arguments.record);
  const stack_keys stack = keys_of(r);
  std::vector<std::pair<std::string, record>> others;
  for (const fs::path& file : arguments.with) {
    const bool twice = fs::equivalent(file, arguments.record) ||
                       std::count_if(arguments.with.begin(), arguments.with.end(),
                                     [&](const fs::path& other) { return fs::equivalent(file, other); }) > 1;
    if (twice) throw usage_error(file.string() + " is named twice; its trials count once");
    others.emplace_back(file.filename(), to_bless(file));
    const auto without_second_pair = [](stack_keys keys) {
      keys.erase("other_cublas");
      return keys;
    };
    const auto here = without_second_pair(stack), there = without_second_pair(keys_of(others.back().second));
    for (const auto& [key, value] : here) {
      const auto other = there.find(key);
      if (other == there.end() || other->second != value)
        throw usage_error(fmt::format(
            "{} is of another stack than {}: {} is {}, not {}; give records of one stack", file.string(),
            arguments.record.string(), key, other == there.end() ? "unknown" : other->second, value));
    }
  }
  expectation_set expected = expectation_set::load(arguments.expectations);

  nlohmann::json said = nlohmann::json::object();
  for (const std::string& text : arguments.when) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw usage_error("--when takes KEY=COMPARISONS, as in --when 'driver=>=580 <581'");
    said[text.substr(0, equals)] = text.substr(equals + 1);
  }
  const conditions extra = conditions::parse(json_cursor(parse_json("--when", said.dump())));
  if (!extra.hold(stack))
    throw usage_error(fmt::format("--when {} does not hold on the stack of {} itself", extra.text(),
                                  arguments.record.string()));

  const auto asked = [&](const std::string& name) {
    return arguments.names.empty() ||
           std::find(arguments.names.begin(), arguments.names.end(), name) != arguments.names.end();
  };
  for (const std::string& name : arguments.names) {
    const bool met =
        std::any_of(r.cases.begin(), r.cases.end(), [&](const case_result& c) { return c.name == name; });
    if (!met) throw usage_error(fmt::format("{} has no case {}", arguments.record.string(), name));
  }
  int written = 0, known = 0, left = 0;
  std::set<std::string> used;  // of the further records
  std::string report;
  for (case_result& c : r.cases) {
    if (!asked(c.name)) continue;
    std::map<std::string, std::vector<std::string>> also;
    for (arm_result& a : c.arms)
      if (!a.races.empty()) also[a.name] = add_trials(a, c.name, others);
    judge(c, expected, stack);  // by what the record shows, not by what it says of itself
    for (const arm_result& a : c.arms) {
      if (a.judged == verdict::unresolved || a.judged == verdict::not_provoked) {
        report += fmt::format("left out: {} / {}: {}: {}\n", c.name, a.name, to_string(a.judged), a.why);
        ++left;
        continue;
      }
      if (std::any_of(a.trials.begin(), a.trials.end(), is_part)) {
        report +=
            fmt::format("left out: {} / {}: only part of its sweep; bless a whole one\n", c.name, a.name);
        ++left;
        continue;
      }
      if (extra.by_key.empty() && also[a.name].empty() && as_expected(a.judged)) {
        ++known;
        continue;
      }
      const arm* here = find_arm(c.name, a.name);
      expectation e;
      e.case_name = c.name;
      e.arm = a.name;
      e.when = usual_conditions(stack, here);
      for (const auto& [key, comparisons] : extra.by_key) e.when.by_key[key] = comparisons;
      e.signatures = arm_signatures(a);
      if (!a.races.empty() && e.signatures.size() > 1) {
        e.flaky.emplace().reason = a.races;
        e.flaky->also = also[a.name];
        used.insert(e.flaky->also.begin(), e.flaky->also.end());
        for (const counted_signature& seen : distinct_signatures(a.trials))
          e.flaky->rates.push_back(static_cast<double>(seen.trials) / static_cast<double>(a.trials.size()));
      }
      e.record = arguments.record.filename();
      report += fmt::format("blessed: {} / {} when {}: {}\n", c.name, a.name, e.when.text(), describe(a));
      expected.put(std::move(e));
      static_cast<void>(expected.find(c.name, a.name, stack));  // throws on a tie, before anything is written
      ++written;
    }
  }
  if (written > 0) expected.save(arguments.expectations);
  std::vector<std::string> kept{arguments.record.filename()};
  for (const auto& [file, r_of_it] : others)
    if (used.contains(file)) kept.push_back(file);
  fmt::print("{}{} blessed, {} already expected, {} left out, in {}. Keep {} in reports/recorded.\n", report,
             written, known, left, arguments.expectations.string(), fmt::join(kept, " and "));
  return exit_gate;  // so that no job can bless by accident
}

int show_claims(const std::vector<fs::path>& records, bool json, bool markdown) {
  const std::vector<record> loaded = load_judged(records);
  const auto verdicts = judge_claims(load_claims(claims_file()), loaded);
  if (json) {
    std::cout << to_json(verdicts).dump(2) << '\n';
  } else {
    print_claims(std::cout, verdicts, style(markdown));
  }
  return 0;
}

int show_record(const fs::path& file, bool markdown) {
  const record r = load_record(file);
  print_verdicts(std::cout, r, style(markdown));
  return 0;
}

int show_differences(const std::vector<fs::path>& files, bool by_stack, bool markdown) {
  std::vector<record> loaded;
  for (const fs::path& file : files) loaded.push_back(load_record(file));
  int differing = 0;
  if (by_stack) {
    const auto stacks = merged_by_stack(loaded);
    if (stacks.size() < 2)
      throw usage_error(
          "diff --by-stack: all these records are of one stack; leave --by-stack out to compare them");
    differing = print_differences(std::cout, stacks, style(markdown), missing_arms::counted);
  } else {
    differing = print_differences(std::cout, loaded, style(markdown));
  }
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    const auto& cases = loaded[i].cases;
    const bool shows_something = std::any_of(cases.begin(), cases.end(), [](const case_result& c) {
      return std::any_of(c.arms.begin(), c.arms.end(), [](const arm_result& a) { return observed(a); });
    });
    if (!shows_something)
      throw usage_error(fmt::format("{} shows no arm that could be compared", files[i].string()));
  }
  return differing == 0 ? 0 : exit_gate;
}

int show_causes(const std::string& status, const std::vector<fs::path>& records, bool markdown) {
  const std::vector<record> loaded = load_judged(records);
  const auto returned_it = [&](const observation& o) {
    return std::any_of(o.calls.begin(), o.calls.end(),
                       [&](const call_record& call) { return call.status == status; });
  };
  bool met = false;
  for (const record& r : loaded) {
    for (const case_result& c : r.cases) {
      for (const arm_result& a : c.arms)
        met = met || std::any_of(a.trials.begin(), a.trials.end(), returned_it);
    }
  }
  if (!met)
    throw usage_error(fmt::format(
        "no call returned {} in {} record{}; statuses are spelt as in CUBLAS_STATUS_INTERNAL_ERROR", status,
        loaded.size(), loaded.size() == 1 ? "" : "s"));
  print_causes(std::cout, status, loaded, style(markdown));
  return 0;
}

int show_atlas(const std::vector<fs::path>& records, bool overview, bool markdown) {
  const std::vector<record> loaded = load_judged(records);
  const auto extent = overview ? atlas_extent::overview : atlas_extent::all;
  if (print_atlas(std::cout, loaded, style(markdown), extent) == 0)
    throw usage_error("no sweep is among these records; `cufault sweep` makes them");
  return 0;
}

int show_twins(const std::vector<fs::path>& records, bool markdown) {
  std::vector<twin_pair> known;
  for (const failure_case& c : all_cases())
    for (const arm& a : c.arms)
      if (!a.twin_of.empty()) known.push_back({c.name, a.twin_of, a.name});
  print_twins(std::cout, compare_twins(load_judged(records), known), style(markdown));
  return 0;
}

int preflight(const target& where, const fs::path& records) {
  fs::create_directories(records);
  const nvml management;
  const nlohmann::json stack = read_stack(own_path(), where, management);
  const bool gpu = stack["gpu"].is_object();
  write_whole(stamp_file(records), gpu ? "gpu\n" : "no gpu\n");
  print_stack(std::cout, stack);
  std::cout << std::flush;
  if (const std::string why = stack.value("error", std::string()); !why.empty()) throw usage_error(why);
  if (gpu) return 0;
  const std::string why = stack.value("no_gpu", std::string("unknown"));
  if (gpu_required()) throw usage_error("CUFAULT_REQUIRE_GPU is set and there is no GPU: " + why, exit_gate);
  fmt::print("no GPU: {}; only what needs none will run\n", why);
  return exit_skipped;
}

int check_floor(const fs::path& records, int at_least) {
  std::error_code none;
  const auto since = fs::last_write_time(stamp_file(records), none);
  if (none)
    throw usage_error(
        fmt::format("no preflight has run in {}; run the tests through ctest", records.string()));
  std::string seen;
  std::getline(std::ifstream(stamp_file(records)), seen);
  const bool on_gpu = seen == "gpu";
  fs::remove(stamp_file(records), none);

  // Where there is a GPU, a case counts only if it did something there.
  const auto ran = [&](const arm_result& a) {
    return !a.trials.empty() && std::all_of(a.trials.begin(), a.trials.end(), [&](const observation& o) {
      return comparable(o) && (!on_gpu || o.context != "none");
    });
  };
  std::set<std::string> executed;
  for (const fs::path& file : records_in({records})) {
    if (fs::last_write_time(file) < since) continue;
    for (const case_result& c : load_record(file).cases) {
      if (std::any_of(c.arms.begin(), c.arms.end(), ran)) executed.insert(c.name);
    }
  }
  fmt::print("{} cases were executed{}; the floor is {}\n", executed.size(), on_gpu ? " on the GPU" : "",
             at_least);
  if (const auto written = written_to_home(since); !written.empty())
    fmt::print("note: a trial or another program wrote to the home folder meanwhile: {}\n",
               fmt::join(written, ", "));
  if (const auto left = left_behind(since); !left.empty())
    throw usage_error(fmt::format("left behind by trials: {}", fmt::join(left, ", ")), exit_gate);
  if (static_cast<int>(executed.size()) >= at_least) return 0;
  throw usage_error(
      "too few cases ran for the result to mean anything; see the skipped tests above, or CUFAULT_FLOOR",
      exit_gate);
}

}  // namespace cufault
