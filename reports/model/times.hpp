// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Reads the times in records. Both throw input_error.
#pragma once

#include "reports/base/json_input.hpp"

namespace cufault {

/// Checks that the text has the form 2026-11-21T07:27:40Z.
void check_utc(const json_cursor& at);
/// A duration: 0 or more.

}  // namespace cufault
