// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/program_sweep_plan.hpp"

#include "harness/injection/sweep_codes.hpp"
#include "harness/injector/driver_functions.hpp"
#include "harness/injector/library_functions.hpp"
#include "harness/injector/rules.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace cufault::program_sweep {
namespace {

constexpr std::string_view words_of_release[]{"Destroy", "Free", "CommAbort", "DeviceReset"};

/// True for functions that the injector knows: it refuses rules for others.
bool is_known(std::string_view function) {
  if (const auto* of = injector::library_of(function)) return injector::function_in(*of, function) != nullptr;
  const auto all = injector::driver_functions();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& f) { return injector::matches_function(function, f.name); });
}

std::vector<std::string> codes_of_library(const injector::known_library& of, std::string_view function) {
  const std::string name = in_lower_case(function);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  const bool allocates = !releases(function) && (has("alloc") || has("create") || has("init"));
  const std::size_t first = allocates                                                         ? 0
                            : injector::can_be_dropped(of, injector::function_name(function)) ? 1
                                                                                              : 2;
  std::vector<std::string_view> all{of.tried[first]};
  all.insert(all.end(), of.tried.begin(), of.tried.end());
  std::vector<std::string> codes;
  for (const std::string_view each : all)
    if (injector::code_in(&of, each) && std::find(codes.begin(), codes.end(), each) == codes.end())
      codes.emplace_back(each);  // older headers may lack a code
  return codes;
}

using function_and_library = std::pair<std::string, std::string>;

/// Sorts calls into the order in which a budget takes them.
void order_by_novelty(std::vector<planned_call>& calls, const std::vector<compared_site>& sites) {
  std::set<std::string> functions;
  std::set<function_and_library> functions_of_libraries;
  std::vector<std::pair<int, planned_call>> ranked;
  for (planned_call& call : calls) {
    const call_site& site = sites[call.site].site;
    const bool new_function = functions.insert(site.function).second;
    const bool new_library = functions_of_libraries.insert({site.function, site.library}).second;
    ranked.emplace_back(new_function ? 0 : new_library ? 1 : 2, std::move(call));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i] = std::move(ranked[i].second);
}

bool is_swept(const compared_site& s) {
  return s.is_stable() && why_left_alone(s.site).empty();
}

}  // namespace

bool releases(std::string_view function) {
  if (injector::library_of(function) == nullptr) return false;
  return std::any_of(std::begin(words_of_release), std::end(words_of_release),
                     [&](std::string_view word) { return function.find(word) != std::string_view::npos; });
}

std::string without_prefix(const std::string& code) {
  constexpr std::string_view prefix = "CUDA_ERROR_";
  return code.starts_with(prefix) ? code.substr(prefix.size()) : code;
}

std::string why_left_alone(const call_site& site) {
  return is_known(site.function) ? "" : "the cuda.h that cufault was built with does not have the function";
}

std::vector<std::string> codes_of(std::string_view function) {
  if (const auto* of = injector::library_of(function)) return codes_of_library(*of, function);
  std::vector<std::string> codes;
  const injector::function_name name(function);
  for (std::string& code : sweeping::codes_for(function))
    if (injector::can_return(name, *injector::driver_code(code))) codes.push_back(std::move(code));
  if (!codes.empty()) return codes;
  for (const auto& each : injector::driver_functions()) {
    if (each.name.base() != name.base()) continue;
    std::istringstream documented(each.codes);
    for (int code = 0; documented >> code;)
      if (code != 0 && injector::can_return(name, code))
        return {without_prefix(injector::driver_code_name(code))};
  }
  return codes;
}

std::vector<planned_call> plan_thin(const std::vector<compared_site>& sites) {
  std::vector<planned_call> calls;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const auto codes = codes_of(sites[i].site.function);
    if (is_swept(sites[i]) && !codes.empty()) calls.push_back({i, 1, codes.front()});
  }
  order_by_novelty(calls, sites);
  return calls;
}

std::vector<planned_call> plan_every(const std::vector<compared_site>& sites) {
  std::vector<planned_call> calls;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (!is_swept(sites[i])) continue;
    for (std::uint64_t ordinal = 1; ordinal <= sites[i].first.calls; ++ordinal)
      for (const std::string& code : codes_of(sites[i].site.function)) calls.push_back({i, ordinal, code});
  }
  order_by_novelty(calls, sites);
  return calls;
}

std::vector<std::vector<planned_call>> plan_groups(const std::vector<compared_site>& sites) {
  std::vector<planned_call> leaders;  // one call of each group, to order the groups
  std::map<function_and_library, std::vector<planned_call>> groups;
  const auto group_of = [&](std::size_t site) {
    return function_and_library{sites[site].site.function, sites[site].site.library};
  };
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const auto codes = codes_of(sites[i].site.function);
    if (!is_swept(sites[i]) || codes.empty()) continue;
    auto& group = groups[group_of(i)];
    if (group.empty()) leaders.push_back({i, 1, codes.front()});
    for (std::uint64_t ordinal = 1; ordinal <= sites[i].first.calls; ++ordinal)
      group.push_back({i, ordinal, codes.front()});
  }
  order_by_novelty(leaders, sites);
  std::vector<std::vector<planned_call>> all;
  for (const planned_call& each : leaders) all.push_back(std::move(groups[group_of(each.site)]));
  return all;
}

std::optional<further_call> further_call_of(const std::vector<counted_site>& after,
                                            const std::vector<compared_site>& sites) {
  std::optional<further_call> first;
  for (const counted_site& each : after) {
    const auto codes = codes_of(each.site.function);
    if (codes.empty() || !why_left_alone(each.site).empty()) continue;
    const further_call found{each.site, each.count.calls, codes.front()};
    if (std::none_of(sites.begin(), sites.end(), [&](const auto& known) { return known.site == each.site; }))
      return found;
    if (!first) first = found;
  }
  return first;
}

int runs_side_by_side(const std::vector<memory_use>& memory, int processors) {
  auto most = static_cast<std::uint64_t>(std::max(1, processors));
  for (const memory_use& of : memory)
    if (of.taken > 0) most = std::min(most, of.free / of.taken);
  return static_cast<int>(std::max<std::uint64_t>(1, most));
}

std::string fail_text(const call_site& site, std::uint64_t ordinal, const std::string& code) {
  return fmt::format("{}@{}:{}={}", site.function, site.stack, ordinal, code);
}

std::string name_of_row(const call_site& site, std::uint64_t ordinal, const std::string& code,
                        const std::optional<further_call>& then) {
  const std::string first = fail_text(site, ordinal, code);
  return then ? first + ' ' + fail_text(then->site, then->ordinal, then->code) : first;
}

}  // namespace cufault::program_sweep
