// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cufault/known_issues.hpp>

/// What a C++17 program gets.
std::vector<cufault::known_match> asked_from_cxx17(int version, std::string_view architecture) {
  return cufault::known_issues(cufault::version_text(version), architecture);
}
