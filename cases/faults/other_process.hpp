// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/memory_pressure.hpp"
#include "harness/matrix/world.hpp"

#include <cstdint>

namespace cufault {

/// Another process holds device memory, so that the level is left, until the cell or its remedy ends it.
inline void hold_memory_in_another_process(world& w) {
  other_process& other =
      w.keep<other_process>(w.of_trial().device(), static_cast<std::uint64_t>(w.level()) << 20);
  w.undo_by([&other] { other.release(); });
  w.renew_by([&other] { other.renew(); });
}

}  // namespace cufault
