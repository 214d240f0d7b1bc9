// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What sweeps of operations and of programs fail driver calls with. Needs no CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cufault::sweeping {

/// What a driver function is made to return, the most telling first; never empty.
std::vector<std::string> codes_for(std::string_view function);

}  // namespace cufault::sweeping
