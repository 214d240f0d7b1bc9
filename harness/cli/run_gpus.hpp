// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/cli.hpp"
#include "reports/base/json_value.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace cufault {

/// The GPUs that a run uses, all alike, because its record tells of one stack.
class run_gpus {
 public:
  /// Chooses the GPUs of --device; without it those that CTest allocated to this test; without these the one of `arguments.where`.
  /// Reads the stack of each in a process of its own. all() is empty if there is no GPU. Throws usage_error if the GPUs differ, one does
  /// not exist, or CTest's variables cannot be read.
  run_gpus(const run_arguments& arguments, int stop);

  struct gpu {
    int number = 0;  ///< as a CUDA device
    std::string uuid;
  };
  [[nodiscard]] const nlohmann::json& stack() const { return *stack_; }  ///< with the first of them
  [[nodiscard]] const std::vector<gpu>& all() const { return all_; }
  /// A line for each GPU that processes use which are no cufault, as far as NVML tells.
  [[nodiscard]] const std::vector<std::string>& used_by_others() const { return used_by_others_; }
  [[nodiscard]] std::size_t in_the_machine() const;  ///< used or not; 1 where that is not known

 private:
  json_value stack_;
  std::vector<gpu> all_;
  std::vector<std::string> used_by_others_;
};

/// Those that CTest allocated to this test; empty where it allocated none. Throws usage_error where its variables cannot be read.
std::vector<int> devices_from_ctest(const target& where, int stop);

}  // namespace cufault
