// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Functions that the process itself may call: cufault_injector.h.
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

CUFAULT_EXPORTED int cufault_set_rules(const char* rules) {
  const exempt_from_rules alone_now;
  read_environment();  // another library's constructor may call this before ours runs
  std::string& error = rules_error();
  try {
    const std::string_view asked = rules != nullptr ? rules : "";
    const bool json = asked.find_first_of("{[") == asked.find_first_not_of(" \t\r\n");
    replace_rules(asked.empty() ? rule_set{}
                  : json        ? rules_from(json_cursor{parse_json("rules", asked)})
                                : rules_of("", asked),
                  counts_of_rules::begin_anew);
    return 0;
  } catch (const std::exception& e) {
    error = e.what();
    return -1;
  }
}

CUFAULT_EXPORTED void cufault_set_log(const char* file) {
  const exempt_from_rules alone_now;
  read_environment();
  log_to(file);
  report_beginning();
}

CUFAULT_EXPORTED const char* cufault_rules_error() {
  return rules_error().c_str();
}

CUFAULT_EXPORTED unsigned long long cufault_calls(const char* function) {
  unsigned long long sum = 0;
  const exempt_from_rules alone_now;
  for (std::uint32_t slot = 0; slot < all_slots(); ++slot)
    if (const auto one = count_of(slot);
        one.calls != 0 && matches_function(function, std::string_view{one.function}))
      sum += one.calls;
  return sum;
}

CUFAULT_EXPORTED unsigned long long cufault_injections() {
  return all_injections();
}
