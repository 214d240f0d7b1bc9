// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Messages of the driver's error log (CUDA 12.9 and newer) during an observed call.
#pragma once

#include <cstddef>
#include <string_view>

namespace cufault::driver_log {

/// Number of different messages kept for a call: further ones follow from the first.
inline constexpr std::size_t most_kept = 4;

/// Sends a whole frame, or nothing. Must not throw, nor wait for a lock that may never be free.
using frame_sender = void (*)(std::string_view frame) noexcept;

/// Registers once with the driver that this process has loaded. Call it before each observed call: the driver may be loaded by now. Returns
/// true if messages are heard; CUFAULT_DRIVER_LOG=off prevents it. The driver calls back in the thread of the failing call, which may lack
/// memory or hold any lock: the callback neither allocates nor waits for a lock.
bool hear(frame_sender send) noexcept;
/// Loads the driver first, as the first call of the CUDA runtime would.
bool load_and_hear(frame_sender send) noexcept;

/// Until end_call(), messages belong to a call of this thread. Each new message is sent at once as a frame "driver", so that it survives
/// the end of the process.
void begin_call() noexcept;
void end_call() noexcept;  ///< sends those that came several times again, with their count

/// For the stack of a record: "heard", "off", or "not available" with the loaded driver.
const char* state() noexcept;

/// The callback for the driver. Public for tests.
void heard(std::string_view message) noexcept;

}  // namespace cufault::driver_log
