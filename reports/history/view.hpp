// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace cufault {

/// A result of an arm on a stack.
struct history_result {
  std::string seen{};  ///< signatures, in one line
  std::size_t runs = 0, trials = 0;
  std::string first{}, last{};  ///< when the first and the last of these runs started
  int id = 0;                   ///< equal where the results are
};

/// An arm on one stack.
struct history_entry {
  std::size_t stack = 0;                  ///< index in history_view::stacks
  bool races = false;                     ///< its outcome may differ from trial to trial
  std::size_t runs = 0;                   ///< that observed it
  std::vector<history_result> results{};  ///< the most frequent first
  /// Runs that did not show what most of them did. 0 of an arm that races: there the trials of each result are its rate.
  [[nodiscard]] std::size_t flakes() const {
    return races || results.empty() ? 0 : runs - std::min(runs, results.front().runs);
  }
};

/// An arm on the stacks of one GPU.
struct history_arm {
  std::string name{};                    ///< CASE/ARM
  std::vector<history_entry> entries{};  ///< in the order of stacks; never empty
  std::size_t since = 0;                 ///< index in entries: from there on it is what it is on the last one
};

struct history_stack {
  std::string label{};  ///< "cuBLAS 13.1.0, NVIDIA H200, driver 580.159.04, runtime 13.0"
  std::string gpu{};
  std::map<std::string, std::string> keys{};
  std::size_t runs = 0;
};

/// Stacks in the order of GPU, driver, cuBLAS, cuBLASLt, runtime and the other keys: versions number by number.
struct history_view {
  std::vector<history_stack> stacks{};
  std::vector<history_arm> arms{};  ///< by name, and by GPU
  std::size_t runs = 0;
  std::string first{}, last{};  ///< when the first and the last run started
};

/// Sorts stacks, entries and results, and finds since when. `stacks` and entries come in any order.
void arrange(history_view& view);

}  // namespace cufault
