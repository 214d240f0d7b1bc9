// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cufault {

/// What a trial runs on, from the command line. Passed unchanged to every child.
struct target {
  std::string cublas, cublaslt;  ///< as in cublas_paths; empty: what the loader takes
  int device = 0;
  std::map<std::string, std::string> others{};  ///< libraries beside cuBLAS, by key; empty: what is found
};

/// Command line of a child process of cufault: `words`, then this process (the child ends with it), the device and the libraries.
std::vector<std::string> argv_of_child(const std::filesystem::path& executable,
                                       const std::vector<std::string>& words, const target& where);

}  // namespace cufault
