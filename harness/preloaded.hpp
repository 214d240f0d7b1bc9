// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/case.hpp"

#include <dlfcn.h>

#include <string>
#include <vector>

namespace cufault {

/// libcufault.so, for an arm's `preload`; empty where the library was not built, or its path has a space or ':' in it.
std::vector<std::string> injector_preload();

/// A function that libcufault.so offers to the process that it is preloaded into. Throws not_provoked where it is not.
template <class Function>
Function* preloaded(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr)
    throw not_provoked(
        "libcufault.so is not preloaded: it was not built, or lies where the loader cannot name it (a "
        "path with ':' or a space), or the arm's `preload` does not say so");
  return reinterpret_cast<Function*>(found);
}
#define PRELOADED(name) ::cufault::preloaded<decltype(name)>(#name)

}  // namespace cufault
