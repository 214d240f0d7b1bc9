// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// The cases of a Python framework from its table; `only`: the case of that name, or "" for all. Throws nlohmann::json::exception if the
/// table is malformed.
std::vector<failure_case> framework_cases(const std::string& family, std::string_view only);

}  // namespace cufault
