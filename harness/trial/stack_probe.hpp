// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/target.hpp"

namespace cufault {

/// The child's part: writes its result to report_fd.
int probe_stack(const target& where);

}  // namespace cufault
