// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// libcufault_host.so: its interface for host_faults.cpp, and the functions of libcufault.so that it needs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

extern "C" {
/// Number of look-ups of environment variables; equal ones from one address count once.
std::size_t cufault_host_look_ups();
/// Tells the address that asked and the variable. False for a look-up that came when the table was full.
bool cufault_host_look_up(std::size_t index, const void** caller, const char** variable);
/// Returns false if no loaded library's name begins so, or too many do.
bool cufault_host_fail_allocation(const char* library, unsigned long n, bool and_all_later);
unsigned long cufault_host_allocations_counted();

// ---- defined by libcufault.so (host_rules.cpp); weak, since it may not be loaded ----

enum : std::uint8_t { cufault_wants_calls = 1, cufault_wants_environment = 2 };
/// Which host functions the rules now in effect concern.
extern std::atomic<std::uint8_t> cufault_host_wanted __attribute__((weak));
/// True if a rule makes this call fail.
bool cufault_host_rule_fails(const char* function, const void* caller, std::uint64_t bytes)
    __attribute__((weak));
void cufault_host_asks(const void* caller, const char* variable) __attribute__((weak));
}
