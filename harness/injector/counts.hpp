// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// How often each thread called each slot, and the calls that are in flight. If CUFAULT_COUNTS names a folder, the counts lie in a file
// there that is mapped shared: it is complete however the process ends. `cufault trace`, `cufault why` and `cufault inject` read it.
#pragma once

#include "harness/injector/thunks.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace cufault::injector {

/// Header of a counts file. The names of all slots follow, then one block of counts for each thread.
struct counts_header {
  static constexpr std::array<char, 8> expected_magic{'c', 'u', 'f', 'a', 'u', 'l', 't', '3'};
  std::array<char, 8> magic;
  std::uint32_t pid;
  std::atomic<std::uint32_t> slots;                    ///< that have a name
  std::atomic<std::uint32_t> blocks;                   ///< of counts
  std::atomic<std::uint64_t> injections;               ///< calls that a rule acted on
  std::atomic<bool> preload_removed;                   ///< from the environment of what it starts
  std::array<std::atomic<std::uint64_t>, 1024> acted;  ///< likewise of each rule, by its number
};
struct counts_name {
  std::array<char, 64> function;
  std::array<char, 128> library;  ///< the one that resolved it
};
constexpr std::uint64_t counts_names_at = 65536;  // a whole page on every system
struct alignas(counts_names_at) counts_block {
  std::array<std::uint64_t, CUFAULT_SLOTS> calls;
  thread_calls now;
};
static_assert(offsetof(counts_block, now) == CUFAULT_CALLS_AT);
constexpr std::uint64_t counts_blocks_at = counts_names_at + sizeof(counts_name) * CUFAULT_SLOTS;
static_assert(sizeof(counts_header) <= counts_names_at && counts_blocks_at % counts_names_at == 0);

}  // namespace cufault::injector
