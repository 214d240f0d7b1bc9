// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Run by tests of the injector with and without libcufault.so: reaches the fake driver in one way and prints the result.
#include <dlfcn.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cufault/cufault_injector.h"

struct ipc_handle {
  char bytes[64];
};
extern "C" {
int cuInit(unsigned);
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes);
int cuMemFree_v2(std::uint64_t address);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                   void**);
int cuTexRefSetMipmapLevelBias(void*, float);
int cuIpcOpenMemHandle_v2(std::uint64_t*, ipc_handle, unsigned);
void* library_resolves(const char* name);  // library.cpp: dlsym of libcuda.so.1, asked from there
void* library_resolves_next(const char* name);
int library_allocates(std::uint64_t* address, std::size_t bytes);
}

namespace {

template <class Function>
Function* as(void* address) {
  return reinterpret_cast<Function*>(address);
}
using alloc = int(std::uint64_t*, std::size_t);
using look_up_v1 = int(const char*, void**, int, std::uint64_t);
using look_up_v2 = int(const char*, void**, int, std::uint64_t, int*);

void* driver() {
  return dlopen("libcuda.so.1", RTLD_LAZY);
}

void* by_dlsym(const char* name) {
  return dlsym(driver(), name);
}

void* by_v2(const char* symbol) {
  void* found = nullptr;
  int status = 0;
  as<look_up_v2>(by_dlsym("cuGetProcAddress_v2"))(symbol, &found, 13000, 0, &status);
  return found;
}
void* by_v1(const char* symbol) {
  void* found = nullptr;
  as<look_up_v1>(by_dlsym("cuGetProcAddress"))(symbol, &found, 11030, 0);
  return found;
}
/// Like the runtime: asks the look-up function for the look-up function, and uses that.
void* by_looked_up_look_up(const char* symbol) {
  void* found = nullptr;
  int status = 0;
  as<look_up_v2>(by_v2("cuGetProcAddress"))(symbol, &found, 13000, 0, &status);
  return found;
}

std::uint64_t last_address = 0;
int allocate(alloc* function, std::size_t bytes = 100) {
  return function(&last_address, bytes);
}

/// Results of so many calls: "0 0 2 0".
void say_results(int calls, const std::function<int()>& call) {
  for (int i = 0; i < calls; ++i) std::printf("%s%d", i == 0 ? "" : " ", call());
  std::printf("\n");
  std::fflush(stdout);
}

void every_way() {
  const std::map<std::string, alloc*> ways{{"linked", cuMemAlloc_v2},
                                           {"dlsym", as<alloc>(by_dlsym("cuMemAlloc_v2"))},
                                           {"default", as<alloc>(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"))},
                                           {"library", as<alloc>(library_resolves("cuMemAlloc_v2"))},
                                           {"next", as<alloc>(library_resolves_next("cuMemAlloc_v2"))},
                                           {"v1", as<alloc>(by_v1("cuMemAlloc"))},
                                           {"v2", as<alloc>(by_v2("cuMemAlloc"))},
                                           {"again", as<alloc>(by_looked_up_look_up("cuMemAlloc"))}};
  for (const auto& [way, function] : ways)
    std::printf("%s %d\n", way.c_str(), function == nullptr ? -1 : allocate(function));
}

// NOLINTBEGIN(performance-no-int-to-ptr): numbers that are easy to find again
void arguments() {
  const auto p = [](std::uintptr_t n) { return reinterpret_cast<void*>(n); };
  void** const five = reinterpret_cast<void**>(std::uintptr_t{5});
  void** const six = reinterpret_cast<void**>(std::uintptr_t{6});
  std::printf("%d\n", cuLaunchKernel(p(1), 2, 3, 4, 5, 6, 7, 8, p(9), five, six));
  std::printf("%d\n", cuTexRefSetMipmapLevelBias(nullptr, 1.25F));
  ipc_handle handle{};
  handle.bytes[0] = 40, handle.bytes[63] = 2;
  std::uint64_t address = 0;
  const int result = cuIpcOpenMemHandle_v2(&address, handle, 7);
  std::printf("%d %d\n", result, static_cast<int>(address));
  std::printf("%d\n", as<int(int)>(by_v2("cuOfALaterDriver"))(41));
}
// NOLINTEND(performance-no-int-to-ptr)

void unusual_look_ups() {
  auto* v2 = as<look_up_v2>(by_dlsym("cuGetProcAddress_v2"));
  void* found = nullptr;
  std::printf("empty %d\n", v2("", &found, 13000, 0, nullptr));
  std::printf("null out %d\n", v2("cuInit", nullptr, 13000, 0, nullptr));
  std::printf("unknown %d\n", v2("cuNothing", &found, 13000, 0, nullptr));
  std::printf("symbol %s\n", by_dlsym("cuNothing") == nullptr ? "null" : "found");
  std::printf("other %s\n", dlsym(RTLD_DEFAULT, "cumulative") == nullptr ? "null" : "found");
  const void* table = nullptr;
  std::printf("table %d\n",
              as<int(const void**, const void*)>(by_dlsym("cuGetExportTable"))(&table, nullptr));
}

void threads(int count, int calls) {
  auto* linked = as<int(int*)>(by_v2("cuDriverGetVersion"));
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i)
    all.emplace_back([=] {
      int version = 0;
      for (int call = 0; call < calls; ++call) linked(&version);
    });
  for (auto& each : all) each.join();
}

void memory() {
  auto* allocating = as<alloc>(by_v2("cuMemAlloc"));
  auto* releasing = as<int(std::uint64_t)>(by_v2("cuMemFree"));
  auto* asking = as<int(std::size_t*, std::size_t*)>(by_v2("cuMemGetInfo"));
  const auto say_free = [&] {
    std::size_t free_bytes = 0, total_bytes = 0;
    asking(&free_bytes, &total_bytes);
    std::printf("free %zu of %zu\n", free_bytes, total_bytes);
  };
  say_free();
  std::printf("%d\n", allocate(allocating, 600));
  const auto first = last_address;
  say_free();
  std::printf("%d\n", allocate(allocating, 500));
  std::printf("%d\n", releasing(first));
  say_free();
  std::printf("%d\n", allocate(allocating, 1000));
  say_free();
}

void forked() {
  auto* version = as<int(int*)>(by_v2("cuDriverGetVersion"));
  int number = 0;
  for (int i = 0; i < 3; ++i) version(&number);
  std::fflush(stdout);
  if (const pid_t child = fork(); child == 0) {
    for (int i = 0; i < 5; ++i) version(&number);
    _exit(0);
  } else {
    waitpid(child, nullptr, 0);
  }
}

/// Beside an earlier fork handler that reads a variable.
void forks_beside_a_handler() {
  if (const pid_t child = fork(); child == 0)
    _exit(0);
  else
    waitpid(child, nullptr, 0);
  std::printf("forked\n");
}

/// Ends after three calls in one of the ways that skip destructors.
void ends(const std::string& how) {
  auto* version = as<int(int*)>(by_v2("cuDriverGetVersion"));
  int number = 0;
  for (int i = 0; i < 3; ++i) version(&number);
  if (how == "_exit") _exit(0);
  if (how == "_Exit") _Exit(0);
  if (how == "quick_exit") std::quick_exit(0);
  if (how == "vfork") {  // the child shares this process's memory, and calls nothing
    if (const pid_t child = vfork(); child == 0) {
      execl("/nonexistent", "nonexistent", nullptr);
      _exit(0);
    } else {
      waitpid(child, nullptr, 0);
    }
  }
  if (how == "within_malloc") {
    std::signal(SIGUSR1, [](int) { _exit(0); });
    std::printf("not interrupted: %p\n", std::malloc(4242));
  }
}

/// Any allocator's free() gets what the C library allocated for its callers.
void strings() {
  std::free(strdup("mine"));
  std::free(std::realloc(std::malloc(10), 20));
  std::free(std::aligned_alloc(64, 64));
  std::free(std::malloc(4243));
  std::printf("freed\n");
}

/// Words: JSON sets rules; a path is the log from then on; a600 allocates 600 bytes, l600 from another library; f frees the first
/// allocation; g asks for the free memory.
void script(char** words) {
  auto* allocating = as<alloc>(by_v2("cuMemAlloc"));
  auto* theirs = as<int(std::uint64_t*, std::size_t)>(library_resolves("calls_cuMemAlloc"));
  auto* releasing = as<int(std::uint64_t)>(by_v2("cuMemFree"));
  auto* asking = as<int(std::size_t*, std::size_t*)>(by_v2("cuMemGetInfo"));
  auto* set = as<decltype(cufault_set_rules)>(dlsym(RTLD_DEFAULT, "cufault_set_rules"));
  std::deque<std::uint64_t> held;
  std::string said;
  for (; *words != nullptr; ++words) {
    const char* const word = *words;
    if (*word == '{' && set(word) != 0) said += " refused";
    if (*word == '/') as<decltype(cufault_set_log)>(dlsym(RTLD_DEFAULT, "cufault_set_log"))(word);
    if (*word == 'a' || *word == 'l') {
      std::uint64_t address = 0;
      const auto bytes = static_cast<std::size_t>(std::atoi(word + 1));
      const int result = *word == 'a' ? allocating(&address, bytes) : theirs(&address, bytes);
      if (result == 0) held.push_back(address);
      said += " " + std::to_string(result);
    }
    if (*word == 'f') {
      said += " " + std::to_string(releasing(held.front()));
      held.pop_front();
    }
    if (*word == 'g') {
      std::size_t free_bytes = 0, total_bytes = 0;
      asking(&free_bytes, &total_bytes);
      said += " " + std::to_string(free_bytes);
    }
  }
  std::printf("%s\n", said.c_str());
}

/// Calls in a second thread, number 2, and in this one.
void two_threads() {
  auto* function = as<alloc>(by_v2("cuMemAlloc"));
  std::printf("%d\n", allocate(function));
  std::thread([&] { std::printf("%d\n", allocate(function)); }).join();
  std::printf("%d\n", allocate(function));
}

void set_rules() {
  auto* function = as<alloc>(by_v2("cuMemAlloc"));
  auto* set = as<decltype(cufault_set_rules)>(dlsym(RTLD_DEFAULT, "cufault_set_rules"));
  auto* why = as<decltype(cufault_rules_error)>(dlsym(RTLD_DEFAULT, "cufault_rules_error"));
  auto* calls = as<decltype(cufault_calls)>(dlsym(RTLD_DEFAULT, "cufault_calls"));
  auto* injections = as<decltype(cufault_injections)>(dlsym(RTLD_DEFAULT, "cufault_injections"));
  if (set == nullptr) return static_cast<void>(std::printf("not preloaded\n"));
  std::printf("%d\n", allocate(function));
  std::printf("set %d\n", set(R"({"rules": [{"function": "cuMemAlloc", "return": "OUT_OF_MEMORY"}]})"));
  std::printf("%d\n", allocate(function));
  const int refused = set(R"({"rules": [{"function": "cuMemAlloc", "return": "NOTHING"}]})");
  std::printf("set %d: %s\n", refused, why());
  std::printf("%d\n", allocate(function));
  std::printf("set %d\n", set(""));
  std::printf("%d\n", allocate(function));
  std::printf("%llu calls, %llu injections\n", calls("cuMemAlloc"), injections());
}

/// Replaces atomically, so that only a test itself makes half-written files.
void replace(const std::string& file, const char* text) {
  std::ofstream(file + ".new") << text;
  std::rename((file + ".new").c_str(), file.c_str());
}

/// Calls until one returns `expected`, as long as a test may last.
void call_until(alloc* function, int expected) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (allocate(function, 0) != expected && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::printf("%d\n", allocate(function, 0));
  std::fflush(stdout);
}

/// Waits until the rules in the file have changed the result of a call.
void reload(const std::string& file) {
  auto* function = as<alloc>(by_v2("cuMemAlloc"));
  int complaints[2];
  if (pipe(complaints) != 0 || dup2(complaints[1], STDERR_FILENO) < 0) return;
  const auto say_complaint = [&](int within_ms) {
    pollfd complained{complaints[0], POLLIN, 0};
    char line[512];
    if (poll(&complained, 1, within_ms) == 1)
      std::printf("%.*s", static_cast<int>(read(complaints[0], line, sizeof line)), line);
  };
  call_until(function, 0);
  replace(file, R"({"rules": [{"function": "cuMemAlloc", "return": "INVALID_VALUE"}]})");
  call_until(function, 1);
  replace(file, R"({"rules": [{"function": "cuMem)");
  say_complaint(20'000);
  std::printf("%d\n", allocate(function, 0));
  replace(file, R"({"rules": [{"function": "cuMemAlloc", "return": "OUT_OF_MEMORY"}]})");
  call_until(function, 2);
  say_complaint(0);
}

/// A forked child has only one of its parent's threads.
void reload_in_child(const std::string& file) {
  auto* function = as<alloc>(by_v2("cuMemAlloc"));
  allocate(function, 0);
  std::fflush(stdout);
  if (const pid_t child = fork(); child == 0) {
    allocate(function, 0);
    replace(file, R"({"rules": [{"function": "cuMemAlloc", "return": "INVALID_VALUE"}]})");
    call_until(function, 1);
    std::exit(0);
  } else {
    waitpid(child, nullptr, 0);
  }
}

/// Rules that a process sets itself stay in its child, although the file of its rules changed before.
void set_in_child(const std::string& file) {
  auto* function = as<alloc>(by_v2("cuMemAlloc"));
  auto* set = as<decltype(cufault_set_rules)>(dlsym(RTLD_DEFAULT, "cufault_set_rules"));
  allocate(function, 0);
  replace(file, R"({"rules": [{"function": "cuMemAlloc", "return": "INVALID_VALUE"}]})");
  call_until(function, 1);
  if (const pid_t child = fork(); child == 0) {
    set("");
    // Time for six looks of its watcher at the unchanged file.
    int failed = 0;
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
         std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
      failed += allocate(function, 0);
    std::printf("%d failed\n", failed);
    std::exit(0);
  } else {
    waitpid(child, nullptr, 0);
  }
}

/// A rule that acts once, and that stays when another one is added to the file.
void same_rules_again(const std::string& file) {
  auto* allocating = as<alloc>(by_v2("cuMemAlloc"));
  auto* version = as<int(int*)>(by_v2("cuDriverGetVersion"));
  int number = 0;
  std::printf("%d\n", allocate(allocating, 0));
  replace(
      file,
      R"({"rules": [{"function": "cuMemAlloc", "return": "INVALID_VALUE", "hits": 1}, {"driver_version": 7}]})");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (number != 7 && std::chrono::steady_clock::now() < end) {
    version(&number);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::printf("%d, version %d\n", allocate(allocating, 0), number);
}

/// Any function that makes a handle, such as "cublasCreate_v2 in libcublas.so.13".
void create(const char* library, const char* function) {
  void* loaded = dlopen(library, RTLD_NOW);
  if (loaded == nullptr) return static_cast<void>(std::printf("%s\n", dlerror()));
  void* handle = nullptr;
  std::printf("%s %d\n", function, as<int(void**)>(dlsym(loaded, function))(&handle));
}

void host_calls() {
  const auto say = [](const char* what, const void* got) {
    std::printf("%s %s\n", what, got != nullptr ? "+" : "-");
  };
  void* volatile memory = std::malloc(1234);
  say("malloc", memory);
  memory = std::calloc(1, 1234);
  say("calloc", memory);
  memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  say("mmap", memory == MAP_FAILED ? nullptr : memory);
  memory = mmap64(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  say("mmap64", memory == MAP_FAILED ? nullptr : memory);
  std::getenv("ASKED_BY_THE_PROBE");
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  const auto number = [&](int i) { return count > i ? std::atoi(words[i]) : 0; };
  if (what == "every_way") every_way();
  if (what == "arguments") arguments();
  if (what == "unusual_look_ups") unusual_look_ups();
  if (what == "threads") threads(number(2), number(3));
  if (what == "memory") memory();
  if (what == "fork") forked();
  if (what == "two_threads") two_threads();
  if (what == "set_rules") set_rules();
  if (what == "reload") reload(words[2]);
  if (what == "reload_in_child") reload_in_child(words[2]);
  if (what == "set_in_child") set_in_child(words[2]);
  if (what == "same_rules_again") same_rules_again(words[2]);
  if (what == "host_calls") host_calls();
  if (what == "ends") ends(words[2]);
  if (what == "forks_beside_a_handler") forks_beside_a_handler();
  if (what == "strings") strings();
  if (what == "script") script(words + 2);
  for (int i = 2; what == "create" && i + 1 < count; i += 2) create(words[i], words[i + 1]);
  if (what == "allocate") {
    auto* function = as<alloc>(by_v2("cuMemAlloc"));
    say_results(number(2), [&] { return allocate(function); });
  }
  if (what == "sizes") {
    auto* function = as<alloc>(by_v2("cuMemAlloc"));
    for (const std::size_t bytes : {10, 100, 1000}) std::printf("%d\n", allocate(function, bytes));
  }
  if (what == "version") {
    int version = 0;
    const int result = as<int(int*)>(by_v2("cuDriverGetVersion"))(&version);
    std::printf("%d %d\n", result, version);
  }
  if (what == "from_library") {
    auto* mine = as<alloc>(by_dlsym("cuMemAlloc_v2"));
    auto* theirs = as<int(std::uint64_t*, std::size_t)>(library_resolves("calls_cuMemAlloc"));
    std::printf("%d %d\n", allocate(mine), allocate(theirs));
  }
  if (what == "exported") {
    auto* hidden = as<int(std::uint64_t*, std::size_t)>(library_resolves("calls_cuMemAlloc"));
    std::printf("%d ", allocate(library_allocates));
    std::printf("%d\n", allocate(hidden));
  }
  if (what == "handed_over") {
    auto* mine = as<alloc>(by_dlsym("cuMemAlloc_v2"));
    auto* theirs = as<int(alloc*, std::uint64_t*, std::size_t)>(library_resolves("calls_another's"));
    for (int i = 0; i < 2; ++i) std::printf("%d %d\n", allocate(mine), theirs(mine, &last_address, 100));
  }
  return 0;
}
