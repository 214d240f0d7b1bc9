// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Run by faults_test.cpp. Each word is a call whose result is printed: lost contexts, dropped work, call stacks.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "cufault/cufault_injector.h"

extern "C" {
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes);
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes);
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**);
int cuDriverGetVersion(int* version);
int cuCtxGetCurrent(const void** context);
int cuCtxSetCurrent(const void* context);
int cuCtxCreate_v2(const void** context, unsigned flags, int device);
int cuCtxDestroy_v2(const void* context);
int cuDevicePrimaryCtxReset_v2(int device);
int library_allocates(std::uint64_t* address, std::size_t bytes);
}

namespace {

constexpr int device = 3;

int allocate() {
  std::uint64_t address = 0;
  return cuMemAlloc_v2(&address, 1);
}

// Two call sites. Using the result afterwards prevents a tail call.
__attribute__((noinline)) int call_site() {
  const int result = allocate();
  asm volatile("" : : "r"(result));
  return result;
}
__attribute__((noinline)) int one_way() {
  const int result = call_site();
  asm volatile("" : : "r"(result));
  return result;
}
__attribute__((noinline)) int other_way() {
  const int result = call_site();
  asm volatile("" : : "r"(result), "r"(1));
  return result;
}
/// Two call sites of a library.
__attribute__((noinline)) int one_way_by_library() {
  std::uint64_t address = 0;
  const int result = library_allocates(&address, 1);
  asm volatile("" : : "r"(result));
  return result;
}
__attribute__((noinline)) int other_way_by_library() {
  std::uint64_t address = 0;
  const int result = library_allocates(&address, 1);
  asm volatile("" : : "r"(result), "r"(1));
  return result;
}
/// Deeper than a reported stack.
__attribute__((noinline)) int deep_way(int depth) {
  const int result = depth == 0 ? call_site() : deep_way(depth - 1);
  asm volatile("" : : "r"(result));
  return result;
}

struct contexts {
  const void *primary = nullptr, *made = nullptr;
};

std::string result_of(const std::string& word, contexts& all) {
  const auto said = [](int result) { return std::to_string(result); };
  switch (word[0]) {
    case 'a':
      return said(allocate());
    case 'm': {
      int there = 0;
      const int here = 7;
      const int result = cuMemcpyHtoD_v2(reinterpret_cast<std::uintptr_t>(&there), &here, sizeof here);
      return said(result) + ":" + said(there);
    }
    case 'v': {
      int version = 0;
      const int result = cuDriverGetVersion(&version);
      return said(result) + ":" + said(version);
    }
    case 'k':  // result of the fake driver with these arguments, if it is called
      return said(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 1, nullptr, nullptr, nullptr));
    case 'c':
      return said(cuCtxCreate_v2(&all.made, 0, device));
    case 'd':
      return said(cuCtxDestroy_v2(all.made));
    case 'r':
      return said(cuDevicePrimaryCtxReset_v2(device));
    case 'p':
      return said(cuCtxSetCurrent(all.primary));
    case 's':
      return said(cuCtxSetCurrent(all.made));
    case 'n':
      return said(cuCtxSetCurrent(nullptr));
    case 't': {
      int result = 0;
      std::thread([&] { result = allocate(); }).join();
      return said(result);
    }
    case 'f': {
      int status = 0;
      if (const pid_t child = fork(); child == 0)
        _exit(allocate());
      else
        waitpid(child, &status, 0);
      return said(WEXITSTATUS(status));
    }
    case '1':
      return said(one_way());
    case '2':
      return said(other_way());
    case '3':
      return said(one_way_by_library());
    case '4':
      return said(other_way_by_library());
    case 'e':
      reinterpret_cast<decltype(cufault_end_stacks_at_program)*>(
          dlsym(RTLD_DEFAULT, "cufault_end_stacks_at_program"))();
      return "ends";
    case '9':
      return said(deep_way(9));
    case '8': {
      std::vector<std::thread> threads;
      for (int i = 0; i < 8; ++i)
        threads.emplace_back([] {
          for (int call = 0; call < 500; ++call) one_way();
        });
      for (auto& each : threads) each.join();
      return "joined";
    }
    case '{': {
      void* const found = dlsym(RTLD_DEFAULT, "cufault_set_rules");
      return "set" + said(reinterpret_cast<decltype(cufault_set_rules)*>(found)(word.c_str()));
    }
    default:
      return "?";
  }
}

}  // namespace

int main(int count, char** words) {
  contexts all;
  cuCtxGetCurrent(&all.primary);
  std::string said;
  for (int i = 1; i < count; ++i) said += (i == 1 ? "" : " ") + result_of(words[i], all);
  std::printf("%s\n", said.c_str());
  return 0;
}
