// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/progress.hpp"

#include "reports/base/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

namespace cufault {
std::string rounded_time(double seconds) {
  if (seconds < 100) return fmt::format("{} s", std::lround(seconds));
  if (seconds < 100 * 60) return fmt::format("{} min", std::lround(seconds / 60));
  return fmt::format("{} h", std::lround(seconds / 3600));
}

progress::progress(std::FILE* out, bool terminal, std::size_t arms, double weight)
    : out_(out), terminal_(terminal), arms_(arms), weight_(weight) {}

progress::~progress() {
  wipe();
}

void progress::began(const std::string& what) {
  running_.push_back({what, std::chrono::steady_clock::now()});
  refresh();
}

void progress::ended(const std::string& what, double weight, bool unexpected, std::size_t arms) {
  const auto it =
      std::find_if(running_.begin(), running_.end(), [&](const running& r) { return r.what == what; });
  if (it != running_.end()) running_.erase(it);
  over_ += arms;
  weight_over_ += weight;
  if (unexpected) ++unexpected_;
  refresh();
}

void progress::line(const std::string& text) {
  wipe();
  fmt::print(out_, "{}\n", text);
  std::fflush(out_);
  refresh();
}

void progress::refresh() {
  if (!terminal_) return;
  const std::size_t width = terminal_of(std::cerr).width;
  fmt::print(out_, "\r\x1b[2K{}", text(std::chrono::steady_clock::now(), (width > 0 ? width : 80) - 1));
  std::fflush(out_);
  shown_ = true;
}

void progress::wipe() {
  if (!shown_) return;
  fmt::print(out_, "\r\x1b[2K");
  std::fflush(out_);
  shown_ = false;
}

std::string progress::text(std::chrono::steady_clock::time_point now, std::size_t columns) const {
  const auto seconds_since = [&](auto then) { return std::chrono::duration<double>(now - then).count(); };
  std::string line = fmt::format("[{:>{}}/{}]", over_, fmt::formatted_size("{}", arms_), arms_);
  if (unexpected_ > 0) line += fmt::format(" {} unexpected;", unexpected_);
  std::string left;
  if (weight_over_ > 0 && over_ < arms_)
    left = fmt::format("; about {} left",
                       rounded_time(seconds_since(start_) * (weight_ - weight_over_) / weight_over_));
  if (!running_.empty())
    line += fmt::format(" {} running: {} {}", running_.size(), running_.front().what,
                        rounded_time(seconds_since(running_.front().since)));
  if (line.size() + left.size() > columns) line.resize(columns - std::min(columns, left.size()));
  return (line + left).substr(0, columns);
}

}  // namespace cufault
