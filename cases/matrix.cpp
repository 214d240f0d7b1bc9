// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A case matrix.FAULT of each fault: with every operation, and every remedy for it.
#include "harness/matrix/cells.hpp"

namespace cufault {
namespace {

std::vector<failure_case> matrix_of(std::string_view only) {
  std::vector<failure_case> made;
  for (const fault_type& each : all_faults())
    if (only.empty() || only == std::string(matrix_family) + each.name)
      made.push_back(case_of(each, {all_operations(), all_remedies()}));
  return made;
}

const register_cases matrix{"matrix", matrix_of};

}  // namespace
}  // namespace cufault
