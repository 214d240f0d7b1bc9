// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cufault {

/// What this program was built from. In a source of its own, which each build makes, so that a commit compiles nothing else again.
struct build_identity {
  const char* version;  ///< "0.1.0"
  const char* commit;   ///< twelve digits; "unknown" outside a checkout
  bool dirty;           ///< files differed from the commit

  /// "0.1.0 (0123456789ab, modified)"
  [[nodiscard]] std::string text() const {
    return std::string(version) + " (" + commit + (dirty ? ", modified)" : ")");
  }
};
extern const build_identity this_build;

}  // namespace cufault
