// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/system/unique_fd.hpp"
#include "harness/trial/trial.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

namespace cufault {

/// Captures what this process and processes forked meanwhile print to a descriptor, while the object lives.
class kept_output {
 public:
  explicit kept_output(int fd)  ///< throws setup_failed
      : fd_(fd), before_(fcntl(fd, F_DUPFD_CLOEXEC, 0)), kept_(memfd_create("kept output", MFD_CLOEXEC)) {
    std::fflush(nullptr);
    if (!before_ || !kept_ || dup2(kept_.get(), fd_) < 0) throw setup_failed("cannot keep what is printed");
  }
  ~kept_output() {
    std::fflush(nullptr);
    dup2(before_.get(), fd_);
  }
  kept_output(const kept_output&) = delete;
  kept_output& operator=(const kept_output&) = delete;

  /// Text since the last call.
  std::string take() {
    std::fflush(nullptr);
    std::string text;
    std::array<char, 4096> piece;
    for (ssize_t n = 0; (n = pread(kept_.get(), piece.data(), piece.size(), taken_)) > 0; taken_ += n)
      text.append(piece.data(), static_cast<std::size_t>(n));
    return text;
  }

 private:
  int fd_;
  unique_fd before_, kept_;
  off_t taken_ = 0;
};

struct printed_text {
  std::string out, err;
  [[nodiscard]] bool empty() const { return out.empty() && err.empty(); }
};

/// Captures what the process prints during the calls, and prints it again for the record.
template <class Calls>
printed_text printed_by(Calls&& calls) {
  printed_text printed;
  {
    kept_output out(STDOUT_FILENO), err(STDERR_FILENO);
    calls();
    printed = {out.take(), err.take()};
  }
  std::fputs(printed.out.c_str(), stdout);
  std::fputs(printed.err.c_str(), stderr);
  std::fflush(nullptr);
  return printed;
}

}  // namespace cufault
