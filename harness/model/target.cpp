// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/target.hpp"

#include <unistd.h>

namespace cufault {

std::vector<std::string> argv_of_child(const std::filesystem::path& executable,
                                       const std::vector<std::string>& words, const target& where) {
  std::vector<std::string> argv{executable};
  argv.insert(argv.end(), words.begin(), words.end());
  const std::vector<std::string> options{"--parent",   std::to_string(getpid()),
                                         "--device",   std::to_string(where.device),
                                         "--cublas",   where.cublas,
                                         "--cublaslt", where.cublaslt};
  argv.insert(argv.end(), options.begin(), options.end());
  for (const auto& [key, path] : where.others)
    if (!path.empty()) argv.insert(argv.end(), {"--" + key, path});
  return argv;
}

}  // namespace cufault
