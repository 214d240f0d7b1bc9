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
  return further_threads();
}

/// Why children of this process would not do what the program started anew does; "" if nothing speaks against it.
std::string why_unsafe(int channel) {
  if (getpgrp() != getpid()) return "its first call comes in a process that it starts";
  siginfo_t child{};
  if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD)
    return "it has started other processes before its first call";
  for (const descriptor& file : descriptors()) {
    if (S_ISCHR(file.is.st_mode) && major(file.is.st_rdev) == major_of_nvidia)
      return "it has opened a GPU before its first call that is seen";
    if (S_ISSOCK(file.is.st_mode) && file.number != channel)
      return fmt::format("its descriptor {} is a connection, which forked processes would share",
                         file.number);
  }
  if (const std::size_t threads = threads_that_stay(); threads != 0)
    return fmt::format("{} further thread{} before its first call", threads,
                       threads == 1 ? " of it has begun" : "s of it have begun");
  return {};
}

/// The first process to ask gets the channel, if the program has not closed or replaced it; else -1.
int take_channel() {
  static constinit std::atomic<bool> taken{false};
  const char* asked = environment("CUFAULT_FORKS");
  int number = -1;
  unsigned long long inode = 0;
  struct stat is {};
  if (asked == nullptr || taken.exchange(true) || sscanf(asked, "%d:%llu", &number, &inode) != 2) return -1;
  return fstat(number, &is) == 0 && S_ISSOCK(is.st_mode) && is.st_ino == inode ? number : -1;
}

struct request {
  std::string rules, fail;
  std::array<ino_t, 2> replaced{};    ///< pipes that were standard output and standard error
  std::array<int, 2> output{-1, -1};  ///< what takes their place
};

/// Returns false at the end of the channel.
bool receive(int channel, request& asked) {
  static std::array<char, 1U << 18> text;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof asked.output)> control{};
  iovec parts[]{{asked.replaced.data(), sizeof asked.replaced}, {text.data(), text.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = 0;
  while ((size = recvmsg(channel, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  const cmsghdr* given = CMSG_FIRSTHDR(&message);
  if (size < static_cast<ssize_t>(sizeof asked.replaced) || given == nullptr) return false;
  memcpy(asked.output.data(), CMSG_DATA(given), sizeof asked.output);
  const std::string_view all(text.data(), static_cast<std::size_t>(size) - sizeof asked.replaced);
  const auto end = all.find('\0');
  asked.rules = all.substr(0, end);
  asked.fail = end == all.npos ? "" : all.substr(end + 1);
  return true;
}

/// A child of the process that started this one; 0 in the child. Not by fork(): a recursive mutex that this thread holds in this call, of the
/// CUDA runtime or the loader, is its own in the child only while the C library believes in the same thread ID; and handlers of
/// pthread_atfork are not to run, of which PyTorch's says that CUDA cannot be used any more.
pid_t fork_sibling() {
  return static_cast<pid_t>(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

void become(const request& asked, int channel) {
  setpgid(0, 0);
  for (const descriptor& file : descriptors())
    for (std::size_t i = 0; i < asked.output.size(); ++i)
      if (S_ISFIFO(file.is.st_mode) && file.is.st_ino == asked.replaced[i])
        dup3(asked.output[i], file.number, (fcntl(file.number, F_GETFD) & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
  for (const int own : {channel, asked.output[0], asked.output[1]}) close(own);
  unsetenv("CUFAULT_FORKS");
  begin_counts_of_child();
  begin_anew(asked.rules, asked.fail);
}

}  // namespace

void serve_forks() {
  const int channel = take_channel();
  if (channel < 0) return;
  const exempt_from_rules alone_now;
  const std::string why = why_unsafe(channel);
  const std::string hello = why.empty() ? fmt::format("{}", getpid()) : why;
  send(channel, hello.data(), hello.size(), MSG_NOSIGNAL);
  if (!why.empty()) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::vector<std::pair<int, off_t>> read_so_far;  // children share the place in a file with this process
  for (const descriptor& file : descriptors())
    if (S_ISREG(file.is.st_mode)) read_so_far.emplace_back(file.number, lseek(file.number, 0, SEEK_CUR));
  for (request asked; receive(channel, asked);) {
    for (const auto& [file, place] : read_so_far) lseek(file, place, SEEK_SET);
    const pid_t child = fork_sibling();
    if (child == 0) {
      become(asked, channel);
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      return;
    }
    for (const int file : asked.output) close(file);
    const std::string answer = fmt::format("{}", child);
    send(channel, answer.data(), answer.size(), MSG_NOSIGNAL);
  }
  end_process();
}

}  // namespace cufault::injector
