// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/preloaded.hpp"

#include "harness/beside.hpp"

#include <filesystem>

namespace cufault {

std::vector<std::string> injector_preload() {
  const std::filesystem::path library = beside_program("libcufault.so");
  if (library.empty() || library.string().find_first_of(": ") != std::string::npos) return {};
  return {library};
}

}  // namespace cufault
