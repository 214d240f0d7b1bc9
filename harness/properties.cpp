// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/properties.hpp"

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

}  // namespace cufault
