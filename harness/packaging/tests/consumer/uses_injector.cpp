// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cufault/cufault_injector.h>
#include <dlfcn.h>

// Runs with the injector preloaded and without: 0 either way, unless it is there and does not answer.
int main() {
  void* const found = dlsym(RTLD_DEFAULT, "cufault_injections");
  if (found == nullptr) return 0;
  return reinterpret_cast<decltype(&cufault_injections)>(found)() == 0 ? 0 : 1;
}
