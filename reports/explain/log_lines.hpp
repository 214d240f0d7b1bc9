// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cufault {

/// A line of a log as a terminal would show it: without colour codes, other escapes and control characters. Bytes that are no UTF-8 stay.
struct log_line {
  std::uint64_t number = 1;  ///< from 1
  std::string_view text;
};

/// Cuts what a program printed into lines, in memory that does not depend on how much or how long they are: a line over 8 KiB
/// is given in parts of that size, each of which repeats the last 512 bytes of the one before.
/// A carriage return ends a line, as a progress bar's does, but does not count as one. Bytes of value 0 are dropped, which makes ASCII
/// in UTF-16 readable.
class line_cutter {
 public:
  using receiver = std::function<void(const log_line&)>;
  explicit line_cutter(receiver to) : to_(std::move(to)) {}
  void add(std::string_view bytes);
  void end();  ///< what is behind the last line's end
  [[nodiscard]] std::uint64_t lines() const { return number_ - 1 + (anything_ ? 1 : 0); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t cut() const { return cut_; }  ///< lines that were given in parts

 private:
  enum class state { text, escape, sequence, command, command_escape };
  void give();
  void keep(char c);
  receiver to_;
  std::string line_;
  state state_ = state::text;
  std::size_t escape_length_ = 0;
  std::uint64_t number_ = 1, bytes_ = 0, cut_ = 0;
  bool anything_ = false;  ///< behind the last line's end
  bool in_parts_ = false;
};

/// Why a file that begins so is no log that can be read: "is compressed by gzip; explain what zcat prints of it". Empty if it may be one.
std::string why_no_log(std::string_view beginning);

}  // namespace cufault
