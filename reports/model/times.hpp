// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Times in records.
#pragma once

#include "reports/base/json_input.hpp"

#include <cstdint>
#include <string>

namespace cufault {

/// Checks that the text has the form 2026-11-21T07:27:40Z. Throws input_error.
void check_utc(const json_cursor& at);
/// Since 1970; 0 where the text is no time.
std::int64_t milliseconds_of(const std::string& utc);

}  // namespace cufault
