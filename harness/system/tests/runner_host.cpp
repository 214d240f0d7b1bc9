// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Programs that use the runner's library for what a test cannot do in its own process: runner_host MODE
#include "harness/system/mps_keeper.hpp"
#include "harness/system/process.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iostream>
#include <string>

namespace {

// Imitates a kernel before 5.3.
bool without_pidfd() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{std::size(program), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 &&
         syscall(SYS_pidfd_open, getpid(), 0) < 0 && errno == ENOSYS;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";

  // A trial: dies with its parent.
  if (mode == "tied") {
    cufault::tie_to_parent(std::stoi(argv[2]));
    const auto line = "pid " + std::to_string(getpid()) + "\n";
    if (write(cufault::report_fd, line.data(), line.size()) < 0) return 1;
    while (true) pause();
  }
  // A runner that is itself killed: forwards its trial's reports, so that the test gets its pid.
  if (mode == "host") {
    cufault::spawn_options options;
    options.argv = {argv[0], "tied", std::to_string(getpid())};
    run_process(options, [](std::string_view bytes) { std::cout << bytes << std::flush; });
    return 0;
  }
  if (mode == "keep_mps")
    return argc > 2 ? cufault::keep_mps_daemon(std::chrono::seconds(std::stoi(argv[2])))
                    : cufault::keep_mps_daemon();
  // A runner that is itself killed while it has an MPS daemon.
  if (mode == "mps_host") {
    cufault::spawn_options options;
    options.argv = {argv[0], "keep_mps"};
    cufault::resident_process keeper(options);
    std::cout << keeper.ask("start", std::chrono::seconds(20), {}).text << std::endl;
    while (true) pause();
  }
  if (mode == "no_pidfd") {
    if (!without_pidfd()) return 77;
    cufault::spawn_options quick, hanging;
    quick.argv = {HOSTILE_CHILD, "exit", "7"};
    hanging.argv = {HOSTILE_CHILD, "hang_with_family"};
    hanging.timeout = std::chrono::milliseconds(2000);
    const auto first = run_process(quick, nullptr);
    const auto second = run_process(hanging, nullptr);
    std::cout << first.exit_code << " " << (second.how == cufault::ending::timed_out ? "timed out" : "ended")
              << " " << second.stragglers << "\n";
    return 0;
  }
  return 97;
}
