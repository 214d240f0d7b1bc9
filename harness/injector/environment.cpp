// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Reads the rules of the environment before the first call, and again when their file changes.
#include "harness/injector/calls.hpp"
#include "harness/injector/library_functions.hpp"

#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <utility>

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

/// State of the file when this process, or the process it was forked from, last read the rules.
constinit file_state rules_taken{};
constinit std::atomic<const settings*> what_was_asked{nullptr};  // never freed
constinit std::atomic<bool> reload{true};                        // read the file again when it changes

std::string absolute(std::string path) {
  char folder[PATH_MAX];
  if (path.empty() || path.front() == '/' || getcwd(folder, sizeof folder) == nullptr) return path;
  return std::string(folder) + '/' + path;
}

const settings* read_settings() {
  const auto text = [](const char* variable) {
    const char* value = environment(variable);
    return std::string(value != nullptr ? value : "");
  };
  const std::string rules = text("CUFAULT_RULES"), strict = text("CUFAULT_STRICT");
  return new settings{absolute(text("CUFAULT_LOG")),
                      rules.starts_with('{') ? rules : absolute(rules),
                      text("CUFAULT_FAIL"),
                      absolute(text("CUFAULT_COUNTS")),
                      absolute(text("CUFAULT_WATCH")),
                      absolute(text("CUFAULT_CAPTURE")),
                      !strict.empty() && strict != "0"};
}

bool are_in_a_file(const settings& asked) {
  return !asked.rules.empty() && !asked.rules.starts_with('{');
}

/// Puts the rules of the file and the texts into effect. Throws input_error.
void take_rules(const settings& asked, counts_of_rules counting) {
  const rule_set rules = rules_of(asked.rules, asked.fail);
  try {
    replace_rules(rules, counting);
  } catch (const input_error& error) {
    throw input_error(are_in_a_file(asked) ? asked.rules + ": " + error.what() : error.what());
  }
  reload = rules.reload;
}

/// Ignores a missing or half-written file; its rules are taken once it can be read.
void* watch(void*) {
  const char* file = asked_for().rules.c_str();
  const exempt_from_rules alone_now;  // for the life of this thread
  file_state before = rules_taken;
  while (reload) {
    const timespec pause{0, 50'000'000};
    nanosleep(&pause, nullptr);
    const file_state now = state_of(file);
    const bool at_rest = now == before;  // an editor empties a file before it writes
    before = now;
    if (!at_rest || now == rules_taken) continue;
    rules_taken = now;
    if (now == file_state{}) continue;
    try {
      take_rules(asked_for(), counts_of_rules::go_on);
    } catch (const std::exception& error) {
      // The next round looks at a file that changed meanwhile.
      if (state_of(file) == now) say(std::string(error.what()) + "; the rules from before go on to hold");
    }
  }
  return nullptr;
}

const char* value_in(char* const* variables, const char* variable) {
  const std::size_t length = strlen(variable);
  for (char* const* entry = variables; entry != nullptr && *entry != nullptr; ++entry) {
    if (strncmp(*entry, variable, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return nullptr;
}

}  // namespace

const char* environment(const char* variable) {
  return value_in(environ, variable);
}

bool preloads_injector(char* const* variables) {
  const char* preload = value_in(variables, "LD_PRELOAD");
  return preload != nullptr && strstr(preload, "libcufault") != nullptr;
}

const char* program_path() {
  static char path[PATH_MAX];
  if (path[0] == '\0' && readlink("/proc/self/exe", path, sizeof path - 1) < 0) path[0] = '\0';
  return path;
}

const settings& asked_for() {
  return *what_was_asked;
}

bool watching() {
  const settings* asked = what_was_asked;
  return asked != nullptr && !asked->watch.empty();
}

bool captures(const known_library* of) {
  const settings* asked = what_was_asked;
  return asked != nullptr && !asked->capture.empty() && of != nullptr &&
         (of->name == "cublas" || of->name == "cublasLt");
}

void log_to(const char* file) {
  // Each name is stored once and never freed, since other threads may be reading it.
  static constinit pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static auto* const known = new std::map<std::string, settings>;
  std::string log = absolute(file != nullptr ? file : "");
  pthread_mutex_lock(&mutex);
  const auto [found, is_new] = known->try_emplace(log, asked_for());
  if (is_new) found->second.log = std::move(log);
  what_was_asked = &found->second;
  pthread_mutex_unlock(&mutex);
}

void read_environment() {
  static constinit std::atomic<bool> begun{false}, done{false};
  if (done) return;
  if (begun.exchange(true)) {
    // No rule applies to this thread's own calls meanwhile; another thread waits.
    while (!done && !exempt_from_rules::now()) sched_yield();
    return;
  }
  const exempt_from_rules alone_now;
  struct mark_finished {
    mark_finished() = default;
    ~mark_finished() { done = true; }
    mark_finished(const mark_finished&) = delete;
    mark_finished& operator=(const mark_finished&) = delete;
  } const end;
  what_was_asked = read_settings();
  const settings& asked = asked_for();
  try {
    rules_taken = state_of(asked.rules.c_str());
    take_rules(asked, counts_of_rules::begin_anew);
    return;
  } catch (const std::exception& error) {
    say(std::string(error.what()) + (asked.strict ? "" : "; going on without injection"));
    if (asked.strict) _exit(2);
  }
  replace_rules({}, counts_of_rules::begin_anew);
}

void begin_anew(const std::string& rules, const std::string& fail) {
  auto* now = new settings{asked_for()};
  now->rules = rules;
  now->fail = fail;
  what_was_asked = now;
  setenv("CUFAULT_RULES", rules.c_str(), 1);
  setenv("CUFAULT_FAIL", fail.c_str(), 1);
  try {
    take_rules(*now, counts_of_rules::begin_anew);
  } catch (const std::exception& error) {
    say(error.what());
    _exit(2);
  }
  report_beginning();
}

void watch_rules() {
  read_environment();
  if (!are_in_a_file(asked_for()) || !reload) return;
  static constinit std::atomic<pid_t> watched_in{0};  // a forked child lacks this thread
  const pid_t here = getpid();
  if (watched_in.exchange(here) == here) return;
  const exempt_from_rules alone_now;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, watch, nullptr) == 0)
    pthread_detach(thread);
  else
    say("no thread could be started to watch the rules; they do not reload");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void watch_rules_beside_libraries() {
  if (!are_in_a_file(asked_for())) return;
  const auto is_one = [](dl_phdr_info* file, std::size_t, void*) {
    const auto all = libraries();
    return std::any_of(all.begin(), all.end(),
                       [&](const known_library& of) { return is_file_of(of, file_name(file->dlpi_name)); })
               ? 1
               : 0;
  };
  const exempt_from_rules alone_now;
  if (dl_iterate_phdr(is_one, nullptr) != 0) watch_rules();
}

}  // namespace cufault::injector

namespace {

/// Does not look up the driver, which may not be loaded yet.
__attribute__((constructor)) void begin() {
  const cufault::injector::exempt_from_rules alone_now;
  cufault::injector::read_environment();
  cufault::injector::begin_counts_of_process();
  cufault::injector::report_beginning();
  cufault::injector::find_next_ends();
  cufault::injector::watch_rules_beside_libraries();
}

}  // namespace
