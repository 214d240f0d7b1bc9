// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cufault {

/// What this program was built from. In a source of its own, which each build makes, so that a commit compiles nothing else again.
struct build_identity {
  const char* version;  ///< as in project() of CMakeLists.txt
  const char* commit;   ///< twelve digits; "unknown" in sources that are neither a checkout nor a git archive
  bool dirty;           ///< files differed from the commit
  const char* reports;  ///< hash of the sources in reports, without tests

  /// "VERSION (0123456789ab, modified)"
  [[nodiscard]] std::string text() const {
    return std::string(version) + " (" + commit + (dirty ? ", modified)" : ")");
  }
};
extern const build_identity this_build;

}  // namespace cufault
