// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What injector_test.cpp runs to load and unload libraries that call the driver, and the driver. Itself linked to neither.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

using number_of = int(int*);
using alloc = int(std::uint64_t*, std::size_t);

void* load(const char* library, int how = 0) {
  void* loaded = dlopen(library, RTLD_NOW | how);
  if (loaded == nullptr) {
    std::printf("%s\n", dlerror());
    std::exit(1);
  }
  return loaded;
}

template <class Function>
Function* function(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// Each resolves and calls by itself, and what it resolved is called from here when it is gone.
void library(const char* path) {
  void* loaded = load(path);
  auto* resolves = function<void*(const char*)>(loaded, "library_resolves");
  std::uint64_t address = 0;
  const int inside = reinterpret_cast<alloc*>(resolves("calls_cuMemAlloc"))(&address, 1);
  auto* resolved = reinterpret_cast<alloc*>(resolves("cuMemAlloc_v2"));
  dlclose(loaded);
  std::printf("%d %d\n", inside, resolved(&address, 1));
}

/// Looked up in it, and by the names that a program links against.
void driver(const char* path) {
  void* loaded = load(path, RTLD_GLOBAL);
  const char* between = "";
  for (void* where : {loaded, static_cast<void*>(RTLD_DEFAULT)})
    for (const char* name : {"cuDeviceGetCount", "cuCtxGetDevice"}) {
      int number = 0;
      const int result = function<number_of>(where, name)(&number);
      std::printf("%s%d:%d", between, result, number);
      between = " ";
    }
  std::printf("\n");
  dlclose(loaded);
}

/// Which names there are for a program that looks whether there is a driver: none, a driver that is its own affair, one of all.
void absent() {
  const auto say = [](const char* when) {
    std::printf("%s", when);
    for (const char* name : {"cuInit", "cuGraphCreate", "cuOfALaterDriver", "cuNothing"})
      std::printf(" %d", dlsym(RTLD_DEFAULT, name) != nullptr);
    std::printf("%s\n", dlerror() != nullptr ? ", with an error" : "");
  };
  say("none");
  load("libcuda.so.1");
  say("local");
  load("libcuda.so.1", RTLD_GLOBAL);
  say("global");
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "absent") == 0) absent();
  for (int i = 2; i < count; ++i)
    std::strcmp(words[1], "drivers") == 0 ? driver(words[i]) : library(words[i]);
}
