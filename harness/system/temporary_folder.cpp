// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/temporary_folder.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr std::array fatal_signals{SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM};
constexpr int most_passes = 100;  // limit for a folder that somebody keeps filling

/// Returns 0, or the errno for what is left. Neither locks nor allocates: a signal handler calls it.
int remove_tree(int at, const char* name) {
  if (unlinkat(at, name, 0) == 0 || errno == ENOENT) return 0;
  const int refused = errno;
  struct stat is {};
  if (fstatat(at, name, &is, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (!S_ISDIR(is.st_mode)) return refused;
  // If this fails, reading or removing fails too and is reported.
  [[maybe_unused]] const int changed_mode = fchmodat(at, name, is.st_mode | S_IRWXU, 0);
  const int folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return errno;
  int why = ENOTEMPTY;
  for (int pass = 0; why == ENOTEMPTY && pass < most_passes; ++pass) {
    int left = 0;
    bool changed = false;
    lseek(folder, 0, SEEK_SET);
    alignas(dirent64) std::array<char, 2048> entries;
    for (ssize_t bytes = 0; (bytes = syscall(SYS_getdents64, folder, entries.data(), entries.size())) > 0;)
      for (const char* each = entries.data(); each < entries.data() + bytes;) {
        const auto* entry = reinterpret_cast<const dirent64*>(each);
        each += entry->d_reclen;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        const int failed = remove_tree(folder, entry->d_name);
        changed |= failed == 0;
        if (failed != 0) left = failed;
      }
    why = unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno;
    if (why == ENOTEMPTY && left != 0 && !changed) why = left;
  }
  close(folder);
  return why;
}

/// While an object lives, this thread gets no signal.
class blocked_signals {
 public:
  blocked_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~blocked_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  blocked_signals(const blocked_signals&) = delete;
  blocked_signals& operator=(const blocked_signals&) = delete;

 private:
  sigset_t before_{};
};

// Protects the list that a handler reads. The holding thread blocks its signals, so that a handler never waits for its own thread.
constinit std::atomic<pid_t> holder{0};
constinit signal_cleanup* first = nullptr;
static_assert(std::atomic<pid_t>::is_always_lock_free);

/// A forked child takes over a lock held by a thread of its parent.
void lock_list() {
  const pid_t here = getpid();
  for (pid_t held_by = 0; !holder.compare_exchange_weak(held_by, here);)
    if (held_by == here) {
      held_by = 0;
      sched_yield();
    }
}

class list_lock : blocked_signals {
 public:
  list_lock() { lock_list(); }
  ~list_lock() { holder = 0; }
  list_lock(const list_lock&) = delete;
  list_lock& operator=(const list_lock&) = delete;
};

}  // namespace

void remove_registered_paths() {
  lock_list();  // keeps the lock until the end, so that no path is added
  const pid_t here = getpid();
  for (const signal_cleanup* each = first; each != nullptr; each = each->next_)
    if (each->process_ == here) remove_tree(AT_FDCWD, each->path_.c_str());
}

namespace {

void remove_and_die(int signal) {
  remove_registered_paths();
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  sigset_t its;
  sigemptyset(&its);
  sigaddset(&its, signal);
  pthread_sigmask(SIG_UNBLOCK, &its, nullptr);
  raise(signal);
}

/// Called for each path, because other code may have replaced a handler.
void install_handlers() {
  for (const int signal : fatal_signals) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = remove_and_die;
    sigfillset(&ours.sa_mask);
    sigaction(signal, &ours, nullptr);
  }
}

fs::path made_folder(std::string_view prefix) {
  const char* where = std::getenv("TMPDIR");
  const auto what = fmt::format("no temporary folder can be made (TMPDIR={})", where != nullptr ? where : "");
  std::error_code none;
  const fs::path temporary = fs::temp_directory_path(none);
  if (none) throw std::system_error(none, what);
  // Absolute, because a program that gets a path in it may run in another folder.
  std::string name = (fs::absolute(temporary) / fmt::format("{}XXXXXX", prefix)).string();
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), what);
  return name;
}

}  // namespace

signal_cleanup::signal_cleanup(const std::function<fs::path()>& make) : process_(getpid()) {
  const list_lock list;
  path_ = make();
  install_handlers();
  next_ = std::exchange(first, this);
}

signal_cleanup::~signal_cleanup() {
  const list_lock list;
  for (signal_cleanup** each = &first; *each != nullptr; each = &(*each)->next_)
    if (*each == this) {
      *each = next_;
      return;
    }
}

temporary_folder::temporary_folder(std::string_view prefix) : made_([&] { return made_folder(prefix); }) {}

temporary_folder::~temporary_folder() {
  remove_folder(path());
}

void remove_folder(const fs::path& folder) {
  if (const int why = remove_tree(AT_FDCWD, folder.c_str()); why != 0)
    std::fprintf(stderr, "cufault: cannot remove %s: %s\n", folder.c_str(), std::strerror(why));
}

}  // namespace cufault
