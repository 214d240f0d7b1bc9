// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What a sweep starts waits in here at its first call that is seen, before CUDA has begun, and forks a child for each row. Its protocol is in
// harness/system/process.hpp. A child is one of the sweep's process, which watches and ends it as any command.
#include "harness/injector/calls.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace cufault::injector {
namespace {

constexpr unsigned major_of_nvidia = 195;  // of /dev/nvidiactl and /dev/nvidia0

struct descriptor {
  int number;
  struct stat is;
};

std::vector<descriptor> descriptors() {
  std::vector<descriptor> found;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder)) {
    descriptor file{atoi(entry->d_name), {}};
    if (entry->d_name[0] != '.' && file.number != dirfd(folder) && fstat(file.number, &file.is) == 0)
      found.push_back(file);
  }
  closedir(folder);
  return found;
}

/// Without a word in the log.
[[noreturn]] void end_process() {
  for (;;) syscall(SYS_exit_group, 0);
}

std::size_t further_threads() {
  std::size_t count = 0;
  if (DIR* tasks = opendir("/proc/self/task"); tasks != nullptr) {
    while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
    closedir(tasks);
  }
  return count - 1;
}

/// Libraries of threads of their own, such as OpenBLAS, end these before a fork and start new ones when they need some.
std::size_t threads_that_stay() {
  if (further_threads() == 0) return 0;
  const pid_t nobody = fork();
  if (nobody == 0) end_process();
  while (waitpid(nobody, nullptr, 0) < 0 && errno == EINTR) {
  }
  // One that was joined stays listed for a moment.
  for (int i = 0; i < 10 && further_threads() != 0; ++i) usleep(10'000);
  return further_threads();
}

/// Where requests come from, and the pipes that were standard output and standard error when the program began.
struct channel {
  int number = -1;
  std::array<unsigned long long, 2> output{};
};

/// What forked processes would share. "": files, devices, the channel, and the pipes of output: each child gets pipes of its own. All others
/// are the program's: a sweep passes none that it inherited from a shell or a CI.
const char* shared_kind(const descriptor& file, const channel& from) {
  const mode_t type = file.is.st_mode & S_IFMT;
  const bool is_output = file.is.st_ino == from.output[0] || file.is.st_ino == from.output[1];
  return type == S_IFIFO && !is_output                    ? "pipe"
         : type == S_IFSOCK && file.number != from.number ? "connection"
         : type == 0                                      ? "eventfd, epoll, timer or the like"
                                                          : "";
}

/// Why children of this process would not do what the program started anew does; "" if nothing speaks against it.
std::string why_unsafe(const channel& from) {
  if (getpgrp() != getpid()) return "its first call comes in a process that it starts";
  siginfo_t child{};
  if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD)
    return "it has started other processes before its first call";
  for (const descriptor& file : descriptors()) {
    if (S_ISCHR(file.is.st_mode) && major(file.is.st_rdev) == major_of_nvidia)
      return "it has opened a GPU before its first call that is seen";
    if (const std::string_view kind = shared_kind(file, from); !kind.empty())
      return fmt::format("its descriptor {} ({}) would be shared by forked processes", file.number, kind);
  }
  if (const std::size_t threads = threads_that_stay(); threads != 0)
    return fmt::format("{} further thread{} before its first call", threads,
                       threads == 1 ? " of it has begun" : "s of it have begun");
  return {};
}

/// The first process to ask gets the channel, if the program has not closed or replaced it.
channel take_channel() {
  static constinit std::atomic<bool> taken{false};
  const char* asked = taken.exchange(true) ? nullptr : environment("CUFAULT_FORKS");
  channel from;
  unsigned long long inode = 0;
  struct stat is {};
  if (asked == nullptr ||
      sscanf(asked, "%d:%llu:%llu:%llu", &from.number, &inode, &from.output[0], &from.output[1]) != 4 ||
      fstat(from.number, &is) != 0 || !S_ISSOCK(is.st_mode) || is.st_ino != inode)
    from.number = -1;
  return from;
}

struct request {
  std::string text;
  std::array<int, 2> output{-1, -1};  ///< take the place of the channel's
};

/// Returns false at the end of the channel.
bool receive(const channel& from, request& asked) {
  static std::array<char, 1U << 18> text;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof asked.output)> control{};
  iovec part{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = 0;
  while ((size = recvmsg(from.number, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  const cmsghdr* given = CMSG_FIRSTHDR(&message);
  if (size < 0 || given == nullptr) return false;
  memcpy(asked.output.data(), CMSG_DATA(given), sizeof asked.output);
  asked.text.assign(text.data(), static_cast<std::size_t>(size));
  return true;
}

/// A child of the process that started this one; 0 in the child, -errno where it fails. Not by fork(): a recursive mutex that this thread holds in this call, of the
/// CUDA runtime or the loader, is its own in the child only while the C library believes in the same thread ID; and handlers of
/// pthread_atfork are not to run, of which PyTorch's says that CUDA cannot be used any more.
pid_t fork_sibling() {
  const long child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  return static_cast<pid_t>(child < 0 ? -errno : child);
}

void become(const request& asked, const channel& from) {
  setpgid(0, 0);
  for (const descriptor& file : descriptors())
    for (std::size_t i = 0; i < asked.output.size(); ++i)
      if (S_ISFIFO(file.is.st_mode) && file.is.st_ino == from.output[i])
        dup3(asked.output[i], file.number, (fcntl(file.number, F_GETFD) & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
  for (const int own : {from.number, asked.output[0], asked.output[1]}) close(own);
  unsetenv("CUFAULT_FORKS");
  begin_counts_of_child();
  const std::string rules = asked.text.substr(0, asked.text.find('\0'));
  begin_anew(rules, asked.text.substr(rules.size() + 1));
}

}  // namespace

void serve_forks() {
  const channel from = take_channel();
  if (from.number < 0) return;
  const exempt_from_rules alone_now;
  const std::string why = why_unsafe(from);
  const std::string hello = why.empty() ? fmt::format("{}", getpid()) : why;
  send(from.number, hello.data(), hello.size(), MSG_NOSIGNAL);
  if (!why.empty()) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::vector<std::pair<int, off_t>> read_so_far;  // children share the place in a file with this process
  for (const descriptor& file : descriptors())
    if (S_ISREG(file.is.st_mode)) read_so_far.emplace_back(file.number, lseek(file.number, 0, SEEK_CUR));
  constexpr itimerval none{};
  itimerval alarm{};  // which a child does not inherit
  setitimer(ITIMER_REAL, &none, &alarm);
  for (request asked; receive(from, asked);) {
    for (const auto& [file, place] : read_so_far) lseek(file, place, SEEK_SET);
    const pid_t child = fork_sibling();
    if (child == 0) {
      become(asked, from);
      setitimer(ITIMER_REAL, &alarm, nullptr);
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      return;
    }
    for (const int file : asked.output) close(file);
    const std::string answer = fmt::format("{}", child);
    send(from.number, answer.data(), answer.size(), MSG_NOSIGNAL);
  }
  end_process();
}

}  // namespace cufault::injector
