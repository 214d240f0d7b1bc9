// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What the process itself may ask for: cufault_injector.h.
#include "harness/injector/calls.hpp"

#include <exception>

#include "cufault/cufault_injector.h"

using namespace cufault;
using namespace cufault::injector;

namespace {

std::string& rules_error() {
  thread_local std::string error;
  return error;
}

}  // namespace

CUFAULT_EXPORTED int cufault_set_rules(const char* json) {
  const left_alone alone_now;
  read_environment();  // a library's constructor may ask before this one's
  std::string& error = rules_error();
  try {
    replace_rules(
        json != nullptr && *json != '\0' ? rules_from(json_cursor{parse_json("rules", json)}) : rule_set{},
        counts_of_rules::begin_anew);
    return 0;
  } catch (const std::exception& e) {
    error = e.what();
    return -1;
  }
}

CUFAULT_EXPORTED void cufault_set_log(const char* file) {
  const left_alone alone_now;
  read_environment();
  log_to(file);
  report_beginning();
}

CUFAULT_EXPORTED const char* cufault_rules_error() {
  return rules_error().c_str();
}

CUFAULT_EXPORTED unsigned long long cufault_calls(const char* function) {
  unsigned long long sum = 0;
  const left_alone alone_now;
  for (std::uint32_t slot = 0; slot < all_slots(); ++slot)
    if (const auto one = count_of(slot);
        one.calls != 0 && matches_function(function, std::string_view{one.function}))
      sum += one.calls;
  return sum;
}

CUFAULT_EXPORTED unsigned long long cufault_injections() {
  return all_injections();
}
