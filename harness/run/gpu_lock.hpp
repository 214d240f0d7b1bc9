// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace cufault {

/// The GPU stayed in use by another suite. what() says by which process and what to do.
class gpu_busy : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// flock(2) on a file named after the GPU's UUID, in a directory shared by all users (default /tmp): shared
/// for cases that may share the GPU, exclusive for those that fill its memory. The kernel drops it however the process ends;
/// the last holder removes the file, unless it was killed, or the directory is sticky and the file another
/// user's: then it stays, and does no harm.
class gpu_lock {
 public:
  /// Throws std::system_error naming the file when it cannot be opened or is no plain file (a planted link,
  /// say). Waits up to `patience`, then throws gpu_busy. `stop` (descriptor, -1 for none) ends the wait
  /// early, likewise with gpu_busy.
  gpu_lock(const std::string& uuid, memory_class how, std::chrono::milliseconds patience, int stop = -1,
           const std::filesystem::path& directory = "/tmp");
  ~gpu_lock();
  gpu_lock(const gpu_lock&) = delete;
  gpu_lock& operator=(const gpu_lock&) = delete;
  [[nodiscard]] memory_class how() const { return how_; }

 private:
  std::filesystem::path file_;
  memory_class how_;
  int fd_ = -1;
};

}  // namespace cufault
