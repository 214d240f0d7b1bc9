// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The life of an MPS daemon, with a script in place of nvidia-cuda-mps-control: its daemon detaches from its starter and has a server, like
// the real one.
#include "harness/run/mps_daemon.hpp"

#include "harness/model/errors.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/shared_process.hpp"
#include "harness/system/children.hpp"
#include "harness/system/mps_keeper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::vector<std::string> keeper{RUNNER_HOST, "keep_mps"};

// Writes its actions to TOLD, a line each.
constexpr const char* stand_in = R"sh(#!/bin/sh
control="$CUDA_MPS_PIPE_DIRECTORY/control"
if [ "$1" = -d ]; then
  [ -n "$MPS_HANGS" ] && sleep 1000
  [ -n "$MPS_REFUSES" ] && { echo "Cannot start:"; echo "$MPS_REFUSES"; exit 3; }
  setsid sh -c 'sleep 1000 & trap "kill $!; exit" TERM; echo $$ > "$0".new; mv "$0".new "$0"; wait' "$control" </dev/null >/dev/null 2>&1 &
  while [ ! -e "$control" ]; do sleep 0.01; done
  echo "started $(cat "$control") ${CUDA_VISIBLE_DEVICES:-all}" >> "$TOLD"
  exit 0
fi
read -r words
echo "$words" >> "$TOLD"
[ -n "$MPS_IS_DEAF" ] && exit 0
kill "$(cat "$control")"
rm "$control"
)sh";

