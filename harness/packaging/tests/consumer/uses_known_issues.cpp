// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cufault/known_issues.hpp>

/// 0 where the installed table has what is known of cuBLAS 13.1.0 on an H200.
int main() {
  for (const cufault::known_match& m : cufault::known_issues(cufault::version_text(130100), "9.0"))
    if (m.level == cufault::known_level::measured && m.issue->harm == "wrong_numbers") return 0;
  return 1;
}
