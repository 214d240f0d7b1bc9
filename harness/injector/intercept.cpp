// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Handles a call that comes from a thunk. Compiled without exceptions: pthread_cancel inside the driver unwinds these frames, by an
// unwinder that knows no handlers of this library.
#include "harness/injector/calls.hpp"
#include "harness/injector/thunks.h"

#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cufault::injector {
namespace {

/// While an object lives, this thread cannot be cancelled: waits and writes in here would be cancellation points.
class not_cancelled {
 public:
  not_cancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~not_cancelled() { pthread_setcancelstate(before_, nullptr); }
  not_cancelled(const not_cancelled&) = delete;
  not_cancelled& operator=(const not_cancelled&) = delete;

 private:
  int before_ = 0;
};

/// Limits the copy to the part of the caller's stack that arguments can occupy: a guard page may follow.
stack_copy arguments_on_stack(void* stack) {
  stack_copy copy{};
  constexpr std::uintptr_t page = 4096;  // real pages are a multiple of it
  const std::uintptr_t rest = page - reinterpret_cast<std::uintptr_t>(stack) % page;
  if (rest < sizeof copy) {
    const iovec to{copy.data(), sizeof copy};
    const iovec from[]{{stack, rest}, {static_cast<char*>(stack) + rest, sizeof copy - rest}};
    if (process_vm_readv(getpid(), &to, 1, from, 2, 0) >= static_cast<ssize_t>(rest)) return copy;
  }
  memcpy(copy.data(), stack, sizeof copy);
  return copy;
}

}  // namespace
}  // namespace cufault::injector

call_outcome cufault_intercept(std::uint32_t index, call_frame* frame, bool first) {
  using namespace cufault::injector;
  pending_call call;
  {
    const not_cancelled now;
    begin_call(call, index, frame, first);
  }
  switch (call.next) {
    case next_step::answer:
      return {call.result, nullptr};
    case next_step::jump:
      return {0, call.real};
    case next_step::call:
      break;
  }
  const stack_copy on_stack = arguments_on_stack(frame->stack);
  const std::int64_t result = cufault_forward(call.real, frame, &on_stack);
  const not_cancelled now;
  return {end_call(call, frame, result), nullptr};
}
