// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trial.hpp"
#include "harness/unique_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace cufault {

struct printed_text {
  std::string out, err;
  [[nodiscard]] bool empty() const { return out.empty() && err.empty(); }
};

/// Sends what the process prints to files for as long as it lives.
class redirected {
 public:
  redirected(const std::filesystem::path& out, const std::filesystem::path& err) {
    std::fflush(nullptr);
    send(STDOUT_FILENO, out);
    send(STDERR_FILENO, err);
  }
  ~redirected() {
    std::fflush(nullptr);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) dup2(saved_[fd - STDOUT_FILENO].get(), fd);
  }
  redirected(const redirected&) = delete;
  redirected& operator=(const redirected&) = delete;

 private:
  void send(int fd, const std::filesystem::path& file) {
    const unique_fd to(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    saved_[fd - STDOUT_FILENO] = unique_fd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (dup2(to.get(), fd) < 0) throw setup_failed("cannot redirect what is printed");
  }
  std::array<unique_fd, 2> saved_;
};

/// What the process prints during the calls. It is printed again after them, so that the record has it too.
template <class Calls>
printed_text printed_by(const trial& t, Calls&& calls) {
  const std::filesystem::path out = t.scratch() / "stdout", err = t.scratch() / "stderr";
  {
    const redirected here(out, err);
    calls();
  }
  const auto text_of = [](const std::filesystem::path& file) {
    std::ifstream text(file);
    return std::string(std::istreambuf_iterator<char>(text), {});
  };
  printed_text printed{text_of(out), text_of(err)};
  std::fputs(printed.out.c_str(), stdout);
  std::fputs(printed.err.c_str(), stderr);
  std::fflush(nullptr);
  return printed;
}

}  // namespace cufault
