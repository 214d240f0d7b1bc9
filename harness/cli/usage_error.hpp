// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace cufault {

/// What was asked for cannot be done. what() is the one line that the user reads; the exit code goes with it.
class usage_error : public std::runtime_error {
 public:
  explicit usage_error(const std::string& line, int code = 2) : std::runtime_error(line), exit_code(code) {}
  int exit_code;
};

/// Exit codes beside those of exit_code() in reports/judge/judge.hpp.
inline constexpr int exit_gate = 1, exit_unresolved = 2, exit_no_answer = 4, exit_skipped = 77,
                     exit_interrupted = 130;

inline constexpr const char* build_it_with_cuda =
    "this cufault was built without CUDA and has no cases; build it with a toolkit: ci/suite";
inline constexpr const char* build_it_with_headers =
    "this cufault was built without cuda.h and has no injector; build it where CMake finds one: ci/suite "
    "--cuda";

/// A weak function, which is null in a build that lacks it: then throws usage_error with `why`.
template <class Function>
Function* present(Function* function, const char* why) {
  if (function == nullptr) throw usage_error(why);
  return function;
}

}  // namespace cufault
