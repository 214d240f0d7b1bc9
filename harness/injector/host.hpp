// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// libcufault_host.so: what it offers to host_faults.cpp, and what it asks of libcufault.so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

extern "C" {
/// How many questions for environment variables there were, equal ones from one place counted once.
std::size_t cufault_host_look_ups();
/// The address that asked and the variable; false for one that came when all room was taken.
bool cufault_host_look_up(std::size_t index, const void** caller, const char** variable);
/// False if no loaded library's name begins so, or too many do.
bool cufault_host_fail_allocation(const char* library, unsigned long n, bool and_all_later);
unsigned long cufault_host_allocations_counted();

// ---- of libcufault.so (host_rules.cpp); weak, as it need not be there ----

enum : std::uint8_t { cufault_wants_calls = 1, cufault_wants_environment = 2 };
/// What rules now in effect have to do with the host.
extern std::atomic<std::uint8_t> cufault_host_wanted __attribute__((weak));
/// Whether a rule fails this call.
bool cufault_host_rule_fails(const char* function, const void* caller, std::uint64_t bytes)
    __attribute__((weak));
void cufault_host_asks(const void* caller, const char* variable) __attribute__((weak));
}
