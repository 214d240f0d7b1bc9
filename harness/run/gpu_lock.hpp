// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace cufault {

/// Another suite kept the GPU in use. what() tells which process, and what to do.
class gpu_busy : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// flock(2) on a file named after the GPU's UUID in a directory that all users share (default /tmp). Cases that may share the GPU lock it
/// shared; cases that fill its memory lock it exclusively. The kernel releases the lock when the process ends. The last holder removes the
/// file; it stays, harmlessly, if that holder was killed, or if the directory is sticky and another user owns the file.
class gpu_lock {
 public:
  /// Throws std::system_error with the file's name if it cannot be opened or is no regular file. Waits up to `patience`, then throws
  /// gpu_busy. If `stop` (descriptor, -1 for none) becomes readable, throws gpu_busy at once.
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
