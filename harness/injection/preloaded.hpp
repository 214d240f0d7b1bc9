// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"

#include <dlfcn.h>

#include <string>
#include <vector>

namespace cufault {

/// Has the arm's trials run under libcufault.so, by these rules from the start (harness/injector/README.md; JSON, empty for none),
/// whatever the environment of cufault itself says of rules. What it reports goes nowhere: a trial tells what it sees. `libraries`: those
/// whose functions rules of the trial are for, as "cublas"; libcufault_cublas.so and its like are preloaded in front. Where a library of
/// these was not built, or its path has a space or ':' in it, what uses it is not provoked.
void under_injector(arm& a, const std::string& rules = {}, const std::vector<std::string>& libraries = {});

/// The same with libcufault_host.so behind it: for rules on functions of the host, and for what host_faults does.
void under_host_injector(arm& a, const std::string& rules = {});

/// From now on these rules hold for this process's driver calls; "" for none. Throws not_provoked without libcufault.so, setup_failed with
/// its words where they are wrong.
void set_rules(const std::string& json);

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
#define CUFAULT_PRELOADED(name) ::cufault::preloaded<decltype(name)>(#name)

}  // namespace cufault
