/* SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by thunks.S and calls.cpp. */
#pragma once

/* One slot for each function and library that resolved it; the first slots are the names that programs link against. */
#define CUFAULT_SLOTS 16384
#define CUFAULT_THUNK_SIZE 64
/* sizeof(call_frame) */
#define CUFAULT_FRAME_SIZE 208
/* The largest size of arguments on the stack: cudnnNormalizationBackward in cudnn.h takes 27 words, cuIpcOpenMemHandle 64 bytes by
   value. */
#define CUFAULT_STACK_COPIED 256
/* Offset of thread_calls, after the counts of a thread */
#define CUFAULT_CALLS_AT (8 * CUFAULT_SLOTS)
#define CUFAULT_CALLS_KEPT 256

#ifndef __ASSEMBLER__
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

/// The arguments of a call in flight.
struct call_frame {
  std::array<std::uint64_t, 8> integers;  ///< in the order of the arguments; six of them on x86-64
  void* stack;                            ///< the others
  void* caller;                           ///< the address that the call returns to
  struct alignas(16) vector {
    std::array<std::uint64_t, 2> bits;
  };
  std::array<vector, 8> vectors;
};
static_assert(sizeof(call_frame) == CUFAULT_FRAME_SIZE && offsetof(call_frame, caller) == 72);

/// Outcome of a call, returned in two registers.
struct call_outcome {
  std::int64_t result;  ///< what the caller gets, if there is no target
  void* target;         ///< jumped to with the frame's arguments, as if this library were not there
};

/// Calls of a thread in flight, kept for watched functions (watch.cpp). thunks.S knows the layout.
struct thread_calls {
  std::uint32_t thread;                              ///< as gettid() has it
  std::uint32_t depth;                               ///< of calls in flight, one inside the other
  std::uint32_t begun;                               ///< calls
  std::uint32_t told;                                ///< `begun` when the driver's log had its last message
  std::array<std::uint32_t, 8> slot, number;         ///< of the outermost calls in flight
  std::array<std::uint16_t, CUFAULT_CALLS_KEPT> last;  ///< slots: the n-th call at n modulo the size
};
static_assert(sizeof(thread_calls) == 80 + 2 * CUFAULT_CALLS_KEPT && offsetof(thread_calls, last) == 80);

using stack_copy = std::array<std::uint64_t, CUFAULT_STACK_COPIED / 8>;

extern "C" {
extern std::array<char[CUFAULT_THUNK_SIZE], CUFAULT_SLOTS> cufault_thunks;
/// Target of thunk i.
extern std::array<std::atomic<void*>, CUFAULT_SLOTS> cufault_entries;
/// This thread's counts by slot; null before its first call. Lies in the initial part of thread-local memory.
extern thread_local std::uint64_t* cufault_counts __attribute__((tls_model("initial-exec")));
/// Entry that sends calls of thunk i to cufault_intercept.
void cufault_armed();
/// Entry that watches calls of cufault_reals[i]. x86-64 only.
void cufault_watched();
extern std::array<std::atomic<void*>, CUFAULT_SLOTS> cufault_reals;
/// Called if a watched call returned another value than 0.
void cufault_call_failed(std::uint32_t slot, std::int32_t result);
/// `first`: the thread that called thunk `slot` has no counts yet.
call_outcome cufault_intercept(std::uint32_t slot, call_frame* frame, bool first);
/// Makes the call with the frame's arguments in registers and `on_stack`. Returns the call's result.
std::int64_t cufault_forward(void* function, const call_frame* frame, const stack_copy* on_stack);
}
#endif
