// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace cufault {

/// What work in a process of its own came to.
struct isolated_answer {
  bool answered = false;
  std::string text{};  ///< that the work returned; at most 16 MiB
  std::string why{};   ///< it did not: "no answer in 500 ms: killed", "crashed: SIGSEGV", what it threw
  double milliseconds = 0;
};

/// Runs `work` in a process forked from this one, with nothing of its output shown. A process that crashes, hangs or leaves others
/// behind harms nobody: at the limit it is killed with all of its group. Precondition: this process has one thread.
isolated_answer run_isolated(const std::function<std::string()>& work, std::chrono::milliseconds limit);

}  // namespace cufault
