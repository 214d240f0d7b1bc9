// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/gpu_lock.hpp"

#include "harness/system/unique_fd.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <fstream>
#include <string_view>
#include <system_error>

namespace cufault {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds between_tries{50};
constexpr std::size_t longest_name = 100;
constexpr std::size_t longest_holder = 400;

[[noreturn]] void refuse(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

std::string file_name_for(std::string uuid) {
  const auto harmless = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  std::replace_if(
      uuid.begin(), uuid.end(), [&](char c) { return !harmless(c); }, '-');
  return fmt::format("cufault-gpu-{:.{}}.lock", uuid, longest_name);
}

// Opens or makes the file, in two steps: with fs.protected_regular, O_CREAT in /tmp is refused for another user's file, though anybody may
// open it.
unique_fd open_file(const std::filesystem::path& file) {
  constexpr int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  while (true) {
    unique_fd fd(open(file.c_str(), O_RDWR | flags));
    if (fd) return fd;
    // Its maker has not yet undone the umask. Locking needs only read access.
    if (errno == EACCES) fd = unique_fd(open(file.c_str(), O_RDONLY | flags));
    if (fd) return fd;
    if (errno == ELOOP)
      refuse(ELOOP, fmt::format("{} is a symbolic link that somebody put there", file.string()));
    if (errno == EINTR) continue;
    if (errno != ENOENT) refuse(errno, fmt::format("cannot open {}", file.string()));
    fd = unique_fd(open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | flags, 0666));
    if (fd) {
      fchmod(fd.get(), 0666);  // all users share the GPU, whatever the umask of its maker
      return fd;
    }
    if (errno != EEXIST && errno != EINTR) refuse(errno, fmt::format("cannot make {}", file.string()));
  }
}

// True if the path still names the open file: its last holder may have removed it before we got the lock.
bool names(const std::filesystem::path& file, int fd) {
  struct stat there {
  }, here{};
  if (lstat(file.c_str(), &there) != 0 || fstat(fd, &here) != 0) return false;
  return there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

// We write to the file: refuse anything but a regular file with one name.
void require_plain(const std::filesystem::path& file, int fd) {
  struct stat here {};
  if (fstat(fd, &here) != 0) refuse(errno, fmt::format("cannot examine {}", file.string()));
  if (!S_ISREG(here.st_mode) || here.st_nlink > 1) {
    refuse(EINVAL, fmt::format("{} is not the plain file it must be", file.string()));
  }
}

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words(longest_holder, '\0');
  file.read(words.data(), static_cast<std::streamsize>(words.size()));
  words.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace_if(
      words.begin(), words.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, ' ');
  return words;
}

// Writes "PID START COMMAND" for people. Failure to write is ignored.
void write_holder(int fd) {
  const auto line = fmt::format("{} {:%Y-%m-%dT%H:%M:%S} {}\n", getpid(), fmt::localtime(std::time(nullptr)),
                                own_command());
  const auto size = static_cast<ssize_t>(line.size());
  if (pwrite(fd, line.data(), line.size(), 0) == size) [[maybe_unused]]
    const int cut = ftruncate(fd, size);
}

// Describes who holds the lock. The file's text is untrusted.
std::string read_holder(int fd) {
  std::array<char, longest_holder + 64> buffer;
  const auto n = pread(fd, buffer.data(), buffer.size(), 0);
  std::string_view text(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  text = text.substr(0, text.find('\n'));
  pid_t pid = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  // The process named here may have ended before other holders.
  if (error != std::errc() || pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH)) return "another cufault";
  std::string words(rest, text.data() + text.size());
  std::replace_if(
      words.begin(), words.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  const auto start = words.find_first_not_of(' ');
  const auto command = words.find(' ', start);
  if (start == words.npos || command == words.npos) return fmt::format("another cufault (process {})", pid);
  return fmt::format("another cufault (process {}, since {}: {})", pid, words.substr(start, command - start),
                     words.substr(command + 1));
}

}  // namespace

gpu_lock::gpu_lock(const std::string& uuid, memory_class how, std::chrono::milliseconds patience, int stop,
                   const std::filesystem::path& directory)
    : file_(directory / file_name_for(uuid)), how_(how) {
  const auto deadline = clock::now() + patience;
  const int operation = (how == memory_class::exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
  unique_fd fd;
  while (true) {
    if (!fd) {
      fd = open_file(file_);
      require_plain(file_, fd.get());
    }
    if (flock(fd.get(), operation) == 0) {
      if (names(file_, fd.get())) break;
      fd.reset();  // the file was removed: others lock its successor
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) refuse(errno, fmt::format("cannot lock {}", file_.string()));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
    if (left.count() <= 0) {
      throw gpu_busy(fmt::format(
          "GPU {} is in use by {}; wait for it to end, or let this one wait longer with --wait SECONDS", uuid,
          read_holder(fd.get())));
    }
    pollfd waiting{stop, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(std::min(left, between_tries).count())) > 0) {
      throw gpu_busy(fmt::format("interrupted while GPU {} was in use by {}", uuid, read_holder(fd.get())));
    }
  }
  write_holder(fd.get());
  fd_ = fd.release();
}

gpu_lock::~gpu_lock() {
  const unique_fd fd(fd_);
  // Whoever locks exclusively is the last holder. flock() drops our shared lock first, so the file may have been replaced: check that the
  // path still names it. In a sticky directory another user's file stays, harmlessly.
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && names(file_, fd.get())) unlink(file_.c_str());
}

}  // namespace cufault
