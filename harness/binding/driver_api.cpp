// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/binding/driver_api.hpp"

#include "harness/model/errors.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

namespace cufault {

void* find_driver_entry(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* entry = driver != nullptr ? dlsym(driver, name) : nullptr;
  if (driver != nullptr) dlclose(driver);  // the runtime keeps it loaded
  return entry;
}

void* driver_entry(const char* name) {
  if (void* entry = find_driver_entry(name)) return entry;
  throw not_provoked(fmt::format("the driver that is loaded here has no {}", name));
}

}  // namespace cufault
