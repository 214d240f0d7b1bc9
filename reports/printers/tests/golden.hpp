// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cufault {

/// The file in tests/golden. CUFAULT_WRITE_GOLDEN=1 writes it anew: read the difference then.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace cufault
