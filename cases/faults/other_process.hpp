// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/faults/full_device.hpp"
#include "harness/matrix/world.hpp"

#include <cstdint>

namespace cufault {

/// Another process holds device memory, so that the level is left, until the cell or its remedy ends it.
inline void hold_memory_in_another_process(world& w, bool in_context) {
  auto& other = w.keep<other_process>(w.of_trial().device(), static_cast<std::uint64_t>(w.level()) << 20);
  small_blocks* const rest = in_context && w.level() == 0 ? &w.keep<small_blocks>() : nullptr;
  w.undo_by([&other, rest] {
    if (rest != nullptr) rest->release();
    other.release();
  });
  w.renew_by([&other, rest] {
    other.renew();
    if (rest != nullptr) rest->hold();
  });
}

}  // namespace cufault
