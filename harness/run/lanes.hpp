// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/system/unique_fd.hpp"

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cufault {

/// Handles one request in a lane's process. When `stop` becomes readable, end the work and throw interrupted.
using lane_work = std::function<std::string(const std::string& request, int stop)>;

struct lane_answer {
  std::size_t lane = 0;
  std::string text;
  std::string
      died;  ///< how the lane ended, if it ended instead of answering: "died of SIGKILL"; a new one stands in its place
};

/// Forked processes that work side by side, each on one request at a time. run_process() is not for concurrent use: each lane has its own
/// copy and reaps only its own children. A lane ends with this object or when this process dies in any way, and first ends what it started.
/// Lanes ignore SIGINT, SIGTERM and SIGHUP; this process forwards them. This process must be single-threaded. It becomes a child subreaper,
/// so that it can end what a dead lane leaves, and leaves earlier children alone.
class lanes {
 public:
  /// `at_end` runs in each lane before it ends, unless it is killed.
  lanes(std::size_t count, lane_work work, std::function<void()> at_end = {});
  ~lanes();
  lanes(const lanes&) = delete;
  lanes& operator=(const lanes&) = delete;

  [[nodiscard]] std::size_t count() const { return all_.size(); }
  [[nodiscard]] std::optional<std::size_t> idle()
      const;  ///< a lane without a request; the one that was idle last
  void ask(std::size_t lane, const std::string& request);  ///< precondition: it is idle
  void stop();  ///< Makes `stop` of busy lanes readable. They may answer, and then end.
  [[nodiscard]] bool busy() const;
  /// Waits for the next answer; nullopt if `stop` (-1 for none) became readable first. Precondition: busy().
  std::optional<lane_answer> next(int stop, int patience_milliseconds = -1);
  /// Sends the request to each idle lane and drops the answers. Keeps answers of busy lanes.
  void ask_idle(const std::string& request);
  /// Ends all lanes and their work. Returns when all are gone.
  void end();

 private:
  struct lane {
    pid_t pid = -1;
    unique_fd channel;
    std::string received;
    bool busy = false;
    std::size_t idle_since = 0;  // index of the answer after which it became idle
  };
  void start(lane& l);
  std::string reap_dead_lane(lane& l);
  std::optional<lane_answer> next_of(const std::vector<std::size_t>& which, int stop, int patience);
  lane_work work_;
  std::function<void()> at_end_;
  std::vector<lane> all_;
  std::set<pid_t> earlier_children_;  // earlier children of this process
  std::size_t answers_ = 0;
};

}  // namespace cufault
