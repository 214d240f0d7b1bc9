// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/evidence/same_arm.hpp"

#include "reports/model/observation.hpp"
#include "reports/model/sweep_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace cufault {
namespace {

std::vector<const observation*> trials_of(const std::vector<const arm_result*>& arms) {
  std::vector<const observation*> all;
  for (const arm_result* a : arms)
    for (const observation& o : a->trials) all.push_back(&o);
  return all;
}

}  // namespace

std::vector<const arm_result*> same_arm_in(std::span<const record> records, const std::string& case_name,
                                           const std::string& arm_name) {
  std::vector<const arm_result*> all;
  for (const record& r : records)
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms)
        if (c.name == case_name && a.name == arm_name) all.push_back(&a);
  return all;
}

std::string why_not_one_sweep(const std::vector<const arm_result*>& parts) {
  const auto commit = [](const arm_result& a) { return a.runs.empty() ? std::string() : a.runs[0].commit; };
  for (const arm_result* part : parts) {
    if (commit(*part) != commit(*parts.front()))
      return fmt::format("parts are of commit {} and of commit {}", commit(*parts.front()), commit(*part));
    if (part->summary != parts.front()->summary)
      return fmt::format("the parts describe their arm differently: \"{}\" and \"{}\"",
                         parts.front()->summary, part->summary);
  }
  return why_not_whole(trials_of(parts));
}

void join_parts(arm_result& a, const std::vector<const arm_result*>& all) {
  if (why_not_one_sweep(all).empty()) a.trials = {joined(trials_of(all))};
}

bool was_repeated(const arm_result& a, const std::vector<const arm_result*>& all) {
  if (!a.races.empty() && a.races != trials_differed) return a.trials.size() > 1;
  std::map<std::optional<std::int64_t>, std::vector<signature>> by_level;
  for (const observation& o : a.trials)
    if (!o.refined) by_level[o.level].push_back(signature_of(o));
  const bool in_trials = std::ranges::all_of(by_level, [](const auto& of_level) {
    const auto& [level, seen] = of_level;
    return seen.size() > 1 && std::ranges::count(seen, seen.front()) == std::ssize(seen);
  });
  return in_trials ||
         std::ranges::count_if(all, [&](const arm_result* other) {
           return observed(*other) && disagreement(arm_plateaus(a), arm_plateaus(*other)).empty();
         }) > 1;
}

}  // namespace cufault
