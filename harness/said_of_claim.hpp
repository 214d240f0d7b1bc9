// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cufault {

/// What calls say of a claim, with their figures.
struct said_of_claim {
  bool holds = false;
  std::string why;
};

/// Names of statuses by kind of call: "a wrong size" -> {"CUBLAS_STATUS_INVALID_VALUE", "CUBLAS_STATUS_SUCCESS"}.
using came_to_by_kind = std::map<std::string, std::vector<std::string>>;

/// "It gives CUBLAS_STATUS_INVALID_VALUE": holds of the calls that came to it, and does not hold of the others. Each is said of every kind
/// it was seen of, and not at all where it was seen of none.
std::vector<said_of_claim> gives_invalid_value(const came_to_by_kind& kinds);

/// "3 CUBLAS_STATUS_INVALID_VALUE, 12 RIGHT_NUMBERS"; "none" of none.
std::string counted(const std::vector<std::string>& names);

}  // namespace cufault
