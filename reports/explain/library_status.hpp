// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Statuses and functions of CUDA libraries in a line, however programs print them.
#pragma once

#include "reports/explain/lexicon.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// "cublasGemmEx" of cublasGemmEx_64 or cublasCreate_v2, "cusolverDnCreate" of gpusolverDnCreate; empty where there is no such function.
std::string function_called(std::string_view word);

/// A status that stands in a line as a number or in words beside the name of its library: "cublas failed (13)", "cuSolver execution failed".
struct told_status {
  std::size_t begin = 0, end = 0;           ///< of these words
  std::string status;                       ///< "no status of cuFFT": a number that no header of it has
  const status_library* library = nullptr;  ///< never null
  bool in_words = false;                    ///< common ones
};

/// Each library's first. `call`: that stood in a line above, of which a bare name ("INTERNAL_ERROR") can be; empty: none. `lower`: the line in lower case.
std::vector<told_status> statuses_told(std::string_view line, std::string_view lower, std::string_view call,
                                       const lexicon& known);

}  // namespace cufault
