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

/// The descriptor on which a spawned process reports.
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

/// Runs a program to its end in its own process group: stdin from /dev/null, default signal dispositions, empty signal mask, no descriptors
/// but 0, 1, 2 and report_fd. `on_report` gets the bytes written to report_fd as they come. When the program ends or times out, or `stop`
/// (descriptor, -1 for none) becomes readable, its process group and all other descendants are killed: none is left on return. Reads the
/// pipes until they are empty, but does not wait for a process that keeps them open. Throws std::system_error with the program's path if it
/// cannot be started. Throws it with ETIMEDOUT if a killed process has not ended after a minute: it is stuck in the kernel. Makes the
/// calling process a child subreaper (prctl). Earlier children are left alone; the caller must start and reap no others meanwhile. Not for
/// concurrent use. Exceptions from `on_report` pass.
process_result run_process(const spawn_options& options,
                           const std::function<void(std::string_view)>& on_report, int stop = -1);

/// A program that stays and answers requests, one line each, on its standard input, a bidirectional channel. Starts, watches and ends it
/// like run_process(), which may be called meanwhile. One object at a time, always in one thread.
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
  /// Sends a line and waits for the answering line. If there is no answer, the process has been ended on return, and no request may follow.
  answer ask(std::string_view request, std::chrono::milliseconds timeout,
             const std::function<void(std::string_view)>& on_report, int stop = -1);
  /// Ends the process. Returns the number of processes that it left running.
  int end();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// A program that stays and forks a child for each run. CUFAULT_FORKS is the descriptor of its channel (SOCK_SEQPACKET), that one's inode, and
/// those of its pipes for output, parted by colons. It says its process ID, or why it goes on without stopping. A request is a text, with
/// descriptors that take the place of those pipes and, where the run reports, of report_fd. The answer is the process ID of a child of this
/// process. Two programs do that: any that libcufault.so is preloaded into, at its first call of the driver or of a library (the text: rules,
/// a zero byte and texts of --fail), and framework_trials/forks.py (a trial). Used like resident_process; others may be there meanwhile.
class forking_process {
 public:
  /// Waits until the program asks for requests, for the options' timeout at most. Throws as run_process().
  explicit forking_process(const spawn_options& options, int stop = -1);
  ~forking_process();  ///< ends it
  forking_process(const forking_process&) = delete;
  forking_process& operator=(const forking_process&) = delete;

  /// Why it forks nothing, in words that follow "the program is started anew for each run: "; "" while it does.
  [[nodiscard]] const std::string& why_not() const;
  /// Where it forks nothing any more: how it ended.
  [[nodiscard]] const process_result& ended() const;
  /// A run by a child, watched and ended as by run_process(). What the program itself printed comes first. Nullopt if it forks none.
  std::optional<process_result> run(const std::string& request, std::chrono::milliseconds timeout,
                                    const std::function<void(std::string_view)>& on_report, int stop = -1);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// For the child, first in main: ends it with its parent (also if that is already gone), and marks report_fd close-on-exec. The parent is
/// the thread that called run_process: it must live as long as the child.
void tie_to_parent(pid_t parent);

/// While an object lives, SIGINT, SIGTERM, SIGHUP and SIGPIPE (nobody reads the output) make a descriptor readable, which stays readable.
/// One object at a time. Signals that were ignored before (nohup) stay ignored.
class interrupt_guard {
 public:
  interrupt_guard();
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;
  [[nodiscard]] int descriptor() const;
  [[nodiscard]] int signal() const;  ///< the first signal that came, or 0
};

/// Path of a program by its name, from PATH. A name with a folder, or that PATH does not have, is returned as it is.
std::string as_a_shell_finds(const std::string& name);

std::string signal_name(int signal);  ///< "SIGSEGV", or "signal 64" for one without a name

}  // namespace cufault
