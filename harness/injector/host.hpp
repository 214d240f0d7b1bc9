// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What libcufault.so offers to host_faults.cpp, beside the functions that it stands in front of.
#pragma once

#include <cstddef>

extern "C" {
/// How many questions for environment variables there were, equal ones from one place counted once.
std::size_t cufault_host_look_ups();
/// The address that asked and the variable; false for one that came when all room was taken.
bool cufault_host_look_up(std::size_t index, const void** caller, const char** variable);
/// False if no loaded library's name begins so, or too many do.
bool cufault_host_fail_allocation(const char* library, unsigned long n, bool and_all_later);
unsigned long cufault_host_allocations_counted();
}
