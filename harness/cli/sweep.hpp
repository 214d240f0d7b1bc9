// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/run_arguments.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

struct sweep_arguments {
  run_arguments run;            ///< `names` are operations: "sgemm", "cublasCreate", "cublas_create/first"
  std::string depth = "every";  ///< or "thin", "grouped"
  std::pair<int, int> shard{1, 1};
  std::string row;  ///< "libcublas:cuMemAlloc_v2:3=OUT_OF_MEMORY"
};

struct program_sweep_arguments {
  std::vector<std::string> command;    ///< never empty
  std::vector<std::string> libraries;  ///< "cublas": whose calls are failed; none: the driver's
  std::string depth = "thin";
  std::vector<std::string> unacceptable;  ///< outcomes; none: those by default
  std::optional<double> timeout, budget;  ///< seconds
  std::pair<int, int> shard{1, 1};
  std::filesystem::path record, resume;  ///< one of them at most
  int jobs = 0;                          ///< 0: by memory
  bool pairs = false, anew = false, json = false;
};

/// Null in a build without CUDA.
[[gnu::weak]] int sweep_operations(const sweep_arguments& arguments);
/// Null in a build without cuda.h.
[[gnu::weak]] int sweep_program(const program_sweep_arguments& arguments);

}  // namespace cufault
