// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Ways in which a process ends without destructors, by which forked children of frameworks end; and in which it starts a program, which does
// not load this library where the environment that is given to it lacks LD_PRELOAD.
#include "harness/injector/calls.hpp"
#include "harness/injector/elf.hpp"

#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <type_traits>

namespace cufault::injector {
namespace {

/// The interposed definitions, found in advance: a signal handler and a child of vfork may call these anywhere.
struct definitions {
  decltype(&::_exit) end;
  decltype(&::execve) execve;
  decltype(&::execv) execv, execvp;
  decltype(&::posix_spawn) posix_spawn, posix_spawnp;
};
constinit definitions next{};

/// Before `real` starts a program with these variables.
template <class Function, class... Arguments>
int start(Function* const& real, char* const* variables, Arguments... arguments) {
  if (!preloads_injector(variables)) {
    read_environment();
    if (counts_are_of_this_process()) begin_counts_of_process();  // a forked child may have no file yet
    report_removed_preload();
  }
  if (real == nullptr) find_next_ends();  // before this library's constructor
  return real(arguments...);
}

}  // namespace

void find_next_ends() {
  const auto find = [](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(next_definition(name));
  };
  find(next.end, "_exit");
  find(next.execve, "execve");
  find(next.execv, "execv");
  find(next.execvp, "execvp");
  find(next.posix_spawn, "posix_spawn");
  find(next.posix_spawnp, "posix_spawnp");
}

}  // namespace cufault::injector

using namespace cufault::injector;

CUFAULT_EXPORTED void _exit(int status) {
  report_counts();
  if (next.end != nullptr) next.end(status);
  for (;;) syscall(SYS_exit_group, status);
}
CUFAULT_EXPORTED __attribute__((alias("_exit"))) void _Exit(int) noexcept;

CUFAULT_EXPORTED int execve(const char* file, char* const* words, char* const* variables) noexcept {
  return start(next.execve, variables, file, words, variables);
}
CUFAULT_EXPORTED int execv(const char* file, char* const* words) noexcept {
  return start(next.execv, environ, file, words);
}
CUFAULT_EXPORTED int execvp(const char* name, char* const* words) noexcept {
  return start(next.execvp, environ, name, words);
}
CUFAULT_EXPORTED int posix_spawn(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                                 const posix_spawnattr_t* attributes, char* const* words,
                                 char* const* variables) {
  return start(next.posix_spawn, variables, pid, file, actions, attributes, words, variables);
}
CUFAULT_EXPORTED int posix_spawnp(pid_t* pid, const char* name, const posix_spawn_file_actions_t* actions,
                                  const posix_spawnattr_t* attributes, char* const* words,
                                  char* const* variables) {
  return start(next.posix_spawnp, variables, pid, name, actions, attributes, words, variables);
}
