// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace cufault {

/// What a trial runs on, chosen on the command line. Passed on to every child as it was given.
struct target {
  std::string cublas, cublaslt;  ///< as in cublas_paths; empty: what the loader takes
  int device = 0;
};

/// argv of a process of cufault's own that does `words` with these libraries, on this device, and ends when the calling process does.
inline std::vector<std::string> command_of_own(const std::filesystem::path& executable,
                                               std::vector<std::string> words, const target& where) {
  words.insert(words.begin(), executable);
  for (const std::string& more : {std::string("--parent"), std::to_string(getpid()), std::string("--device"),
                                  std::to_string(where.device), std::string("--cublas"), where.cublas,
                                  std::string("--cublaslt"), where.cublaslt})
    words.push_back(more);
  return words;
}

}  // namespace cufault
