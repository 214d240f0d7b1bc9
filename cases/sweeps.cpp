// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A case sweep.OPERATION of each operation: every driver call inside it fails in turn.
#include "harness/injection/sweep.hpp"
#include "reports/model/sweep_names.hpp"

namespace cufault {
namespace {

std::vector<failure_case> sweeps_of(std::string_view only) {
  std::vector<failure_case> made;
  for (const operation_type& each : all_operations())
    if (only.empty() || only == std::string(sweep_family) + each.name)
      made.push_back(sweeping::sweep_case(each));
  return made;
}

const register_cases sweeps{"sweep", sweeps_of};

}  // namespace
}  // namespace cufault
