// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
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

/// What some trials of a run showed.
struct history_sample {
  std::string started{};  ///< the run's
  int id = 0;             ///< of the result
  std::size_t trials = 0;
};

/// An arm on one stack.
struct history_entry {
  std::size_t stack = 0;                  ///< index in history_view::stacks
  bool races = false;                     ///< its outcome may differ from trial to trial
  std::size_t runs = 0;                   ///< that observed it
  std::vector<history_result> results{};  ///< the most frequent first
  std::vector<history_sample> samples{};  ///< of an arm that races, by start
  /// Of the entries in front of it, the one whose stack is nearest (distance.hpp); none of the first.
  std::optional<std::size_t> nearest{};
  bool changed = false;  ///< it shows something else than that one
  /// Runs that did not show what most of them did. 0 of an arm that races: there the trials of each result are its rate.
  [[nodiscard]] std::size_t flakes() const {
    return races || results.empty() ? 0 : runs - std::min(runs, results.front().runs);
  }
};

struct history_arm {
  std::string name{};                    ///< CASE/ARM
  std::vector<history_entry> entries{};  ///< in the order of stacks; never empty
  std::size_t since = 0;  ///< index in entries: what it is on the last one is the same back to here
};

/// The least runs by which an arm that races may be taken for one that does not, or for one of another rate.
inline constexpr std::size_t runs_that_heal = 20;

/// What the latest runs of an arm that races say of how it is recorded.
struct history_proposal {
  std::string arm{};
  std::size_t stack = 0;
  bool steady =
      false;  ///< all of these runs showed the same; else their rate differs from that of the runs before
  std::size_t runs = 0;
  std::string first{}, last{};  ///< when these runs started
  std::string seen{};
  std::size_t now = 0, trials_now = 0, before = 0, trials_before = 0;  ///< trials that showed it, of all
};

struct history_stack {
  std::string label{};  ///< "cuBLAS 13.1.0, NVIDIA H200, driver 580.159.04, runtime 13.0"
  std::string gpu{};
  std::map<std::string, std::string> keys{};
  std::size_t runs = 0;
};

/// Stacks in the order of architecture, driver, cuBLAS, cuBLASLt, runtime, GPU and the other keys: versions number by number.
struct history_view {
  std::vector<history_stack> stacks{};
  std::vector<history_arm> arms{};  ///< by name
  std::vector<history_proposal> proposals{};
  std::size_t runs = 0;
  std::string first{}, last{};  ///< when the first and the last run started
};

/// Sorts stacks, entries and results, compares each entry with its nearest, and proposes. `stacks` and entries come in any order.
void arrange(history_view& view);

}  // namespace cufault
