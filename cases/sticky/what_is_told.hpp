// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/printed_text.hpp"
#include "harness/trial.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

/// What the cases about errors share: what a text and a status tell of an error.
namespace cufault {

/// Where a text names the place of a launch_fault() in the source: "the file and line, the kernel, the thread".
inline std::string place_named_in(std::string_view text) {
  std::vector<std::string_view> named;
  for (const auto& [what, by] : {std::pair{"the file and line", "faults.cu:"},
                                 {"the kernel", "break_down"},
                                 {"the thread", "thread: ["}})
    if (text.find(by) != std::string_view::npos) named.emplace_back(what);
  return fmt::format("{}", fmt::join(named, ", "));
}

/// S1-2 names out of memory, illegal memory access, invalid argument and launch failure as the common errors. An arm that
/// provokes one error cannot tell how common it is, only whether it is one of these.
inline void conclude_whether_listed(trial& t, std::string_view provoked_by, cudaError_t error) {
  if (error == cudaSuccess) return;
  const bool listed = error == cudaErrorMemoryAllocation || error == cudaErrorIllegalAddress ||
                      error == cudaErrorInvalidValue || error == cudaErrorLaunchFailure;
  t.conclude("S1-2", listed,
             fmt::format("{}: {} exists and is {}on the list; this tells nothing of how common it is",
                         provoked_by, record_of(error).name, listed ? "" : "not "));
}

}  // namespace cufault
