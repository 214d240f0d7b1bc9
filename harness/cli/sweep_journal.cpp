// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/sweep_journal.hpp"

#include "harness/cli/cli.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace fs = std::filesystem;

namespace cufault::program_sweep {

journal::~journal() {
  if (made_ && is_empty()) unlink(name_.c_str());
}

void journal::open(const fs::path& file) {
  name_ = file;
  do {
    file_ = unique_fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
    made_ = static_cast<bool>(file_);
    if (!file_ && errno == EEXIST)
      file_ = unique_fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file_) throw usage_error(fmt::format("{}: {}", file.string(), std::strerror(errno)));
    if (!is_file()) return;  // a pipe, or /dev/null
    // A file system without locks is no reason not to sweep.
    if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      made_ = false;
      throw usage_error(
          fmt::format("{}: another cufault sweep writes it; name another file, or go on with --resume when "
                      "that one has ended",
                      file.string()));
    }
  } while (is_gone());
}

void journal::write(const std::string& lines) {
  if (prints_) {
    std::cout << lines;
    std::fflush(stdout);
  }
  if (!file_) return;
  if (::write(file_.get(), lines.data(), lines.size()) != static_cast<ssize_t>(lines.size()))
    throw usage_error(fmt::format("{}: cannot be written: {}", name_.string(), std::strerror(errno)));
}

struct stat journal::status() const {
  struct stat of {};
  if (file_) fstat(file_.get(), &of);
  return of;
}

void journal::cut(std::size_t bytes) {
  if (is_file() && ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0)
    throw usage_error(fmt::format("{}: {}", name_.string(), std::strerror(errno)));
}

}  // namespace cufault::program_sweep
