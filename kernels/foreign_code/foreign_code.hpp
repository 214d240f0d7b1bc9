// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cufault {

/// One trivial kernel, built three times, each time into a library of its own in lib/cufault (beside_program): an image that does not
/// fit the device can then disturb nothing but its caller. Load them with dlopen, after the context was opened. Each has its own
/// static CUDA runtime and works in the calling thread's context.
inline constexpr const char* code_for_this_device = "libcufault_code_matching.so";  ///< built as the rest
inline constexpr const char* code_for_another = "libcufault_code_foreign.so";  ///< one machine code, no PTX
inline constexpr const char* code_as_ptx = "libcufault_code_ptx.so";           ///< PTX alone, of the same age

}  // namespace cufault

/// What each of them exports: look it up as `decltype(&cufault_run_code)`.
extern "C" {
/// Runs the kernel, which writes 42, and copies that to *result. Returns the first failing call's cudaError_t. The allocation comes
/// first, then the launch, then the copy.
int cufault_run_code(int* result);
/// The lowest architecture that the library has code for: 75. On a device of that one, or of a newer one with the same major version,
/// no code is foreign.
int cufault_code_architecture();
}
