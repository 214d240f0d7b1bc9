// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Ways in which a process ends without destructors, by which forked children of frameworks end; and in which it starts a program, which does
// not load this library where the environment that is given to it lacks LD_PRELOAD.
#include "harness/injector/calls.hpp"
#include "harness/injector/elf.hpp"

#include <alloca.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <type_traits>

namespace cufault::injector {
namespace {

/// Each function that starts a program, but those that take words one by one: what it returns, its name and parameters, the environment that
/// it gives, and its arguments.
#define CUFAULT_EACH_START(START)                                                                         \
  START(int, execve, (const char* file, char* const* words, char* const* variables) noexcept, variables,  \
        file, words, variables)                                                                           \
  START(int, execvpe, (const char* name, char* const* words, char* const* variables) noexcept, variables, \
        name, words, variables)                                                                           \
  START(int, fexecve, (int file, char* const* words, char* const* variables) noexcept, variables, file,   \
        words, variables)                                                                                 \
  START(int, execv, (const char* file, char* const* words) noexcept, environ, file, words)                \
  START(int, execvp, (const char* name, char* const* words) noexcept, environ, name, words)               \
  START(int, posix_spawn,                                                                                 \
        (pid_t * pid, const char* file, const posix_spawn_file_actions_t* actions,                        \
         const posix_spawnattr_t* attributes, char* const* words, char* const* variables),                \
        variables, pid, file, actions, attributes, words, variables)                                      \
  START(int, posix_spawnp,                                                                                \
        (pid_t * pid, const char* name, const posix_spawn_file_actions_t* actions,                        \
         const posix_spawnattr_t* attributes, char* const* words, char* const* variables),                \
        variables, pid, name, actions, attributes, words, variables)                                      \
  START(int, system, (const char* command), command != nullptr ? environ : &nothing_starts, command)      \
  START(FILE*, popen, (const char* command, const char* type), environ, command, type)

/// The interposed definitions, found in advance: a signal handler and a child of vfork may call these anywhere.
struct definitions {
  decltype(&::_exit) end;
#define CUFAULT_DECLARED(result, name, ...) decltype(&::name) name;
  CUFAULT_EACH_START(CUFAULT_DECLARED)
};
constinit definitions next{};

/// In place of an environment: system(nullptr) only asks whether there is a shell.
constinit char* nothing_starts = nullptr;

/// Before `real` starts a program with these variables.
template <class Function, class... Arguments>
auto start(Function* const& real, char* const* variables, Arguments... arguments) {
  if (variables != &nothing_starts && !preloads_injector(variables)) {
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
#define CUFAULT_FOUND(result, name, ...) find(next.name, #name);
  CUFAULT_EACH_START(CUFAULT_FOUND)
}

}  // namespace cufault::injector

using namespace cufault::injector;

CUFAULT_EXPORTED void _exit(int status) {
  report_counts();
  if (next.end != nullptr) next.end(status);
  for (;;) syscall(SYS_exit_group, status);
}
CUFAULT_EXPORTED __attribute__((alias("_exit"))) void _Exit(int) noexcept;

#define CUFAULT_DEFINED(result, name, parameters, variables, ...) \
  CUFAULT_EXPORTED result name parameters {                       \
    return start(next.name, variables, __VA_ARGS__);              \
  }
CUFAULT_EACH_START(CUFAULT_DEFINED)

// Those that take words one by one: the C library's own would not come to the functions above.
#define CUFAULT_DEFINED_BY_WORDS(name, becomes, ...)                                         \
  CUFAULT_EXPORTED int name(const char* file, const char* word, ...) noexcept {              \
    va_list all;                                                                             \
    std::size_t count = 0;                                                                   \
    va_start(all, word);                                                                     \
    for (const char* each = word; each != nullptr; each = va_arg(all, const char*)) ++count; \
    va_end(all);                                                                             \
    auto** const words = static_cast<char**>(alloca((count + 1) * sizeof(char*)));           \
    words[0] = const_cast<char*>(word);                                                      \
    va_start(all, word);                                                                     \
    for (std::size_t i = 1; i <= count; ++i) words[i] = va_arg(all, char*);                  \
    const int failed = becomes(file, words __VA_ARGS__);                                     \
    va_end(all);                                                                             \
    return failed;                                                                           \
  }
CUFAULT_DEFINED_BY_WORDS(execl, execv)
CUFAULT_DEFINED_BY_WORDS(execlp, execvp)
CUFAULT_DEFINED_BY_WORDS(execle, execve, , va_arg(all, char**))
