// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/counterparts.hpp"

#include "reports/judge/claims.hpp"
#include "reports/judge/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace cufault {
namespace {

const case_result* case_of(const record& r, const std::string& name) {
  const auto found = std::ranges::find(r.cases, name, &case_result::name);
  return found != r.cases.end() ? &*found : nullptr;
}

const arm_result* arm_of(const case_result* c, const std::string& name) {
  if (c == nullptr) return nullptr;
  const auto found = std::ranges::find(c->arms, name, &arm_result::name);
  return found != c->arms.end() ? &*found : nullptr;
}

/// Of each stated level, or of all trials where there are none: the signatures, each once.
std::map<std::optional<std::int64_t>, std::vector<signature>> by_level(const arm_result& arm) {
  std::map<std::optional<std::int64_t>, std::vector<signature>> found;
  for (const observation& o : arm.trials) {
    if (o.refined) continue;
    auto& here = found[o.level];
    if (auto s = signature_of(o); std::ranges::find(here, s) == here.end()) here.push_back(std::move(s));
  }
  return found;
}

constexpr const char* no_context = "none";

bool all_without_context(const std::vector<signature>& signatures) {
  return std::ranges::all_of(signatures, [](const signature& s) { return s.context == no_context; });
}

/// How signatures of the counterpart differ from those of its natural arm: a line each.
std::vector<std::string> differences(const std::vector<signature>& natural,
                                     const std::vector<signature>& counterpart) {
  if (natural.size() == 1 && counterpart.size() == 1)
    return differing_steps(natural.front(), counterpart.front());
  return {shortened(fmt::format("{} → {}", describe(natural), describe(counterpart)))};
}

/// Empty where they agree.
std::vector<std::string> differences(const arm_result& natural, const arm_result& counterpart) {
  const bool races = !natural.races.empty() || !counterpart.races.empty();
  const auto expected = by_level(natural);
  auto seen = by_level(counterpart);
  // A natural arm that needs no GPU has no context that its counterpart's could be compared with.
  for (auto& [level, signatures] : seen)
    if (const auto same = expected.find(level); same != expected.end() && all_without_context(same->second))
      for (signature& s : signatures) s.context = no_context;
  std::map<std::vector<std::string>, std::vector<std::string>> levels_of;  // lines -> where
  for (const auto& [level, signatures] : expected) {
    const auto of_counterpart = seen.find(level);
    std::vector<std::string> lines;
    if (of_counterpart == seen.end()) {
      lines = {"the counterpart has no such level"};
    } else {
      const bool shared =
          std::find_first_of(signatures.begin(), signatures.end(), of_counterpart->second.begin(),
                             of_counterpart->second.end()) != signatures.end();
      if (races ? shared : signatures == of_counterpart->second) continue;
      lines = differences(signatures, of_counterpart->second);
    }
    levels_of[lines].push_back(level ? std::to_string(*level) : "");
  }
  for (const auto& [level, signatures] : seen)
    if (!expected.contains(level))
      levels_of[{"the natural arm has no such level"}].push_back(level ? std::to_string(*level) : "");
  std::vector<std::string> all;
  for (const auto& [lines, levels] : levels_of) {
    const std::string where =
        levels == std::vector<std::string>{""}
            ? ""
            : fmt::format("level{} {}: ", levels.size() == 1 ? "" : "s", fmt::join(levels, ", "));
    for (const std::string& line : lines) all.push_back(where + line);
  }
  return all;
}

/// Why nothing can be said of an arm; empty if something can.
std::string unmeasured(const arm_result* arm, const std::string& name) {
  if (arm == nullptr || arm->trials.empty()) return name + " was not run";
  for (const observation& o : arm->trials)
    if (!comparable(o)) return fmt::format("{}: {}", name, why_not_comparable(o));
  return {};
}

counterpart_comparison compare(const counterpart_pair& pair, const case_result& both, std::string stack) {
  const arm_result* const natural = arm_of(&both, pair.natural);
  const arm_result* const counterpart = arm_of(&both, pair.counterpart);
  counterpart_comparison c{
      .of = pair, .stack = std::move(stack), .verdict = "not measured yet", .differences = {}};
  if (control_unresolved(both)) c.differences.emplace_back("without a working control nothing is proved");
  for (const auto& [arm, name] : {std::pair{natural, pair.natural}, std::pair{counterpart, pair.counterpart}})
    if (auto why = unmeasured(arm, name); !why.empty()) c.differences.push_back(std::move(why));
  if (!c.differences.empty()) return c;
  c.differences = differences(*natural, *counterpart);
  c.verdict = !c.differences.empty()                   ? "differs"
              : count_failures(natural->trials).none() ? "nothing fails"
                                                       : "agrees";
  return c;
}

}  // namespace

std::vector<counterpart_comparison> compare_counterparts(std::vector<record> records,
                                                         std::span<const counterpart_pair> known) {
  std::set<counterpart_pair> pairs(known.begin(), known.end());
  for (const record& r : records)
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms)
        if (!a.counterpart_of.empty()) pairs.insert({c.name, a.counterpart_of, a.name});
  const auto stacks = merged_by_stack(std::move(records));
  std::vector<counterpart_comparison> all;
  for (const counterpart_pair& pair : pairs) {
    const std::size_t before = all.size();
    // A stack that nobody ran the counterpart on says nothing of it.
    for (const record& r : stacks) {
      const case_result* const both = case_of(r, pair.case_name);
      if (arm_of(both, pair.counterpart) != nullptr) all.push_back(compare(pair, *both, stack_label(r)));
    }
    if (all.size() == before)
      all.push_back({.of = pair,
                     .stack = {},
                     .verdict = "not measured yet",
                     .differences = {pair.counterpart + " was not run"}});
  }
  return all;
}

}  // namespace cufault
