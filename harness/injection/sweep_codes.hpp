// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Codes with which sweeps of operations and programs fail driver calls. Needs no CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cufault::sweeping {

/// Codes to try for a driver function, the most telling first; never empty.
std::vector<std::string> codes_for(std::string_view function);

}  // namespace cufault::sweeping
