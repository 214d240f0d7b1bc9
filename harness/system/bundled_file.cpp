// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/bundled_file.hpp"

namespace fs = std::filesystem;

namespace cufault {

fs::path bundled_file(const std::string& name) {
  const fs::path prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  for (const char* libraries : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    if (fs::path found = prefix / libraries / "cufault" / name; fs::exists(found)) return found;
  }
  return {};
}

}  // namespace cufault
