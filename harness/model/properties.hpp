// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"

#include <string_view>
#include <vector>

namespace cufault {

/// Properties from a case's line in cases/CMakeLists.txt, for CTest and the runner.
struct case_properties {
  std::string_view name;
  std::string_view tier;   ///< "quick", "full" or "nightly"
  std::string_view needs;  ///< "gpu", or "host" if part of it runs without one
  memory_class memory = memory_class::shared;
  int timeout_seconds = 0;  ///< of the whole case under CTest
  bool last =
      false;  ///< it may leave the GPU unusable: after every other case; its arms may run beside each other
  bool only_named =
      false;  ///< it runs only where it or its family is named: some of its arms have no record yet, so that a gate could not judge them
};

const std::vector<case_properties>& all_properties();

/// From the case's line, or that of its family (FAMILY.*). Throws std::logic_error without a line. The name points into `c`.
case_properties properties_of(const failure_case& c);

std::string_view to_string(test_tier tier);
/// The first tier with the arm (failure_case::in_tier). Counterparts are nightly: they show what their natural arms show.
test_tier tier_of(const failure_case& c, const arm& a);

}  // namespace cufault
