// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/lanes.hpp"

#include "harness/model/errors.hpp"
#include "harness/run/scratch_folder.hpp"
#include "harness/system/children.hpp"
#include "harness/system/process.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

namespace cufault {
namespace {

[[noreturn]] void fail_lanes(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// A message is its length, 8 bytes in host order, and its bytes: one program runs at both ends.
using length = std::uint64_t;

bool send_message(int channel, std::string_view text) {
  const length size = text.size();
  std::string bytes(sizeof size, '\0');
  std::copy_n(reinterpret_cast<const char*>(&size), sizeof size, bytes.data());
  bytes += text;
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(channel, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

// Removes the first complete message from `received` and returns it.
std::optional<std::string> message_in(std::string& received) {
  length size = 0;
  if (received.size() < sizeof size) return {};
  std::copy_n(received.data(), sizeof size, reinterpret_cast<char*>(&size));
  if (received.size() - sizeof size < size) return {};
  std::string text = received.substr(sizeof size, size);
  received.erase(0, sizeof size + size);
  return text;
}

// Returns false at the end of the channel.
bool receive(int channel, std::string& received) {
  std::array<char, 65536> buffer;
  const ssize_t n = recv(channel, buffer.data(), buffer.size(), 0);
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  received.append(buffer.data(), static_cast<std::size_t>(n));
  return true;
}

void serve(int channel, const lane_work& work) {
  std::string received;
  while (true) {
    auto request = message_in(received);
    if (!request) {
      if (!receive(channel, received)) return;
      continue;
    }
    // Nothing is sent to a working lane: its channel becomes readable only when it is closed.
    if (!send_message(channel, work(*request, channel))) return;
  }
}

// Removes folders of trials that a dead lane left.
void remove_folders_of(pid_t lane) {
  namespace fs = std::filesystem;
  const std::string prefix = fmt::format("{}{}-", scratch_prefix, lane);
  std::error_code none;
  const fs::path temporary = fs::temp_directory_path(none);
  for (fs::directory_iterator at(temporary, none), end; !none && at != end; at.increment(none)) {
    if (at->path().filename().string().starts_with(prefix)) remove_folder(at->path());
  }
}

}  // namespace

lanes::lanes(std::size_t count, lane_work work, std::function<void()> at_end)
    : work_(std::move(work)),
      at_end_(std::move(at_end)),
      all_(count),
      earlier_children_(children_of_this_process()) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (lane& l : all_) start(l);
}

lanes::~lanes() {
  end();
}

void lanes::start(lane& l) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail_lanes("cannot make a channel");
  unique_fd ours(ends[0]), theirs(ends[1]);
  std::fflush(nullptr);
  sigset_t interrupting, before;
  sigemptyset(&interrupting);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&interrupting, signal);
  sigprocmask(SIG_BLOCK, &interrupting, &before);
  const pid_t pid = fork();
  if (pid == 0) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    // The lane must not inherit locks on GPUs, journals and channels of other lanes.
    const int channel = fcntl(theirs.get(), F_DUPFD_CLOEXEC, 3);
    close_all_but(channel);
    int code = 1;
    try {
      serve(channel, work_);
      code = 0;
    } catch (const interrupted&) {
      code = 0;
    } catch (const std::exception& e) {
      fmt::print(stderr, "cufault: {}\n", e.what());
    }
    if (at_end_) at_end_();
    _exit(code);  // skips the parent's destructors
  }
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  if (pid < 0) fail_lanes("cannot start a process that runs trials");
  l = {.pid = pid, .channel = std::move(ours), .received = {}, .busy = false, .idle_since = 0};
}

std::optional<std::size_t> lanes::idle() const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (!all_[i].busy && (!found || all_[i].idle_since > all_[*found].idle_since)) found = i;
  return found;
}

void lanes::stop() {
  for (const lane& l : all_)
    if (l.busy) shutdown(l.channel.get(), SHUT_WR);
}

bool lanes::busy() const {
  return std::any_of(all_.begin(), all_.end(), [](const lane& l) { return l.busy; });
}

void lanes::ask(std::size_t lane, const std::string& request) {
  all_[lane].busy = true;
  send_message(all_[lane].channel.get(), request);  // next() reports a dead lane
}

std::optional<lane_answer> lanes::next(int stop, int patience_milliseconds) {
  std::vector<std::size_t> all(all_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return next_of(all, stop, patience_milliseconds);
}

std::optional<lane_answer> lanes::next_of(const std::vector<std::size_t>& which, int stop, int patience) {
  while (true) {
    std::vector<pollfd> waiting{{stop, POLLIN, 0}};
    for (const std::size_t i : which)
      waiting.push_back({all_[i].busy ? all_[i].channel.get() : -1, POLLIN, 0});
    const int ready = poll(waiting.data(), waiting.size(), patience);
    if (ready < 0) {
      if (errno == EINTR) continue;
      fail_lanes("cannot wait for trials");
    }
    if (waiting[0].revents != 0 || ready == 0) return {};
    for (std::size_t at = 0; at < which.size(); ++at) {
      if (waiting[at + 1].revents == 0) continue;
      lane& l = all_[which[at]];
      const bool open = receive(l.channel.get(), l.received);
      auto text = message_in(l.received);
      if (text) {
        l.busy = false;
        l.idle_since = ++answers_;
        return lane_answer{which[at], *std::move(text), {}};
      }
      if (open) continue;
      lane_answer answer{which[at], {}, reap_dead_lane(l)};
      start(l);
      return answer;
    }
  }
}

void lanes::ask_idle(const std::string& request) {
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].busy) continue;
    ask(i, request);
    asked.push_back(i);
  }
  for (std::size_t answers = 0; answers < asked.size(); ++answers) static_cast<void>(next_of(asked, -1, -1));
}

/// Reaps a dead lane, ends the processes that it started, and says how it ended.
std::string lanes::reap_dead_lane(lane& l) {
  int status = 0;
  pid_t reaped = 0;
  while ((reaped = waitpid(l.pid, &status, 0)) < 0 && errno == EINTR) {
  }
  // The orphaned trial is a child of this process now, unless it has died.
  while (true) {
    bool found = false;
    for (const pid_t child : children_of_this_process()) {
      if (earlier_children_.contains(child) ||
          std::any_of(all_.begin(), all_.end(), [&](const lane& other) { return other.pid == child; }))
        continue;
      found = true;
      kill(child, SIGKILL);
      while (waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
      }
    }
    if (!found) break;
  }
  remove_folders_of(l.pid);
  if (reaped != l.pid) return "ended";
  return WIFSIGNALED(status) ? "died of " + signal_name(WTERMSIG(status))
                             : fmt::format("exited with {}", WEXITSTATUS(status));
}

void lanes::end() {
  for (lane& l : all_)
    if (l.channel) shutdown(l.channel.get(), SHUT_RDWR);
  for (lane& l : all_) {
    if (l.pid > 0) reap_dead_lane(l);
    l = {};
  }
}

}  // namespace cufault
