// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Which messages of the driver's error log say why a call failed.
#pragma once

#include "reports/model/record.hpp"

#include <set>
#include <string>

namespace cufault {

/// The text of a message without what differs between builds and runs: numbers are N, mangled names are NAME, and what repeats is there once.
/// "block dimensions of (N,N,N)", "Kernel (NAME) cannot be found in library".
std::string general_text(const std::string& text);

/// Of one stack: what the driver says in controls, in which nothing fails, by call. That says nothing of why the call fails elsewhere.
class usual_messages {
 public:
  usual_messages() = default;
  /// Sweeps say nothing: what they make fail, the driver does not know of.
  explicit usual_messages(const record& r);
  void add(const case_result& c);
  [[nodiscard]] bool has(const step_name& call, const driver_message& m) const;
  /// The first message of a call that is not usual, nullptr without one: why the call failed.
  [[nodiscard]] const driver_message* reason(const call_record& c) const;

 private:
  std::set<std::string> seen_;
};

/// Two messages with the same key differ by numbers and mangled names alone.
std::string key_of(const driver_message& m);

}  // namespace cufault
