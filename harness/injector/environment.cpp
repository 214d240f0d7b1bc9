// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The rules that the environment asks for: read before the first call, and again when their file changes.
#include "harness/injector/calls.hpp"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <exception>

namespace cufault::injector {
namespace {

struct file_state {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  timespec modified{};
  bool operator==(const file_state& other) const {
    return device == other.device && inode == other.inode && size == other.size &&
           modified.tv_sec == other.modified.tv_sec && modified.tv_nsec == other.modified.tv_nsec;
  }
};

file_state state_of(const char* file) {
  struct stat found {};
  if (stat(file, &found) != 0) return {};
  return {found.st_dev, found.st_ino, found.st_size, found.st_mtim};
}

/// As it was when its rules were read.
constinit file_state rules_read{};

/// A file that is half written, or gone, changes nothing; what it says is taken once it can be read.
void* watch(void* file_name) {
  const auto* file = static_cast<const char*>(file_name);
  const left_alone alone_now;  // for good
  file_state taken = rules_read;
  file_state before = taken;
  for (;;) {
    const timespec pause{0, 50'000'000};
    nanosleep(&pause, nullptr);
    const file_state now = state_of(file);
    const bool at_rest = now == before;  // an editor empties a file before it writes
    before = now;
    if (!at_rest || now == taken) continue;
    taken = now;
    if (now == file_state{}) continue;
    try {
      replace_rules(rules_of(file, environment("CUFAULT_FAIL")));
    } catch (const std::exception& error) {
      // What was written meanwhile is looked at next.
      if (state_of(file) == now) say(std::string(error.what()) + "; the rules from before go on to hold");
    }
  }
}

}  // namespace

const char* environment(const char* variable) {
  const std::size_t length = strlen(variable);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (strncmp(*entry, variable, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return nullptr;
}

void read_environment() {
  static constinit std::atomic<bool> begun{false};
  if (begun.exchange(true)) return;
  const left_alone alone_now;
  try {
    const char* rules = environment("CUFAULT_RULES");
    if (rules != nullptr) rules_read = state_of(rules);
    replace_rules(rules_of(rules, environment("CUFAULT_FAIL")));
    return;
  } catch (const std::exception& error) {
    const char* strict = environment("CUFAULT_STRICT");
    const bool stop = strict != nullptr && *strict != '\0';
    say(std::string(error.what()) + (stop ? "" : "; going on without injection"));
    if (stop) _exit(2);
  }
  replace_rules({});
}

void watch_rules() {
  const char* file = environment("CUFAULT_RULES");
  if (file == nullptr || *file == '\0' || *file == '{') return;
  static constinit std::atomic<pid_t> watched_in{0};  // a forked child has no such thread
  const pid_t here = getpid();
  if (watched_in.exchange(here) == here) return;
  const left_alone alone_now;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, watch, const_cast<char*>(file)) == 0)
    pthread_detach(thread);
  else
    say("no thread could be started to watch the rules; they do not reload");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace cufault::injector

namespace {

/// Looks nothing up: the driver may not even be there yet.
__attribute__((constructor)) void begin() {
  cufault::injector::read_environment();
}

}  // namespace
