// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The driver's error log, since CUDA 12.9: https://docs.nvidia.com/cuda/cuda-programming-guide/04-special-topics/error-log-management.html
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cufault {

/// Why a driver call failed, by the driver's error log. In the log that is up to two messages of one thread: a reason in words, and then
/// "Returning 719 (CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2".
struct driver_message {
  std::string function{};     ///< "cuMemFree_v2"; empty where the log names none
  std::string code{};         ///< "LAUNCH_FAILED", or a number without a name; empty likewise
  std::string text{};         ///< "Sticky error detected"; empty where the driver gives no reason
  bool other_thread = false;  ///< not of the thread that made the observed call
  std::uint64_t times = 1;    ///< how often it came during the call
  friend bool operator==(const driver_message&, const driver_message&) = default;
};

/// "cuEventRecord: INVALID_HANDLE (event did not come from expected device context)"
std::string describe(const driver_message& m);

/// What one message of the log holds. Views of the message; allocates nothing and never throws.
struct driver_message_parts {
  std::string_view function, code, text;
};
driver_message_parts driver_message_parts_of(std::string_view message) noexcept;

/// A line of CUDA_LOG_FILE: "[22:21:32.099][25642][CUDA][E] TEXT", or with a fifth field that names the function.
struct driver_log_line {
  std::string_view time, thread, severity;  ///< "22:21:32.099", "25642", "E"
  driver_message_parts message;
};
/// Also where other text stands in front of it. Views of the line. Empty for any other line.
std::optional<driver_log_line> driver_log_line_of(std::string_view line) noexcept;

// Members, for json_fields.hpp.
template <class Fields>
void describe_fields(driver_message& m, Fields& f) {
  f("function", m.function);
  f("code", m.code);
  f("text", m.text);
  f("other_thread", m.other_thread);
  f("times", m.times, std::uint64_t{1});
}

}  // namespace cufault
