/* SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors */
/* SPDX-License-Identifier: Apache-2.0 */
#include <cufault/cufault_injector.h>
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* What reports/pages/promises.md promises. */
#define HAS(function, ...) \
  _Static_assert(_Generic(function, __VA_ARGS__ : 1, default : 0), #function " has another type")
HAS(cufault_set_rules, int (*)(const char*));
HAS(cufault_set_log, void (*)(const char*));
HAS(cufault_rules_error, const char* (*)(void));
HAS(cufault_calls, unsigned long long (*)(const char*));
HAS(cufault_injections, unsigned long long (*)(void));
HAS(cufault_bytes_held, unsigned long long (*)(void));
HAS(cufault_end_stacks_at_program, void (*)(void));

/* As uses_injector.cpp. */
int main(void) {
  void* const found = dlsym(RTLD_DEFAULT, "cufault_injections");
  unsigned long long (*injections)(void) = NULL;
  if (found == NULL) return 0;
  memcpy(&injections, &found, sizeof found); /* ISO C has no cast for this */
  return injections() == 0 ? 0 : 1;
}
