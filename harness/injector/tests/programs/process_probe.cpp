// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Run by harmless_test.cpp: processes with an unusual library, stack, thread or end.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "cufault/cufault_injector.h"

extern "C" {
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes);
int cuCtxSynchronize();
int cuDriverGetVersion(int* version);
int cuDeviceGetName(char* name, int size, int device);
}

namespace {

using alloc = int(std::uint64_t*, std::size_t);

template <class Function>
Function* as(void* address) {
  return reinterpret_cast<Function*>(address);
}

std::uint64_t address = 0;

void* looked_up(const char* symbol) {
  void* found = nullptr;
  int status = 0;
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  as<int(const char*, void**, int, std::uint64_t, int*)>(dlsym(driver, "cuGetProcAddress_v2"))(
      symbol, &found, 13000, 0, &status);
  return found;
}

/// Each allocation, by each way to the function.
void ways(std::size_t bytes) {
  const auto say = [&](const char* way, alloc* function) {
    std::printf("%s: ", way);
    std::printf("%d\n", function != nullptr ? function(&address, bytes) : -1);
  };
  say("linked", cuMemAlloc_v2);
  say("dlsym", as<alloc>(dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuMemAlloc_v2")));
  say("next", as<alloc>(dlsym(RTLD_NEXT, "cuMemAlloc_v2")));
  say("looked up", as<alloc>(looked_up("cuMemAlloc")));
  std::printf("nothing: %d\n", dlsym(RTLD_NEXT, "cuNothing") != nullptr);
  std::printf("told why: %d\n", dlerror() != nullptr);
}

/// So many allocations by each of two threads.
void in_two_threads(int times) {
  const auto allocates = [times] {
    std::uint64_t own = 0;
    for (int i = 0; i < times; ++i) cuMemAlloc_v2(&own, 1);
  };
  std::thread other(allocates);
  allocates();
  other.join();
}

ucontext_t outside, fiber;
int fiber_result = 0;

void in_fiber() {
  fiber_result = cuMemAlloc_v2(&address, 1);
}

/// A first call from a stack that ends at an inaccessible page.
void guarded_fiber() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = 16 * page;
  auto* stack = static_cast<char*>(
      mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(stack + size, page, PROT_NONE);
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = size;
  fiber.uc_link = &outside;
  makecontext(&fiber, in_fiber, 0);
  swapcontext(&outside, &fiber);
  std::printf("%d\n", fiber_result);
}

/// Cancelled at its first wait: in the injector, or in the driver.
void cancelled_in(void* (*work)(void*)) {
  pthread_t thread{};
  pthread_create(&thread, nullptr, work, nullptr);
  pthread_cancel(thread);
  void* result = nullptr;
  pthread_join(thread, &result);
  std::printf("%s\n", result == PTHREAD_CANCELED ? "cancelled" : "ended");
}

void* allocates(void*) {
  cuMemAlloc_v2(&address, 1);
  pthread_testcancel();
  return nullptr;
}
void* waits_in_driver(void*) {
  cuCtxSynchronize();  // for ever
  return nullptr;
}

/// Cancelled before it calls, so that the first wait or write inside would end it.
template <class Function>
void cancelled_before(const Function& function) {
  int result = -1;
  std::thread([&] {
    pthread_cancel(pthread_self());
    result = function();
  }).join();
  std::printf("returned %d\n", result);
}

int allocates_by_new() {
  try {
    ::operator delete(::operator new(54321));
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

/// The files in which the program finds host functions.
void files_of(char** names) {
  for (; *names != nullptr; ++names) {
    Dl_info found{};
    void* at = dlsym(RTLD_DEFAULT, *names);
    std::printf("%s %s\n", *names, at != nullptr && dladdr(at, &found) != 0 ? found.dli_fname : "nowhere");
  }
}

/// Pages that a forked child had to copy, beside so many threads that called the driver.
void fork_beside_threads(int count) {
  pthread_barrier_t called, over;
  pthread_barrier_init(&called, nullptr, static_cast<unsigned>(count) + 1);
  pthread_barrier_init(&over, nullptr, static_cast<unsigned>(count) + 1);
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i)
    all.emplace_back([&] {
      int version = 0;
      cuDriverGetVersion(&version);
      pthread_barrier_wait(&called);
      pthread_barrier_wait(&over);
    });
  pthread_barrier_wait(&called);
  if (const pid_t child = fork(); child == 0) {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    int version = 0;
    cuDriverGetVersion(&version);
    std::printf("%s %d\n", used.ru_minflt < 10L * count ? "few pages" : "many pages", version);
    std::exit(0);
  } else {
    waitpid(child, nullptr, 0);
  }
  pthread_barrier_wait(&over);
  for (auto& each : all) each.join();
}

/// What 10,000 sets of rules, each followed by a call, leave behind.
void rules_often() {
  auto* set = as<decltype(cufault_set_rules)>(dlsym(RTLD_DEFAULT, "cufault_set_rules"));
  const auto some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      set((R"({"rules": [{"function": "cuMem*Alloc*", "caller": "application", "return": "OUT_OF_MEMORY", "seed": )" +
           std::to_string(i % 7) + "}]}")
              .c_str());
      cuMemAlloc_v2(&address, 0);
      set("");
    }
  };
  some(1000);
  const std::size_t before = mallinfo2().uordblks;
  some(10'000);
  const std::size_t after = mallinfo2().uordblks;
  std::printf("%s\n", after < before + 65536 ? "nothing" : std::to_string(after - before).c_str());
}

void budgets(const std::string& what) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
  const auto call = [&](const char* name, auto... arguments) {
    const int result = as<int(decltype(arguments)...)>(dlsym(driver, name))(arguments...);
    std::printf(" %d", result);
  };
  const auto allocate = [&](std::size_t bytes) { call("cuMemAlloc_v2", &address, bytes); };
  const auto free_bytes = [&] {
    std::size_t left = 0, total = 0;
    as<int(std::size_t*, std::size_t*)>(dlsym(driver, "cuMemGetInfo_v2"))(&left, &total);
    std::printf(" free %zu", left);
  };
  std::uint64_t handle = 0, again = 0;
  constexpr std::uint64_t place = 0x100000, size = 0x1000;
  constexpr unsigned long long no_flags = 0;
  const auto create_and_map = [&](std::uint64_t at) {
    call("cuMemCreate", &handle, std::size_t{400}, static_cast<const void*>(nullptr), no_flags);
    call("cuMemMap", at, std::size_t{size}, std::size_t{0}, handle, no_flags);
    call("cuMemRelease", handle);  // like the samples: the mapping keeps the memory
  };
  if (what == "mapped") {
    create_and_map(place);
    create_and_map(place + size);
    free_bytes();
    call("cuMemCreate", &handle, std::size_t{400}, static_cast<const void*>(nullptr), no_flags);
    call("cuMemUnmap", place, std::size_t{2 * size});
    free_bytes();
  }
  if (what == "retained") {
    create_and_map(place);
    call("cuMemRetainAllocationHandle", &again, place);
    call("cuMemUnmap", place, std::size_t{size});
    free_bytes();
    call("cuMemRelease", again);
    free_bytes();
  }
  if (what == "reset" || what == "released") {
    const void* primary = nullptr;
    if (std::getenv("FAKE_PRIMARY_STATE") != nullptr) call("cuDevicePrimaryCtxRetain", &primary, 3);
    allocate(600);
    call(what == "reset" ? "cuDevicePrimaryCtxReset_v2" : "cuDevicePrimaryCtxRelease_v2", 3);
    free_bytes();
    allocate(600);
  }
  if (what == "destroyed") {
    allocate(100);
    const void* context = nullptr;
    call("cuCtxCreate_v2", &context, 0U, 3);
    allocate(600);
    call("cuDevicePrimaryCtxRetain", &context, 3);
    call("cuDevicePrimaryCtxRelease_v2", 3);  // others still hold it
    const void* current = nullptr;
    call("cuCtxGetCurrent", &current);
    call("cuCtxDestroy_v2", current);
    free_bytes();
  }
  if (what == "pool") {
    void* pool = nullptr;
    call("cuMemPoolCreate", &pool, static_cast<const void*>(nullptr));
    call("cuMemAllocFromPoolAsync", &address, std::size_t{600}, pool, static_cast<void*>(nullptr));
    call("cuMemPoolDestroy", pool);
    free_bytes();
    call("cuMemFreeAsync", address, static_cast<void*>(nullptr));
    free_bytes();
  }
  std::printf("\n");
}

/// The frames that the driver sees in a call, and the call's result.
void frames() {
  for (int i = 0; i < 2; ++i) {  // a thread's first call takes another path
    std::string name(4096, '\0');
    const int result = cuDeviceGetName(name.data(), static_cast<int>(name.size()), 0);
    std::printf("%d %s\n", result, name.c_str());
  }
}

/// An allocation by a library that was opened in an unusual way and resolves the function itself.
void opened(const std::string& how, const char* library) {
  void* loaded = how == "namespace" ? dlmopen(LM_ID_NEWLM, library, RTLD_NOW)
                                    : dlopen(library, RTLD_NOW | (how == "deepbind" ? RTLD_DEEPBIND : 0));
  if (loaded == nullptr) return static_cast<void>(std::printf("%s\n", dlerror()));
  auto* resolves = as<void*(const char*)>(dlsym(loaded, "library_resolves"));
  std::printf("%d\n", as<alloc>(resolves("calls_cuMemAlloc"))(&address, 1));
}

/// Calls a library's function without arguments so often, opened and looked up as by Python's NVML.
void calls(const char* library, const char* name, int count) {
  auto* function = as<int()>(dlsym(dlopen(library, RTLD_NOW | RTLD_LOCAL), name));
  for (int i = 0; i < count; ++i) std::printf("%s%d", i == 0 ? "" : " ", function());
  std::printf("\n");
}

void host() {
  std::printf("%s\n", std::getenv("ASKED_OF_THE_LIBRARY"));
  std::fflush(stdout);
  static_cast<void>(mmap(nullptr, 12345, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  _exit(0);
}

/// Asks the first version of the look-up function for the look-up function.
void looks_up_twice() {
  using look_up = int(const char*, void**, int, std::uint64_t);
  auto* first = as<look_up>(dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuGetProcAddress"));
  void* again = nullptr;
  void* found = nullptr;
  first("cuGetProcAddress", &again, 11030, 0);
  as<look_up>(again)("cuOfALaterDriver", &found, 13000, 0);
  std::printf("%d\n", as<int(int)>(found)(41));
}

/// Three calls here and two in another thread, then an end.
void ends(const std::string& how, char** words) {
  int version = 0;
  for (int i = 0; i < 3; ++i) cuDriverGetVersion(&version);
  std::thread([&] {
    for (int i = 0; i < 2; ++i) cuDriverGetVersion(&version);
  }).join();
  std::fflush(stdout);
  if (how == "segv") std::raise(SIGSEGV);
  if (how == "abort") std::abort();
  if (how == "kill") std::raise(SIGKILL);
  if (how == "_exit") _exit(0);
  if (how == "exec") execvp(words[0], words);
  if (how == "fork" && fork() == 0) {
    cuDriverGetVersion(&version);
    std::raise(SIGKILL);
  }
  while (wait(nullptr) > 0) {
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what == "ways") ways(static_cast<std::size_t>(std::atoi(words[2])));
  if (what == "looks_up_twice") looks_up_twice();
  if (what == "in_two_threads") in_two_threads(std::atoi(words[2]));
  if (what == "fiber") guarded_fiber();
  if (what == "cancelled_in_delay") cancelled_in(allocates);
  if (what == "cancelled_in_driver") cancelled_in(waits_in_driver);
  if (what == "cancelled_before_call") cancelled_before([] { return cuMemAlloc_v2(&address, 1); });
  if (what == "cancelled_before_call_of") {
    auto* of = as<int(void*, int*)>(dlsym(dlopen(words[2], RTLD_NOW | RTLD_LOCAL), words[3]));
    cancelled_before([&] {
      int version = 0;
      return of(nullptr, &version);
    });
  }
  if (what == "new") std::printf("%d\n", allocates_by_new());
  if (what == "files_of") files_of(words + 2);
  if (what == "fork_beside_threads") fork_beside_threads(std::atoi(words[2]));
  if (what == "rules_often") rules_often();
  if (what == "budgets") budgets(words[2]);
  if (what == "host") host();
  if (what == "calls") calls(words[2], words[3], std::atoi(words[4]));
  if (what == "frames") frames();
  if (what == "opened") opened(words[2], words[3]);
  if (what == "ends") ends(words[2], words + 3);
  return 0;
}
