// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trial.hpp"
#include "harness/unique_fd.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the cases about errors share: what is printed meanwhile, and what that and a status tell of an error.
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

/// Where a text names the place of a launch_fault() in the source: "the file and line, the kernel, the thread".
inline std::string place_named_in(std::string_view text) {
  std::vector<std::string_view> named;
  for (const auto& [what, by] : {std::pair{"the file and line", "faults.cu:"},
                                 {"the kernel", "break_down"},
                                 {"the thread", "thread: ["}})
    if (text.find(by) != std::string_view::npos) named.emplace_back(what);
  return fmt::format("{}", fmt::join(named, ", "));
}

/// S1-2 names out of memory, illegal memory access, invalid argument and launch failure as the common errors. An arm that
/// provokes one error cannot tell how common it is, only whether it is one of these.
inline void conclude_whether_listed(trial& t, std::string_view provoked_by, cudaError_t error) {
  if (error == cudaSuccess) return;
  const bool listed = error == cudaErrorMemoryAllocation || error == cudaErrorIllegalAddress ||
                      error == cudaErrorInvalidValue || error == cudaErrorLaunchFailure;
  t.conclude("S1-2", listed,
             fmt::format("{}: {} exists and is {}on the list; this tells nothing of how common it is",
                         provoked_by, record_of(error).name, listed ? "" : "not "));
}

}  // namespace cufault
