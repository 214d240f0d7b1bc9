// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// searcher NAME: loads a library by its bare name, and prints the file that the loader took; nothing where there is none. Built once with an
// RPATH and once with a RUNPATH.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>

int main(int /*argc*/, char** argv) {
  void* const library = dlopen(argv[1], RTLD_NOW);
  link_map* map = nullptr;
  if (library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) std::puts(map->l_name);
}
