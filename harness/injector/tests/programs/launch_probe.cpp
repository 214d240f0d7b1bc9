// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A program that launches kernels and asks for the last error. Its words are calls; it prints their results in one line, then the number of
// launches. A word after "thread" is called in its own thread.
#include "harness/injector/tests/programs/fake_cudart.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "cufault/cufault_injector.h"

namespace {

int made = 0;

/// A function of the runtime that launches, in either form.
template <class Launch>
int launch(Launch* function) {
  void* arguments[]{&made};
  return function(nullptr, {1, 2, 3}, {4, 5, 6}, arguments, 7, nullptr) + 0;  // prevents a tail call
}

int allocate(std::size_t bytes) {
  void* pointer = nullptr;
  return cudaMalloc(&pointer, bytes) + 0;
}

int set_rules(const char* rules) {
  auto* set = reinterpret_cast<decltype(cufault_set_rules)*>(dlsym(RTLD_DEFAULT, "cufault_set_rules"));
  return set(rules);
}

int call(const std::string& what) {
  if (what == "launch") return launch(__cudaLaunchKernel);
  if (what == "launch_ptsz") return launch(__cudaLaunchKernel_ptsz);
  if (what == "launch_looked_up")
    return launch(reinterpret_cast<decltype(__cudaLaunchKernel)*>(dlsym(RTLD_DEFAULT, "__cudaLaunchKernel")));
  if (what == "launch_of_old") return launch(cudaLaunchKernel);
  if (what == "malloc") return allocate(1);
  if (what == "malloc_nothing") return allocate(0);
  if (what == "query") return cudaEventQuery(nullptr) + 0;
  if (what == "get") return cudaGetLastError() + 0;
  if (what == "peek") return cudaPeekAtLastError() + 0;
  if (what == "no_rules") return set_rules(R"({"rules": []})");
  std::exit(2);
}

}  // namespace

int main(int, char** words) {
  for (++words; *words != nullptr; ++words) {
    const bool apart = std::string(*words) == "thread";
    if (apart) ++words;
    const auto say = [&] { std::printf("%d ", call(*words)); };
    apart ? std::thread(say).join() : say();
  }
  std::printf("made %d\n", made);
  return 0;
}
