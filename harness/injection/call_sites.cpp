// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/call_sites.hpp"

#include "harness/injector/driver_functions.hpp"
#include "harness/injector/library_functions.hpp"
#include "harness/injector/rules.hpp"
#include "reports/base/json_input.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace cufault::program_sweep {
namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

using site_key = std::pair<std::string, std::string>;  // function, stack

site_key key_of(const call_site& site) {
  return {site.function, site.stack};
}

json memory_rules() {
  json rules = json::array();
  std::set<std::string> named;
  for (const auto& each : injector::driver_functions()) {
    const std::string base(each.name.base());
    if (change_of_allocations(each.name.text) != 0 && named.insert(base).second)
      rules.push_back({{"function", base}, {"log", true}});
  }
  return rules;
}

}  // namespace

int change_of_allocations(std::string_view function) {
  switch (injector::memory_function_of(function).role) {
    case injector::memory_role::allocates:
    case injector::memory_role::creates_handle:
    case injector::memory_role::retains_handle:
      return 1;
    case injector::memory_role::frees:
    case injector::memory_role::releases_handle:
      return -1;
    default:
      return 0;
  }
}

run_log read_log(const fs::path& log) {
  run_log seen;
  struct of_site {
    call_site site;
    std::map<std::uint64_t, std::uint64_t> calls;  // key: process
  };
  std::vector<of_site> all;
  std::map<site_key, std::size_t> place;
  std::optional<std::uint64_t> failed_in;  // a process
  std::optional<site_key> failed;          // until its own line came
  std::set<site_key> after;
  std::ifstream in(log);
  for (std::string text; std::getline(in, text);) {
    try {
      const json_cursor line{parse_json(log.string(), text)};
      const std::string event = line.at("event").string();
      if (event == "began") ++seen.programs;
      if (event == "preload removed") seen.preload_removed = true;
      if (event == "calls") seen.called[line.at("function").string()] += line.at("calls").unsigned_integer();
      if (event == "injected" && seen.injections++ == 0 && line.has("pid")) {
        failed_in = line.at("pid").unsigned_integer();
        failed = {line.at("function").string(), line.has("stack") ? line.at("stack").string() : ""};
        if (line.has("python")) seen.python = line.at("python").string();
        if (line.has("frames"))
          for (const auto& frame : line.at("frames").items())
            seen.frames.push_back({frame.at("file").string(), frame.at("offset").string(),
                                   frame.has("symbol") ? frame.at("symbol").string() : ""});
      }
      if (event != "call") continue;
      const std::string function = line.at("function").string();
      if (line.at("result").string() == "CUDA_SUCCESS")
        seen.device_allocations += change_of_allocations(function);
      if (!line.has("stack")) continue;
      const call_site site{line.at("caller").string(), line.has("offset") ? line.at("offset").string() : "",
                           function, line.at("stack").string()};
      const auto [at, is_new] = place.try_emplace(key_of(site), all.size());
      if (is_new) all.push_back({site, {}});
      const std::uint64_t process = line.at("pid").unsigned_integer();
      const std::uint64_t number = ++all[at->second].calls[process];
      seen.order.push_back(at->second);
      if (failed_in != process) continue;
      if (failed == key_of(site))
        failed.reset();
      else if (after.insert(key_of(site)).second)
        seen.after.push_back({site, {number, 1}});
    } catch (const input_error&) {
      ++seen.unread;
    }
  }
  for (const of_site& each : all) {
    site_count count{0, each.calls.size()};
    for (const auto& [process, calls] : each.calls) count.calls = std::max(count.calls, calls);
    seen.sites.push_back({each.site, count});
  }
  return seen;
}

std::string rules_that_log_all(const std::vector<std::string>& libraries) {
  const auto of = [](const std::string& glob) {
    return json{{"function", glob}, {"log", true}, {"stack", true}};
  };
  if (libraries.empty()) return json{{"rules", json::array({of("*")})}}.dump();
  json rules = memory_rules();
  for (const std::string& name : libraries)
    if (const auto* library = injector::library_named(name))
      rules.push_back(of(std::string(library->prefix) + "*"));
  return json{{"rules", rules}}.dump();
}

std::string rules_that_log_memory() {
  return json{{"rules", memory_rules()}}.dump();
}

std::vector<compared_site> compare(const std::vector<counted_site>& first,
                                   const std::vector<counted_site>& second) {
  std::vector<compared_site> all;
  std::map<site_key, std::size_t> place;
  for (const counted_site& each : first) {
    place[key_of(each.site)] = all.size();
    all.push_back({each.site, each.count, {}});
  }
  for (const counted_site& each : second) {
    const auto [at, is_new] = place.try_emplace(key_of(each.site), all.size());
    if (is_new) all.push_back({each.site, {}, {}});
    all[at->second].second = each.count;
  }
  return all;
}

}  // namespace cufault::program_sweep
