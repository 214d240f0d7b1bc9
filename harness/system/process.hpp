// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// The file descriptor on which a spawned process finds the pipe it reports on.
inline constexpr int report_fd = 3;

struct spawn_options {
  std::vector<std::string> argv;  ///< argv[0] is the path of the program
  /// Changes to this process's environment; an empty value unsets.
  std::map<std::string, std::string> environment;
  std::vector<std::string> preload;  ///< put in front of LD_PRELOAD
  std::chrono::milliseconds timeout{60'000};
  std::size_t keep_output = 64 * 1024;  ///< bytes of stdout and of stderr kept: first and last half
};

enum class ending { exited, signalled, timed_out, interrupted };

struct process_result {
  ending how = ending::exited;
  int exit_code = 0;  ///< valid if exited
  int signal = 0;     ///< valid if signalled
  std::string stdout_text, stderr_text;
  double milliseconds = 0;  ///< spawn to reaped
  int stragglers = 0;       ///< processes it left running behind it, all killed and reaped
};

/// Runs a program to its end in a process group of its own, with stdin from /dev/null, default signal
/// dispositions, an empty signal mask and no descriptor of ours but 0, 1, 2 and report_fd. `on_report` gets
/// every byte the program writes to report_fd, as it comes. When the program ends, is timed out, or `stop` (a
/// descriptor; -1 for none) becomes readable, its whole process group is killed, and so is every descendant
/// that left the group; none is left when this returns. Reads on until the pipes are empty, but never waits
/// for a descendant that keeps them open. Throws std::system_error with the program's path when it cannot be
/// started, or with ETIMEDOUT when a process that was killed has not ended a minute later: it is stuck in the
/// kernel, and nobody can end it. Marks the calling process as a child subreaper (prctl). Children that this
/// process had before are left alone; it must start no other meanwhile, and reap none. Not for concurrent
/// use. An exception from `on_report` is passed on.
process_result run_process(const spawn_options& options,
                           const std::function<void(std::string_view)>& on_report, int stop = -1);

/// A program that stays and answers requests, each in one line on its standard input, which is a channel of both directions. Started,
/// watched and ended as by run_process(), which may be called meanwhile. One at a time; the same thread throughout.
class resident_process {
 public:
  explicit resident_process(const spawn_options& options);  ///< throws as run_process()
  ~resident_process();                                      ///< ends it, and all that comes of it
  resident_process(const resident_process&) = delete;
  resident_process& operator=(const resident_process&) = delete;

  struct answer {
    bool answered = false;   ///< it lives, and has said `text`; else `process` says how it ended
    std::string text;        ///< a line, without its end
    process_result process;  ///< output and time since the request; how it ended, where it did
  };
  /// Sends a line and waits for the one that answers it. Unless it was answered, nothing of the process is left when this returns, and
  /// there is no further request.
  answer ask(std::string_view request, std::chrono::milliseconds timeout,
             const std::function<void(std::string_view)>& on_report, int stop = -1);
  /// Ends it, and returns how many processes it had left running.
  int end();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// For the child, first thing in main: die with the parent (also if it is already gone), and mark report_fd
/// close-on-exec. To the kernel the parent is the thread that called run_process: it must live as long as the
/// process.
void tie_to_parent(pid_t parent);

/// SIGINT, SIGTERM, SIGHUP and SIGPIPE (nobody reads the output any more, and writing it fails), turned into a readable descriptor for as
/// long as this lives. One at a time. A signal that was ignored before (nohup) stays ignored. The descriptor stays readable once a signal has
/// come.
class interrupt_guard {
 public:
  interrupt_guard();
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  [[nodiscard]] int descriptor() const;
  [[nodiscard]] int signal() const;  ///< the first signal that came, or 0
};

std::string signal_name(int signal);  ///< "SIGSEGV", or "signal 64" for one without a name

}  // namespace cufault
