// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/mps_keeper.hpp"

#include "harness/system/children.hpp"
#include "harness/system/unique_fd.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

namespace cufault {
namespace {

constexpr std::chrono::seconds end_of_its_own{3};
// A restart takes up to 14 s to end the daemon and 11 s to start it. Clients are served in turn: one may wait for another's restart and
// then its own.
constexpr timeval patience_of_client{60, 0}, patience_with_client{5, 0};
constexpr std::string_view restart_line = "restart", state_line = "state";

/// Sends the daemon's output to a file, since it may keep a pipe open. Returns "" if it started, else why not.
std::string start_daemon(std::chrono::seconds limit) {
  const int status = std::system(
      fmt::format(
          "timeout -k 1 {} nvidia-cuda-mps-control -d >\"$CUDA_MPS_LOG_DIRECTORY/said\" 2>&1 </dev/null",
          limit.count())
          .c_str());
  if (status == 0) return {};
  constexpr int ended_by_timeout = 124, killed_by_timeout = 128 + SIGKILL;
  if (WIFEXITED(status) &&
      (WEXITSTATUS(status) == ended_by_timeout || WEXITSTATUS(status) == killed_by_timeout))
    return fmt::format("nvidia-cuda-mps-control -d: it did not return within {} s", limit.count());
  std::ostringstream text;
  text << std::ifstream(std::getenv("CUDA_MPS_LOG_DIRECTORY") + std::string("/said")).rdbuf();
  std::string words = text.str();
  for (char& c : words)
    if (c == '\n') c = ' ';
  return fmt::format("nvidia-cuda-mps-control -d: exit code {}: {}",
                     WIFEXITED(status) ? WEXITSTATUS(status) : -1, words);
}

/// Reaps ended children. Returns false if none is left.
bool any_child_lives() {
  pid_t ended = 0;
  do ended = waitpid(-1, nullptr, WNOHANG);
  while (ended > 0);
  return ended == 0;
}

void kill_what_is_left() {
  for (auto left = children_of_this_process(); !left.empty(); left = children_of_this_process())
    for (const pid_t each : left) {
      kill(each, SIGKILL);
      waitpid(each, nullptr, 0);
    }
}

/// Ends the daemon and all children. Waits for clients at most a second.
void end_daemon() {
  static_cast<void>(std::system("echo quit -t 1 | timeout -k 1 10 nvidia-cuda-mps-control >/dev/null 2>&1"));
  const auto deadline = std::chrono::steady_clock::now() + end_of_its_own;
  while (any_child_lives() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill_what_is_left();
}

/// Reads a line without its newline; "" at the end of the channel or after the time limit.
std::string read_line_in_time(int from) {
  std::array<char, 64> line{};
  ssize_t n = 0;
  do n = read(from, line.data(), line.size());
  while (n < 0 && errno == EINTR);
  const std::string_view text(line.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return std::string(text.substr(0, text.find('\n')));
}

bool say(int to, std::string_view line) {
  const std::string text = std::string(line) + "\n";
  return send(to, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

/// Calls bind() or connect() with the keeper's address for clients. Returns false with errno on failure.
bool call_with_keeper_address(int fd, int (*call)(int, const sockaddr*, socklen_t)) {
  const char* const folder = std::getenv("CUDA_MPS_LOG_DIRECTORY");
  const std::string path = fmt::format("{}/keeper", folder != nullptr ? folder : "");
  sockaddr_un address{AF_UNIX, {}};
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  path.copy(address.sun_path, path.size());
  return call(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

class kept_daemon {
 public:
  explicit kept_daemon(std::chrono::seconds start_limit) : start_limit_(start_limit) {}
  std::string start() {
    started_.clear();
    std::string wrong = start_daemon(start_limit_);
    if (!wrong.empty()) {
      kill_what_is_left();
      return wrong;
    }
    started_ = children_of_this_process();
    return "started";
  }
  std::string restart() {
    end_daemon();
    return start();
  }
  /// True if the daemon ended by itself; false if it could not be restarted. Servers may outlive it.
  [[nodiscard]] bool has_ended() const {
    return !started_.empty() &&
           std::ranges::none_of(started_, [](pid_t each) { return waitpid(each, nullptr, WNOHANG) == 0; });
  }

 private:
  std::chrono::seconds start_limit_;
  std::set<pid_t> started_;
};

/// Serves one client. A silent client must not hold up others or the end.
void serve_client(int client, kept_daemon& daemon) {
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience_with_client, sizeof patience_with_client);
  const std::string asked = read_line_in_time(client);
  if (asked == restart_line) say(client, daemon.restart());
  if (asked == state_line) say(client, daemon.has_ended() ? "ended" : "runs");
}

/// Sends a client's line to the keeper. Returns the answer, or "" without one.
std::string ask_keeper(std::string_view line) {
  const unique_fd keeper(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const int waiting : {SO_RCVTIMEO, SO_SNDTIMEO})  // SO_SNDTIMEO also limits connect()
    setsockopt(keeper.get(), SOL_SOCKET, waiting, &patience_of_client, sizeof patience_of_client);
  if (!call_with_keeper_address(keeper.get(), connect) || !say(keeper.get(), line)) return {};
  std::string answer;
  for (char c = 0; read(keeper.get(), &c, 1) == 1 && c != '\n';) answer += c;
  return answer;
}

}  // namespace

int keep_mps_daemon(std::chrono::seconds start_limit) {
  struct stat input {};
  if (std::getenv("CUDA_MPS_PIPE_DIRECTORY") == nullptr || std::getenv("CUDA_MPS_LOG_DIRECTORY") == nullptr ||
      fstat(STDIN_FILENO, &input) != 0 || !S_ISSOCK(input.st_mode)) {
    std::fputs(
        "keep-mps is started by cufault run, with CUDA_MPS_PIPE_DIRECTORY, CUDA_MPS_LOG_DIRECTORY and a "
        "socket as standard input: run cufault run\n",
        stderr);
    return 2;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // the daemon detaches and becomes a child of this process
  if (read_line_in_time(STDIN_FILENO).empty()) return 0;
  const unique_fd clients(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  kept_daemon daemon(start_limit);
  std::string said;
  if (!call_with_keeper_address(clients.get(), bind) || listen(clients.get(), 1) != 0)
    said = fmt::format("its keeper cannot be asked in {}: {}", std::getenv("CUDA_MPS_LOG_DIRECTORY"),
                       std::strerror(errno));
  else
    said = daemon.start();
  say(STDIN_FILENO, said);
  if (said != "started") {
    read_line_in_time(STDIN_FILENO);  // the requester takes the end for a failure
    return 1;
  }
  while (true) {
    std::array<pollfd, 2> asked{{{STDIN_FILENO, POLLIN, 0}, {clients.get(), POLLIN, 0}}};
    if (poll(asked.data(), asked.size(), -1) <= 0) continue;
    if (asked[0].revents == 0) {
      const unique_fd client(accept4(clients.get(), nullptr, nullptr, SOCK_CLOEXEC));
      serve_client(client.get(), daemon);
      continue;
    }
    const bool by_word = !read_line_in_time(STDIN_FILENO).empty();
    end_daemon();
    if (by_word) say(STDIN_FILENO, "ended");
    return 0;
  }
}

std::string restart_kept_mps_daemon() {
  return ask_keeper(restart_line);
}

bool kept_mps_daemon_has_ended() {
  return ask_keeper(state_line) == "ended";
}

}  // namespace cufault
