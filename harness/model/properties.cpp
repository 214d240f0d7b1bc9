// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/properties.hpp"

#include <algorithm>
#include <stdexcept>

namespace cufault {

case_properties properties_of(const failure_case& c) {
  const std::string of_family = c.name.substr(0, c.name.find('.')) + ".*";
  for (const std::string& name : {c.name, of_family}) {
    const auto found = std::ranges::find(all_properties(), std::string_view(name), &case_properties::name);
    if (found == all_properties().end()) continue;
    case_properties its = *found;
    if (name == of_family) its.name = c.name, its.memory = c.memory;
    return its;
  }
  throw std::logic_error(c.name + " registers a case that has no such line in cases/CMakeLists.txt");
}

std::string_view to_string(test_tier tier) {
  return tier == test_tier::quick     ? "quick"
         : tier == test_tier::full    ? "full"
         : tier == test_tier::nightly ? "nightly"
                                      : "named";
}

test_tier tier_of(const failure_case& c, const arm& a) {
  if (a.tier) return *a.tier;
  const std::string_view of_case = properties_of(c).tier;
  if (of_case == "nightly") return in_its_tier(c, a) ? test_tier::nightly : test_tier::named;
  if (!a.counterpart_of.empty()) return test_tier::nightly;
  return of_case == "quick" && in_its_tier(c, a) ? test_tier::quick : test_tier::full;
}

}  // namespace cufault
