// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Built as libhost_one.so and libhost_two.so: a library that reads variables, allocates in every way, and looks up symbols, as cuBLAS does;
// and a driver's look-up of entry points.
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

extern "C" {

const char* whose_library() {
  return LIBRARY;
}

/// Answer of a later library in the search order.
const char* whose_library_next() {
  void* next = dlsym(RTLD_NEXT, "whose_library");
  return next != nullptr ? reinterpret_cast<const char* (*)()>(next)() : "nobody's";
}

const char* ask(const char* variable) {
  const char* value = getenv(variable);
  return value != nullptr ? value : "(unset)";
}
const char* ask_securely(const char* variable) {
  const char* value = secure_getenv(variable);
  return value != nullptr ? value : "(unset)";
}
__attribute__((constructor)) static void ask_early() {
  getenv("ASKED_BEFORE_MAIN_BY_" LIBRARY);
}

/// The way-th way to allocate 64 bytes; null if it failed, or there is no such way.
void* allocate(int way) {
  void* memory = nullptr;
  switch (way) {
    case 0:
      return malloc(64);
    case 1:
      return calloc(8, 8);
    case 2:
      return realloc(nullptr, 64);
    case 3:
      return memalign(64, 64);
    case 4:
      return aligned_alloc(64, 64);
    case 5:
      return posix_memalign(&memory, 64, 64) == 0 ? memory : nullptr;
    case 6:
      return strdup("sixty-four");
    default:
      return nullptr;
  }
}

}  // extern "C"