class mps : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_.path() / "nvidia-cuda-mps-control") << stand_in;
    fs::permissions(folder_.path() / "nvidia-cuda-mps-control", fs::perms::owner_all);
    setenv("PATH", (folder_.path().string() + ":" + path_before_).c_str(), 1);
    setenv("TOLD", told_.c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", path_before_.c_str(), 1);
    for (const char* name : {"TOLD", "MPS_HANGS", "MPS_IS_DEAF", "MPS_REFUSES"}) unsetenv(name);
    EXPECT_EQ(children_of_this_process(), before_) << "something was left running";
  }
  [[nodiscard]] std::vector<std::string> told() const {
    std::vector<std::string> lines;
    std::ifstream in(told_);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  /// The daemon that was started last.
  [[nodiscard]] pid_t daemon() const {
    pid_t last = 0;
    for (const std::string& line : told())
      if (line.starts_with("started ")) last = std::stoi(line.substr(8));
    return last;
  }
  static bool ends(pid_t process) {
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (fd < 0) return true;
    pollfd ended{fd, POLLIN, 0};
    const bool in_time = poll(&ended, 1, 20'000) == 1;
    close(fd);
    return in_time;
  }
  [[nodiscard]] observation seen_by(const std::vector<std::string>& arguments) const {
    arm a{.name = "fault", .needs = need::host, .timeout = std::chrono::seconds(2)};
    a.under_mps = true;
    runner_options options;
    options.mps_keeper = keeper;
    options.command = [&](const auto&...) {
      std::vector<std::string> command = arguments;
      command.insert(command.begin(), HOSTILE_CHILD);
      return command;
    };
    return run_trial({.name = "memory.hostile"}, a, std::nullopt, 0, options);
  }

 private:
  scratch_folder folder_;
  std::string told_ = folder_.path() / "told";
  std::string path_before_ = std::getenv("PATH");
  std::set<pid_t> before_ = children_of_this_process();
};

/// Sets the variables of the daemon's clients in this process.
class as_client_of {
 public:
  explicit as_client_of(const mps_daemon& of) : variables_(of.variables()) {
    for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~as_client_of() {
    for (const auto& [name, value] : variables_) unsetenv(name.c_str());
  }
  as_client_of(const as_client_of&) = delete;
  as_client_of& operator=(const as_client_of&) = delete;

 private:
  std::map<std::string, std::string> variables_;
};

TEST_F(mps, daemon_lives_as_long_as_its_object) {
  {
    const mps_daemon one(keeper, {{"CUDA_VISIBLE_DEVICES", "GPU-1"}}, -1);
    EXPECT_THAT(told(), ElementsAre(AllOf(StartsWith("started "), HasSubstr(" GPU-1"))));
    EXPECT_EQ(kill(daemon(), 0), 0);
    for (const auto& [name, in] : one.variables()) EXPECT_TRUE(fs::is_directory(in)) << name;
  }
  EXPECT_THAT(told(), ElementsAre(StartsWith("started "), "quit -t 1"));
}

TEST_F(mps, daemon_that_does_not_quit_is_killed) {
  setenv("MPS_IS_DEAF", "1", 1);
  { const mps_daemon one(keeper, {}, -1); }
  EXPECT_TRUE(ends(daemon()));
}

TEST_F(mps, daemon_that_is_refused_is_not_provoked_with_its_words) {
  setenv("MPS_REFUSES", "an instance is running", 1);
  try {
    const mps_daemon one(keeper, {}, -1);
    FAIL() << "it was refused";
  } catch (const not_provoked& reason) {
    EXPECT_STREQ(
        reason.what(),
        "no MPS daemon: nvidia-cuda-mps-control -d: exit code 3: Cannot start: an instance is running ");
  }
  const observation o = seen_by({"normal"});
  EXPECT_EQ(o.ended, outcome::not_provoked);
  EXPECT_THAT(o.why, HasSubstr("an instance is running"));
}

TEST_F(mps, daemon_without_a_program_is_not_provoked) {
  setenv("PATH", "/usr/bin:/bin", 1);
  const observation o = seen_by({"normal"});
  EXPECT_EQ(o.ended, outcome::not_provoked);
  EXPECT_THAT(o.why, HasSubstr("nvidia-cuda-mps-control"));
  EXPECT_THROW(mps_daemon({"/nonexistent/cufault"}, {}, -1), not_provoked);
}

TEST_F(mps, daemon_may_have_a_quote_in_its_folder) {
  const scratch_folder in;
  const fs::path quoted = in.path() / "it's \"here\"";
  fs::create_directory(quoted);
  const char* const set = std::getenv("TMPDIR");
  const std::string before = set != nullptr ? set : "";
  setenv("TMPDIR", quoted.c_str(), 1);
  const std::string folder = mps_daemon(keeper, {}, -1).variables()["CUDA_MPS_LOG_DIRECTORY"];
  set != nullptr ? setenv("TMPDIR", before.c_str(), 1) : unsetenv("TMPDIR");
  EXPECT_THAT(folder, StartsWith(quoted.string()));
  EXPECT_THAT(told(), ElementsAre(StartsWith("started "), "quit -t 1"));
}

TEST_F(mps, keeper_that_is_started_by_hand_says_so) {
  spawn_options by_hand;
  by_hand.argv = keeper;
  const auto without_variables = run_process(by_hand, {});
  EXPECT_EQ(without_variables.exit_code, 2);
  EXPECT_THAT(without_variables.stderr_text, StartsWith("keep-mps is started by cufault run"));
  by_hand.environment = {{"CUDA_MPS_PIPE_DIRECTORY", "/nonexistent"},
                         {"CUDA_MPS_LOG_DIRECTORY", "/nonexistent"}};
  EXPECT_EQ(run_process(by_hand, {}).stderr_text, without_variables.stderr_text) << "without a channel";
}

TEST_F(mps, daemon_gives_way_to_the_end_of_the_run) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_THROW(mps_daemon({"/bin/sh", "-c", "sleep 600"}, {}, ends[0]), interrupted);
  for (const int end : ends) close(end);
}

TEST_F(mps, daemon_is_started_again_when_a_client_asks_for_it) {
  const mps_daemon one(keeper, {}, -1);
  const as_client_of in(one);
  const pid_t first = daemon();
  EXPECT_FALSE(kept_mps_daemon_has_ended());
  EXPECT_EQ(restart_kept_mps_daemon(), "started");
  EXPECT_NE(kill(first, 0), 0) << "it has ended, and is reaped";
  EXPECT_NE(daemon(), first);
  EXPECT_EQ(kill(daemon(), 0), 0);
  EXPECT_FALSE(kept_mps_daemon_has_ended());
  EXPECT_THAT(told(), ElementsAre(StartsWith("started "), "quit -t 1", StartsWith("started ")));
}

TEST_F(mps, daemon_that_ends_by_itself_stays_so_until_a_client_asks) {
  const mps_daemon one(keeper, {}, -1);
  const as_client_of in(one);
  const pid_t first = daemon();
  EXPECT_EQ(kill(first, SIGKILL), 0);  // its server stays
  EXPECT_TRUE(ends(first));
  EXPECT_TRUE(kept_mps_daemon_has_ended());
  EXPECT_TRUE(kept_mps_daemon_has_ended()) << "also when it is asked again";
  EXPECT_EQ(daemon(), first);
  fs::remove(one.variables()["CUDA_MPS_PIPE_DIRECTORY"] + "/control");
  EXPECT_EQ(restart_kept_mps_daemon(), "started");
  EXPECT_NE(daemon(), first);
  EXPECT_FALSE(kept_mps_daemon_has_ended());
}

TEST_F(mps, daemon_that_cannot_be_started_again_is_told_to_the_client) {
  const mps_daemon one(keeper, {}, -1);
  const as_client_of in(one);
  fs::remove(fs::path(std::getenv("TOLD")).parent_path() / "nvidia-cuda-mps-control");
  EXPECT_THAT(restart_kept_mps_daemon(), StartsWith("nvidia-cuda-mps-control -d: exit code 127: "));
  EXPECT_FALSE(kept_mps_daemon_has_ended()) << "its keeper ended it";
}

TEST_F(mps, daemon_whose_start_does_not_return_is_not_provoked_and_leaves_nothing) {
  setenv("MPS_HANGS", "1", 1);
  try {
    const mps_daemon one({RUNNER_HOST, "keep_mps", "1"}, {}, -1);
    FAIL() << "it hung";
  } catch (const not_provoked& reason) {
    EXPECT_STREQ(reason.what(), "no MPS daemon: nvidia-cuda-mps-control -d: it did not return within 1 s");
  }
}

TEST_F(mps, client_that_says_nothing_holds_up_neither_others_nor_the_end) {
  int silent = -1;
  {
    const mps_daemon one(keeper, {}, -1);
    const as_client_of in(one);
    sockaddr_un address{AF_UNIX, {}};
    (one.variables()["CUDA_MPS_LOG_DIRECTORY"] + "/keeper")
        .copy(address.sun_path, sizeof address.sun_path - 1);
    silent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(connect(silent, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(restart_kept_mps_daemon(), "started");
  }
  close(silent);
  EXPECT_THAT(told(), ElementsAre(StartsWith("started "), "quit -t 1", StartsWith("started "), "quit -t 1"));
}

TEST_F(mps, client_of_nobody_gets_no_answer) {
  EXPECT_EQ(restart_kept_mps_daemon(), "");
  EXPECT_FALSE(kept_mps_daemon_has_ended());
}

TEST_F(mps, variables_are_those_of_the_trial) {
  const observation o = seen_by({"environment", "CUDA_MPS_PIPE_DIRECTORY"});
  EXPECT_THAT(o.stdout_text, AllOf(StartsWith("CUDA_MPS_PIPE_DIRECTORY=/"), HasSubstr("/pipe")));
  EXPECT_THAT(told(), ElementsAre(StartsWith("started "), "quit -t 1"));
}

TEST_F(mps, daemon_ends_behind_a_trial_that_crashes_or_hangs) {
  const observation crashed = seen_by({"die", "segv", "in_call"});
  EXPECT_EQ(crashed.ended, outcome::crashed) << crashed.why;
  EXPECT_TRUE(ends(daemon()));
  const observation hung = seen_by({"hang", "in_call"});
  EXPECT_EQ(hung.ended, outcome::timed_out) << hung.why;
  EXPECT_TRUE(ends(daemon()));
  EXPECT_THAT(told(), ElementsAre(StartsWith("started "), "quit -t 1", StartsWith("started "), "quit -t 1"));
}

TEST_F(mps, daemon_ends_with_a_runner_that_is_killed) {
  std::array<int, 2> out{};
  ASSERT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
  scratch_folder in;
  const pid_t host = fork();
  if (host == 0) {
    dup2(out[1], STDOUT_FILENO);
    setenv("CUDA_MPS_PIPE_DIRECTORY", in.path().c_str(), 1);
    setenv("CUDA_MPS_LOG_DIRECTORY", in.path().c_str(), 1);
    execl(RUNNER_HOST, RUNNER_HOST, "mps_host", nullptr);
    _exit(99);
  }
  close(out[1]);
  std::string line;
  for (char byte = 0; line.find('\n') == line.npos && read(out[0], &byte, 1) == 1;) line += byte;
  close(out[0]);
  ASSERT_EQ(line, "started\n");
  const std::set<pid_t> others = children_of_this_process();
  kill(host, SIGKILL);
  waitpid(host, nullptr, 0);
  EXPECT_TRUE(ends(daemon()));
  // If an earlier test made this process a subreaper, the keeper is its child now.
  for (const pid_t child : children_of_this_process())
    if (!others.contains(child)) waitpid(child, nullptr, 0);
  EXPECT_THAT(told(), ElementsAre(StartsWith("started "), "quit -t 1"));
}

TEST_F(mps, daemon_is_one_of_a_process_that_trials_share) {
  arm a{.name = "fault", .needs = need::host, .shares_process = true};
  const std::string without = shared_process_key(a);
  a.under_mps = true;
  EXPECT_NE(shared_process_key(a), without);
  shared_process shared;
  const std::vector<std::string> answers{"/bin/sh", "-c", "while read -r line; do echo >&0; done"};
  for (int i = 0; i < 2; ++i) shared.run(a, answers, "x", keeper, {}, -1);
  EXPECT_THAT(told(), ElementsAre(StartsWith("started ")));
  shared.retire();
  EXPECT_THAT(told(), ElementsAre(StartsWith("started "), "quit -t 1"));
  a.under_mps = false;
  shared.run(a, answers, "x", keeper, {}, -1);
  EXPECT_EQ(told().size(), 2U);
  shared.retire();
}

}  // namespace
}  // namespace cufault
