// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <string>

/// What tests under a guard do to the fake driver, which the variable DRIVER names; TOLD says what the second test does.
namespace guarded_test {

template <class Function>
Function* driver(const char* name) {
  static void* loaded = dlopen(std::getenv("DRIVER"), RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(loaded, name));
}
inline int look() {
  std::size_t free = 0, total = 0;
  return driver<int(std::size_t*, std::size_t*)>("cuMemGetInfo_v2")(&free, &total);
}
inline bool told(const char* what) {
  return std::string(std::getenv("TOLD")).find(what) != std::string::npos;
}
inline bool fails() {
  return told("fail");
}
inline void as_told() {
  std::uint64_t address = 0;
  if (told("leak")) driver<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2")(&address, 4096);
  if (told("hang")) driver<void()>("fake_hang")();
  if (!told("lose")) return;
  driver<void(const char*)>("fake_log")("an address that is not mapped");
  driver<void(const char*)>("fake_log")("Returning 700 (CUDA_ERROR_ILLEGAL_ADDRESS) from cuMemFree_v2");
  driver<void(int)>("fake_lose_contexts")(700);
}

}  // namespace guarded_test
