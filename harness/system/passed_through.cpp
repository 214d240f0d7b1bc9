// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/passed_through.hpp"

#include "harness/system/child.hpp"
#include "harness/system/unique_fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iostream>

namespace cufault {
namespace {

constexpr std::size_t kept_output = 64 << 10;

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// The end of what a command writes to an inherited regular file.
class file_end {
 public:
  explicit file_end(int fd) {
    struct stat now {};
    if (fstat(fd, &now) != 0 || !S_ISREG(now.st_mode)) return;
    file_ = unique_fd(open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC));
    begin_ = (fcntl(fd, F_GETFL) & O_APPEND) != 0 ? now.st_size : lseek(fd, 0, SEEK_CUR);
  }
  [[nodiscard]] std::string read_all() const {
    struct stat now {};
    if (!file_ || fstat(file_.get(), &now) != 0) return {};
    const off_t from = std::max(begin_, now.st_size - static_cast<off_t>(kept_output));
    std::string text(static_cast<std::size_t>(std::max<off_t>(now.st_size - from, 0)), '\0');
    const ssize_t got = pread(file_.get(), text.data(), text.size(), from);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }

 private:
  unique_fd file_{};
  off_t begin_ = 0;
};

/// Replaces a terminal or pipe of the command, and copies its bytes to the original.
class copied_output {
 public:
  /// Copies nothing if `to` is neither.
  explicit copied_output(int to) : to_(to) {
    struct stat kind {};
    if (isatty(to) != 0) {
      ours_ = unique_fd(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
      std::array<char, 64> name{};
      if (!ours_ || grantpt(ours_.get()) != 0 || unlockpt(ours_.get()) != 0 ||
          ptsname_r(ours_.get(), name.data(), name.size()) != 0) {
        ours_.reset();
        return;
      }
      theirs_ = unique_fd(open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
      termios state{};
      if (tcgetattr(to, &state) == 0) {
        state.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // the original terminal does that
        state.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        tcsetattr(theirs_.get(), TCSANOW, &state);
      }
      take_size();
    } else if (fstat(to, &kind) == 0 && (S_ISFIFO(kind.st_mode) || S_ISSOCK(kind.st_mode))) {
      std::array<int, 2> ends{};
      if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
      ours_ = unique_fd(ends[0]);
      theirs_ = unique_fd(ends[1]);
    }
    if (ours_) fcntl(ours_.get(), F_SETFL, O_NONBLOCK);
  }
  void take_size() const {
    winsize size{};
    if (isatty(to_) != 0 && ioctl(to_, TIOCGWINSZ, &size) == 0) ioctl(theirs_or_ours(), TIOCSWINSZ, &size);
  }
  [[nodiscard]] int for_command() const { return theirs_.get(); }
  void command_started() { theirs_.reset(); }
  [[nodiscard]] int descriptor() const { return ours_.get(); }

  /// Copies one piece. Returns false if there was none.
  bool copy() {
    static std::array<char, 64 << 10> piece;
    const ssize_t got = read(ours_.get(), piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return false;
    const std::string_view bytes{piece.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    kept_ += bytes;
    if (kept_.size() > 2 * kept_output) kept_.erase(0, kept_.size() - kept_output);
    // End of the output (a terminal reports an error). If nobody reads the original, close: the command's next write then fails.
    if (got <= 0 || !pass_on(bytes)) ours_.reset();
    return got > 0;
  }
  /// A child goes on copying while other processes hold the other end.
  void leave_to_a_child() {
    if (!ours_ || fork() != 0) return;
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
    // A reader of our standard output waits until all writers have closed it.
    if (const int nothing = open("/dev/null", O_RDWR); nothing >= 0) {
      dup2(nothing, STDIN_FILENO);
      if (to_ != STDOUT_FILENO) dup2(nothing, STDOUT_FILENO);
    }
    close_all_but(ours_.get());
    while (ours_) {
      pollfd ready{ours_.get(), POLLIN, 0};
      poll(&ready, 1, -1);
      copy();
    }
    _exit(0);
  }
  [[nodiscard]] std::string_view kept() const {
    const std::string_view all = kept_;
    return all.substr(all.size() - std::min(all.size(), kept_output));
  }

 private:
  [[nodiscard]] int theirs_or_ours() const { return theirs_ ? theirs_.get() : ours_.get(); }
  [[nodiscard]] bool pass_on(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t put = write(to_, bytes.data(), bytes.size());
      if (put >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(put));
      } else if (errno == EAGAIN) {
        pollfd ready{to_, POLLOUT, 0};
        poll(&ready, 1, -1);
      } else if (errno != EINTR) {
        return false;
      }
    }
    return true;
  }
  int to_;
  unique_fd ours_{}, theirs_{};
  std::string kept_{};
};

/// Receives this process's signals by a descriptor. Restores the former state at the end; `as_before` has it for the command.
class held_signals {
 public:
  held_signals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH})
      sigaddset(&held, signal);
    sigprocmask(SIG_BLOCK, &held, &before_);
    pipe_before_ = std::signal(SIGPIPE, SIG_IGN);
    quit_before_ = std::signal(SIGQUIT, SIG_DFL);  // an ignored signal would not arrive
    child_before_ = std::signal(SIGCHLD, SIG_DFL);
    arrived_ = unique_fd(signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~held_signals() {
    drain();
    std::signal(SIGPIPE, pipe_before_);
    std::signal(SIGQUIT, quit_before_);
    std::signal(SIGCHLD, child_before_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  held_signals(const held_signals&) = delete;
  held_signals& operator=(const held_signals&) = delete;
  void as_before_in_command(bool quit) const {
    std::signal(SIGPIPE, pipe_before_);
    std::signal(SIGCHLD, child_before_);
    std::signal(SIGQUIT, quit ? quit_before_ : SIG_IGN);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  [[nodiscard]] int descriptor() const { return arrived_.get(); }
  [[nodiscard]] std::optional<signalfd_siginfo> next() const {
    signalfd_siginfo one{};
    if (read(arrived_.get(), &one, sizeof one) != sizeof one) return std::nullopt;
    return one;
  }

 private:
  void drain() const {
    while (next()) {
    }
  }
  sigset_t before_{};
  using handler = void (*)(int);
  handler pipe_before_, quit_before_, child_before_;
  unique_fd arrived_{};
};

[[noreturn]] void become_command(const passed_command& command, int error, const held_signals& signals,
                                 int tell) {
  if (error >= 0) dup2(error, STDERR_FILENO);
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  signals.as_before_in_command(command.left_alone);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  execvp(command.words[0].c_str(), pointers_to(command.words).data());
  const int why = errno;
  [[maybe_unused]] const ssize_t told = write(tell, &why, sizeof why);
  _exit(exit_not_found);
}

}  // namespace

passed_end run_passed_through(const passed_command& command) {
  using clock = std::chrono::steady_clock;
  struct stat out {
  }, error{};
  const bool both = fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &error) == 0;
  const bool shared = both && same_file(out, error);
  const file_end end_of_error(STDERR_FILENO), end_of_output(shared ? -1 : STDOUT_FILENO);
  const held_signals signals;
  copied_output copied(command.left_alone ? -1 : STDERR_FILENO);
  std::array<int, 2> told{};
  if (pipe2(told.data(), O_CLOEXEC) != 0)
    throw not_started(errno, std::system_category(), command.words.front());
  const unique_fd heard(told[0]);
  unique_fd tells(told[1]);
  std::cout.flush();
  std::fflush(nullptr);
  const auto began = clock::now();
  const pid_t child = fork();
  if (child < 0) throw not_started(errno, std::system_category(), command.words.front());
  if (child == 0) {
    if (shared && copied.for_command() >= 0) dup2(copied.for_command(), STDOUT_FILENO);
    become_command(command, copied.for_command(), signals, tells.get());
  }
  copied.command_started();
  tells.reset();
  if (int why = 0; read(heard.get(), &why, sizeof why) == sizeof why) {
    waitpid(child, nullptr, 0);
    throw not_started(why, std::system_category(), command.words.front());
  }

  passed_end end;
  end.pid = child;
  bool asked_after = !command.after;
  auto next_second = began;
  for (bool running = true; running;) {
    const auto now = clock::now();
    const bool over = !asked_after && now - began >= *command.after;
    if (now >= next_second) {
      if (command.on_second) command.on_second();
      next_second = now + std::chrono::seconds(1);
    }
    if (over) {
      asked_after = true;
      if (command.on_question) command.on_question(false);
    }
    auto until = next_second;
    if (!asked_after) until = std::min(until, began + *command.after);
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
    std::array<pollfd, 2> ready{{{signals.descriptor(), POLLIN, 0}, {copied.descriptor(), POLLIN, 0}}};
    poll(ready.data(), ready.size(), static_cast<int>(std::clamp<long>(wait, 0, 1000)));
    if (ready[1].revents != 0) copied.copy();
    while (const auto signal = signals.next()) {
      const int number = static_cast<int>(signal->ssi_signo);
      const bool of_terminal = signal->ssi_code > 0;  // the terminal sent it to the command, too
      if (number == SIGWINCH) copied.take_size();
      if (number == SIGQUIT && command.on_question) command.on_question(true);
      if (number == SIGTERM || number == SIGHUP || number == SIGUSR1 || number == SIGUSR2 ||
          (number == SIGINT && !of_terminal))
        kill(child, number);
    }
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      running = false;
      end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
  }
  end.seconds = std::chrono::duration<double>(clock::now() - began).count();
  // Copies what the command wrote before it ended: a pipe holds 1 MiB at most.
  for (std::size_t pieces = 0; copied.descriptor() >= 0 && pieces < 16 && copied.copy(); ++pieces) {
  }
  copied.leave_to_a_child();
  end.last_output = end_of_output.read_all() + end_of_error.read_all() + std::string(copied.kept());
  return end;
}

}  // namespace cufault
