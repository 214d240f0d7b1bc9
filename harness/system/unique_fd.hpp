// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace cufault {

/// Owns a file descriptor; closes it.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) : fd_(fd) {}
  unique_fd(const unique_fd&) = delete;
  unique_fd& operator=(const unique_fd&) = delete;
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~unique_fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  /// Never retries close() on EINTR: Linux has released the descriptor by then, and it may be reused.
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Closes all descriptors from 3 on except one. Uses the system call, because the C library lacks it before 2.34 and Linux before 5.9.
inline void close_all_but(int kept) {
  for (const auto& [first, last] : {std::pair{3, kept - 1}, {kept + 1, std::numeric_limits<int>::max()}})
    if (first <= last && syscall(SYS_close_range, first, last, 0) != 0)
      for (int fd = first; fd <= std::min<long>(last, sysconf(_SC_OPEN_MAX)); ++fd) ::close(fd);
}

}  // namespace cufault
