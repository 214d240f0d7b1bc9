// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"

#include <dlfcn.h>

#include <string>
#include <vector>

namespace cufault {

/// Runs the arm's trials under libcufault.so with these rules from the start (JSON, harness/injector/README.md; "" for none). Rules of
/// cufault's own environment are ignored, and the injector's log is dropped. `libraries`: those that rules of the trial name, such as
/// "cublas"; libcufault_cublas.so and its like are preloaded. If one of these files was not built, or its path has a space or ':', the
/// trial is not provoked.
void under_injector(arm& a, const std::string& rules = {}, const std::vector<std::string>& libraries = {});

/// The same, with libcufault_host.so: for rules on host functions and for host_faults.
void under_host_injector(arm& a, const std::string& rules = {});

/// Applies these rules to driver calls of this process from now on; "" for none. Throws not_provoked without libcufault.so, and
/// setup_failed with its message if they are wrong.
void set_rules(const std::string& json);

/// A function that a preloaded libcufault.so offers to its process. Throws not_provoked if it is not preloaded.
template <class Function>
Function* preloaded(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr)
    throw not_provoked(
        "libcufault.so is not preloaded: it was not built, or lies where the loader cannot name it (a "
        "path with ':' or a space), or the arm's `preload` does not say so");
  return reinterpret_cast<Function*>(found);
}
#define CUFAULT_PRELOADED(name) ::cufault::preloaded<decltype(name)>(#name)

}  // namespace cufault
