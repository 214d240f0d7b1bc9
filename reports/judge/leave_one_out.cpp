// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/leave_one_out.hpp"

#include "reports/judge/comparison.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/stack_folder.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

bool same_minor_version(const stack_keys& a, const stack_keys& b) {
  static constexpr std::array<std::string_view, 1> cublas{"cublas"};
  return distance(a, b, cublas) == 0;
}

predicted_from source_of(const reference& known) {
  if (known.distance == 0) return predicted_from::same_version;
  if (known.distance >= other_architecture) return predicted_from::architecture;
  if (known.from.size() < 2) return predicted_from::one_version;
  const bool agree = is_same(compare_arms(known.from[0].shown, known.from[1].shown).v);
  return agree ? predicted_from::both_agree : predicted_from::both_differ;
}

}  // namespace

std::string to_string(predicted_from f) {
  constexpr std::array names{"same minor version", "versions below and above, which agree",
                             "versions below and above, which differ", "version on one side",
                             "another architecture"};
  return names.at(static_cast<std::size_t>(f));
}

leave_one_out judge_by_others(const std::filesystem::path& recorded) {
  struct prediction {
    std::string arm;
    predicted_from from;
    bool held;
  };
  leave_one_out all;
  std::vector<prediction> made;
  std::map<std::pair<std::string, std::string>, arm_result> first;  // by architecture and arm
  std::set<std::string> changing;
  baselines others({recorded});
  for (const std::filesystem::path& folder : stacks_in(recorded)) {
    const record r = load_stack(folder);
    const stack_keys here = keys_of(r);
    for (const bool whole_version : {true, false}) {
      others.leave_out([&](const std::string& name, const stack_keys& keys) {
        return name == folder.filename() || (whole_version && same_minor_version(keys, here));
      });
      for (const case_result& c : r.cases)
        for (const arm_result& a : c.arms) {
          if (!a.expected || !a.races.empty() || !observed(a)) continue;
          const std::string name = join_key(c.name, a.name);
          const auto architecture = here.find("compute_capability");
          const auto [at, is_first] =
              first.try_emplace({architecture == here.end() ? "" : architecture->second, name}, a);
          if (!is_first && !is_same(compare_arms(&at->second, &a).v)) changing.insert(name);
          const reference* const known = others.find(c.name, a.name, here);
          if (known == nullptr || known->undefined) {
            all.unpredicted += whole_version ? 1 : 0;
            continue;
          }
          const predicted_from from = source_of(*known);
          if ((from == predicted_from::same_version) == whole_version) continue;
          const bool held = std::ranges::any_of(
              known->from, [&](const expectation& e) { return is_same(compare_arms(e.shown, &a).v); });
          all.of_family[family_of_case(c.name)][from].add(held);
          all.of_all[from].add(held);
          made.push_back({name, from, held});
        }
    }
  }
  for (const prediction& p : made)
    if (changing.contains(p.arm)) all.of_changing[p.from].add(p.held);
  return all;
}

}  // namespace cufault
