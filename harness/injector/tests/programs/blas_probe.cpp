// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A program that calls cuBLAS (fake_blas.cpp) in each way that programs do. Built with a link to it, and without.
#include "harness/injector/tests/programs/blas_user.hpp"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cufault/cufault_injector.h"

namespace {

template <class Function>
Function* as(void* address) {
  return reinterpret_cast<Function*>(address);
}

void* load(const char* file) {
  void* loaded = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    std::printf("%s\n", dlerror());
    std::exit(1);
  }
  return loaded;
}

/// Calls `multiplies` N times: prints each status and the result.
template <class Multiplies>
void say(int n, const Multiplies& multiplies) {
  float c = 0;
  std::string said;
  for (int i = 0; i < n; ++i) said += std::to_string(multiplies(&c)) + " ";
  std::printf("%smade %g\n", said.c_str(), static_cast<double>(c));
}

using sgemm = decltype(cublasSgemm_v2);

int multiply(sgemm* function, float* c) {
  const int status = function(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, c, 1);
  return status + 0;  // prevents a tail call
}

void* number(std::uintptr_t n) {
  return reinterpret_cast<void*>(n);  // NOLINT(performance-no-int-to-ptr): easy to find again
}

int call_with_many_arguments(decltype(cublasGemmStridedBatchedEx)* function) {
  return function(number(1), 2, 3, 4, 5, 6, number(7), number(8), 9, 10, 11, number(12), 13, 14, 15,
                  number(16), number(17), 18, 19, 20, 21, 22, 23);
}

/// FILE FUNCTION: the file that a function lies in, as dlsym gives it.
void where(const char* file, const char* function) {
  Dl_info info{};
  void* found = dlsym(load(file), function);
  const bool known = found != nullptr && dladdr(found, &info) != 0;
  std::printf("%s\n", known ? std::strrchr(info.dli_fname, '/') + 1 : "nowhere");
}

void threads(const char* file, int count, int calls) {
  auto* function = as<sgemm>(dlsym(load(file), "cublasSgemm_v2"));
  std::atomic<int> failed{0};
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i)
    all.emplace_back([&] {
      float c = 0;
      for (int j = 0; j < calls; ++j) failed += multiply(function, &c) != 0 ? 1 : 0;
    });
  for (auto& each : all) each.join();
  std::printf("%d failed\n", failed.load());
}

void set_rules(const char* rules) {
  auto* set = as<decltype(cufault_set_rules)>(dlsym(RTLD_DEFAULT, "cufault_set_rules"));
  auto* why = as<decltype(cufault_rules_error)>(dlsym(RTLD_DEFAULT, "cufault_rules_error"));
  const int result = set(rules);
  std::printf("set %d%s\n", result, result != 0 ? why() : "");
}

/// Replaces a file of rules, at once, and prints what is then said on standard error.
void reload(const std::string& file, const char* rules) {
  int complaints[2];
  if (pipe(complaints) != 0 || dup2(complaints[1], STDERR_FILENO) < 0) return;
  std::ofstream(file + ".new") << rules;
  std::rename((file + ".new").c_str(), file.c_str());
  pollfd complained{complaints[0], POLLIN, 0};
  char line[1024];
  if (poll(&complained, 1, 20'000) == 1)
    std::printf("%.*s", static_cast<int>(read(complaints[0], line, sizeof line)), line);
}

#ifdef LINKED
int call_gemm_ex(decltype(cublasGemmEx)* function) {
  return function(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 0, 1, nullptr, 0, 1, nullptr, nullptr, 0, 1, 0,
                  0);
}

void linked(const std::string& what, int n) {
  if (what == "linked") say(n, [](float* c) { return multiply(cublasSgemm_v2, c); });
  if (what == "default")
    say(n, [](float* c) { return multiply(as<sgemm>(dlsym(RTLD_DEFAULT, "cublasSgemm_v2")), c); });
  if (what == "next")
    say(n, [](float* c) { return multiply(as<sgemm>(dlsym(RTLD_NEXT, "cublasSgemm_v2")), c); });
  if (what == "wide")
    say(n, [](float* c) {
      return cublasSgemm_v2_64(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, c, 1) + 0;
    });
  if (what == "arguments") std::printf("%d\n", call_with_many_arguments(cublasGemmStridedBatchedEx));
  // A cancelled thread calls for the first time.
  if (what == "cancelled")
    say(n, [](float* c) {
      int status = -1;
      std::thread([&] {
        pthread_cancel(pthread_self());
        status = multiply(cublasSgemm_v2, c);
      }).join();
      return status;
    });
  if (what == "nested") std::printf("%d\n", call_gemm_ex(cublasGemmEx));
}
#endif

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::string what = words[i];
    const auto word = [&] { return ++i < count ? words[i] : nullptr; };
    const auto n = [&] { return std::atoi(word()); };
    if (what == "plugin") {
      void* user = load(word());
      say(n(), as<int(float*)>(dlsym(user, "user_multiplies")));
    } else if (what == "version") {
      std::printf("%d\n", as<int()>(dlsym(load(word()), "user_version"))());
    } else if (what == "dlsym") {
      auto* function = as<sgemm>(dlsym(load(word()), "cublasSgemm_v2"));
      say(n(), [&](float* c) { return multiply(function, c); });
    } else if (what == "again") {  // closed and opened
      const char* file = word();
      for (int j = 0; j < 2; ++j) {
        void* loaded = load(file);
        auto* function = as<sgemm>(dlsym(loaded, "cublasSgemm_v2"));
        say(1, [&](float* c) { return multiply(function, c); });
        dlclose(loaded);
      }
    } else if (what == "unloaded") {
      std::printf("%s\n", dlsym(RTLD_DEFAULT, "cublasSgemm_v2") == nullptr ? "null" : "there");
    } else if (what == "where") {
      const char* file = word();
      where(file, word());
    } else if (what == "threads") {
      const char* file = word();
      const int threads_wanted = n();
      threads(file, threads_wanted, n());
    } else if (what == "arguments_of") {
      void* function = dlsym(load(word()), "cublasGemmStridedBatchedEx");
      std::printf("%d\n", call_with_many_arguments(as<decltype(cublasGemmStridedBatchedEx)>(function)));
    } else if (what == "reload") {
      const char* file = word();
      reload(file, word());
    } else if (what == "set") {
      set_rules(word());
    } else {
#ifdef LINKED
      linked(what, n());
#endif
    }
  }
  return 0;
}
