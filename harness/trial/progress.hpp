// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trial/trial.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cufault {

/// Written by the process that runs rows, read by its waiting parent.
struct trial::progress {
  std::atomic<std::size_t> done{0};  ///< rows that are over
  std::atomic<bool> in_call{false};
  std::atomic<std::size_t> moves{0};  ///< how often a call began or ended, or a row was over
  std::atomic<bool> damaged{false};   ///< by the last row that is over
  std::atomic<context_state> left{context_state::unknown};
  using name = std::array<char, 64>;
  std::span<name> names{};  ///< what each row came to
};

/// Keeps this process and a forked one from drawing the same random data.
void skip_seeds(std::uint64_t count);

}  // namespace cufault
