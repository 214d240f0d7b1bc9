// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Keeps the last error of the CUDA runtime for each host thread. A call that a rule fails does not reach the runtime, so cudaGetLastError
// would not report it; and the code of kernel<<<...>>> drops the result of the launch.
#include "harness/injector/slots.hpp"

#include <utility>

namespace cufault::injector {
namespace {

/// cudaErrorNotReady is no error and not recorded as the last one (CUDA C++ Programming Guide, error checking).
constexpr int not_ready = 600;

constinit thread_local int last_error __attribute__((tls_model("initial-exec"))) = 0;
/// Number of threads with an error. A forked child may count threads that it lacks: that only slows calls that report the last error.
constinit std::atomic<unsigned> threads_with_one{0};

bool is_about_last_error(role is) {
  return is == role::returns_and_resets_last_error || is == role::returns_last_error;
}

void set_last_error(int code) {
  const int before = std::exchange(last_error, code);
  if ((before != 0) == (code != 0)) return;
  locked w;
  threads_with_one += code != 0 ? 1U : -1U;
  for (std::uint32_t i = 0; i < all_slots(); ++i)
    if (is_about_last_error(slots[i].is)) set_entry_of_slot(i);
}

}  // namespace

bool last_errors_exist() {
  return threads_with_one != 0;
}

void keep_last_error(const slot& s, int code) {
  if (s.of == library_named("cudart") && !is_about_last_error(s.is) && code != 0 && code != not_ready)
    set_last_error(code);
}

std::int64_t last_error_or(std::int64_t result, role is) {
  if (!is_about_last_error(is) || last_error == 0) return result;
  result = last_error;
  if (is == role::returns_and_resets_last_error) set_last_error(0);
  return result;
}

bool last_error_is_told_by(role is) {
  return is_about_last_error(is) && last_error != 0;
}

void forget_last_error() {
  set_last_error(0);
}

}  // namespace cufault::injector
