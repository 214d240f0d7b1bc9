// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Rows of a table. Each observed call runs in a process that earlier rows left undamaged.
#include "harness/system/child.hpp"
#include "harness/system/shared_memory.hpp"
#include "harness/system/unique_fd.hpp"
#include "harness/trial/observe.hpp"
#include "harness/trial/progress.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace cufault {

std::string context_of(std::span<const context_state> processes) {
  for (const auto& [what, state] :
       {std::pair{context_state::damaged, "damaged"}, std::pair{context_state::usable, "usable"},
        std::pair{context_state::unknown, "unchecked"}})
    if (std::find(processes.begin(), processes.end(), what) != processes.end()) return state;
  return {};
}

std::vector<std::string> trial::for_each_row(std::size_t rows, const std::function<row_function()>& set_up,
                                             std::chrono::milliseconds patience) {
  const auto set_up_observed = [&]() -> unobserved_row_function {
    return [this, run_row = set_up()](std::size_t row) {
      run_row(row);
      return !opened_ || cudaDeviceSynchronize() == cudaSuccess;
    };
  };
  return in_processes(rows, set_up_observed, patience, /*observing=*/true);
}

std::vector<std::string> trial::for_each_unobserved_row(
    std::size_t rows, const std::function<unobserved_row_function()>& set_up,
    std::chrono::milliseconds patience) {
  return in_processes(rows, set_up, patience, /*observing=*/false);
}

std::vector<std::string> trial::in_processes(std::size_t rows,
                                             const std::function<unobserved_row_function()>& set_up,
                                             std::chrono::milliseconds patience, bool observing) {
  require_own_process("it runs rows in processes of theirs");
  const shared_array<progress> shared(1);
  const shared_array<progress::name> names(rows);
  progress& now = shared[0];
  now.names = names.all();
  progress_ = &now;
  const auto came_to = [&](std::size_t row, std::string_view what) {
    progress::name& name = names[row];
    name.fill('\0');
    what.copy(name.data(), name.size() - 1);
  };
  std::vector<context_state> left;
  while (now.done < rows) {
    const std::size_t first = now.done;
    now.damaged = false;
    now.left = context_state::unknown;
    const pid_t forked = fork_child([&] {
      tell_exceptions([&] {
        const unobserved_row_function run_row = set_up();
        for (std::size_t row = first; row < rows && !now.damaged; ++row) {
          if (!observing) {
            ++now.moves;
            now.in_call = true;
          }
          now.damaged = !run_row(row);
          if (!observing) {
            now.in_call = false;
            came_to(row, "returned");
          }
          now.done = row + 1;
          ++now.moves;
        }
        now.left = !opened_                                      ? context_state::no_context
                   : !now.damaged && probe_context() == "usable" ? context_state::usable
                                                                 : context_state::damaged;
      });
      now.in_call = false;  // the call threw and the reason is recorded
    });
    skip_seeds(1'000);
    const std::string ended = wait_for_rows(forked, patience);
    left.push_back(now.left);
    if (now.in_call) {
      if (observing)
        send_end(end_of_process(ended), "", 0);
      else
        came_to(now.done, ended);
      now.in_call = false;
      ++now.done;
    } else if (ended == "timed out") {
      throw out_of_time(fmt::format("row {}: {} outside of a call", now.done.load(), ended));
    } else if (ended != "exit 0") {
      throw setup_failed(fmt::format("row {}: {} outside of a call", now.done.load(), ended));
    } else if (now.done < rows && !now.damaged) {
      break;  // set_up or a row has recorded why
    }
  }
  if (observing) context_of_rows_ = context_of(left);  // an unobserved row reports its own context
  std::vector<std::string> all;
  for (std::size_t row = 0; row < rows; ++row) all.emplace_back(names[row].data());
  progress_ = nullptr;
  return all;
}

/// How the child ended: "exit 0", "crashed: SIGSEGV", "timed out". trial.hpp explains `patience`.
std::string trial::wait_for_rows(pid_t child, std::chrono::milliseconds patience) {
  using clock = std::chrono::steady_clock;
  const unique_fd handle(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (handle.get() < 0) throw setup_failed("the kernel gives no handle of a process (pidfd_open)");
  std::size_t seen = progress_->moves;
  auto since = clock::now();
  bool impatient = false;
  for (pollfd ends{handle.get(), POLLIN, 0}; poll(&ends, 1, 100) <= 0;) {
    const bool in_call = progress_->in_call;
    if (const std::size_t moves = progress_->moves; moves != seen) {
      seen = moves;
      since = clock::now();
    } else if (!impatient && clock::now() - since > (in_call ? patience : 3 * patience)) {
      impatient = true;
      kill(child, SIGKILL);
    }
  }
  const int status = wait_for(child);
  return impatient ? "timed out" : ending_of(status);
}

}  // namespace cufault
