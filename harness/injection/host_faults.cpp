// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/host_faults.hpp"

#include "harness/injection/preloaded.hpp"
#include "harness/injector/host.hpp"
#include "harness/model/case.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <filesystem>
#include <set>

namespace cufault::host_faults {
namespace {

std::string library_at(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "(unloaded)";
  return std::filesystem::path(info.dli_fname).filename();
}

}  // namespace

std::vector<look_up> environment_look_ups() {
  auto* look_up_number = CUFAULT_PRELOADED(cufault_host_look_up);
  const std::size_t count = CUFAULT_PRELOADED(cufault_host_look_ups)();
  std::set<look_up> found;
  for (std::size_t i = 0; i < count; ++i) {
    const void* caller = nullptr;
    const char* variable = nullptr;
    if (!look_up_number(i, &caller, &variable))
      throw setup_failed("more questions for environment variables than libcufault.so has room for");
    found.insert({library_at(caller), variable});
  }
  return {found.begin(), found.end()};
}

void fail_allocation(const std::string& library, unsigned long n, bool and_all_later) {
  if (!CUFAULT_PRELOADED(cufault_host_fail_allocation)(library.c_str(), n, and_all_later))
    throw setup_failed("no loaded library, or too many, whose name begins with " + library);
}

unsigned long allocations_counted() {
  return CUFAULT_PRELOADED(cufault_host_allocations_counted)();
}

std::string hidden(const std::string& entry) {
  return R"({"rules": [{"function": ")" + entry + R"(", "hide": true, "force": true}]})";
}

std::map<std::string, std::string> nothing_hidden() {
  return {{"CUFAULT_RULES", ""}};
}

}  // namespace cufault::host_faults
