// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace cufault {

/// Shows progress while arms run. A terminal gets one line, rewritten in place: arms done, arms running, time left. Lines passed to line()
/// stay; without a terminal only these are written.
class progress {
 public:
  progress(std::FILE* out, bool terminal, std::size_t arms, double weight);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void began(const std::string& what);
  /// `arms`: 0 where trials of the arm are still to come.
  void ended(const std::string& what, double weight, bool unexpected, std::size_t arms = 1);
  void line(const std::string& text);
  void refresh();                                           ///< so that times go on while nothing happens
  [[nodiscard]] std::size_t over() const { return over_; }  ///< arms

  /// E.g. "[ 12/810] 1 unexpected; 3 running: types.int8/refused 4 s; about 1 min left", cut to `columns`.
  [[nodiscard]] std::string text(std::chrono::steady_clock::time_point now, std::size_t columns) const;

 private:
  struct running {
    std::string what;
    std::chrono::steady_clock::time_point since;
  };
  void wipe();
  std::FILE* out_;
  bool terminal_, shown_ = false;
  std::size_t arms_, over_ = 0, unexpected_ = 0;
  double weight_, weight_over_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<running> running_;  // longest first
};

/// E.g. "45 s", "3 min", "2 h".
std::string rounded_time(double seconds);

}  // namespace cufault
