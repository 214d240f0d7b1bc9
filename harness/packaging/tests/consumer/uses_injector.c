/* SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors */
/* SPDX-License-Identifier: Apache-2.0 */
#include <cufault/cufault_injector.h>
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

_Static_assert(_Generic(cufault_set_rules, int (*)(const char*) : 1, default : 0),
               "the types are those of C");

/* As uses_injector.cpp. */
int main(void) {
  void* const found = dlsym(RTLD_DEFAULT, "cufault_injections");
  unsigned long long (*injections)(void) = NULL;
  if (found == NULL) return 0;
  memcpy(&injections, &found, sizeof found); /* ISO C has no cast for this */
  return injections() == 0 ? 0 : 1;
}
