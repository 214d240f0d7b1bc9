// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What the driver says in its error log (CUDA 12.9 and newer) while an observed call is made.
#pragma once

#include <cstddef>
#include <string_view>

namespace cufault::driver_log {

/// Different messages of a call that are kept: further ones follow from the first.
inline constexpr std::size_t most_kept = 4;

/// Sends a whole frame, or nothing: it must neither wait for a lock that may never be free nor throw.
using frame_sender = void (*)(std::string_view frame) noexcept;

/// Registers with the driver that this process has loaded, once. Call it before each observed call: the driver may have been loaded
/// meanwhile. Returns whether messages are heard; CUFAULT_DRIVER_LOG=off prevents it. The driver calls back in the thread that makes the
/// failing call, which may have no memory left, or hold any lock: nothing is allocated and no lock is waited for.
bool hear(frame_sender send) noexcept;
/// Loads the driver first, which the first call of the CUDA runtime would do.
bool load_and_hear(frame_sender send) noexcept;

/// From here on until end_call() messages are of a call that this thread makes. Each is sent when it first comes, as a frame "driver", so that a
/// call that ends the process has told it.
void begin_call() noexcept;
void end_call() noexcept;  ///< sends those that came several times again, with their count

/// For the stack of a record: "heard", "off", or "not available" of the driver that this process has loaded.
const char* state() noexcept;

/// What the driver calls. For tests.
void heard(std::string_view message) noexcept;

}  // namespace cufault::driver_log
