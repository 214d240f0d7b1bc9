// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include <cufault/cufault_injector.h>
#include <dlfcn.h>

#include <cufault/argument_check.hpp>
#include <iostream>

// 0 if the check finds the leading dimension that is too small, and nothing else.
int main() {
  const float one = 1;
  cufault::argument_check::product p;
  p.m = p.n = p.k = 8;
  p.a = {&one, CUDA_R_32F, 7};
  p.b = p.c = {&one, CUDA_R_32F, 8};
  p.c.data = &p;
  p.alpha = p.beta = &one;
  bool found = false;
  for (const auto& each : cufault::argument_check::check(p)) {
    std::cout << each.argument << ": " << each.text << '\n';
    found = found || (each.argument == "lda" && each.what == cufault::argument_check::severity::refused);
  }
  const auto calls = reinterpret_cast<decltype(&cufault_calls)>(dlsym(RTLD_DEFAULT, "cufault_calls"));
  return found && (calls == nullptr || calls("*") == 0) ? 0 : 1;
}
