// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/properties.hpp"

#include <algorithm>
#include <stdexcept>

namespace cufault {

const case_properties& properties_of(const failure_case& c) {
  const auto& all = all_properties();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const case_properties& p) { return p.name == c.name; });
  if (found == all.end())
    throw std::logic_error(c.name + " registers a case that has no such line in cases/CMakeLists.txt");
  return *found;
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
