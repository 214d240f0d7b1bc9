// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/printed_text.hpp"
#include "harness/trial/trial.hpp"

#include <string_view>

/// Shared by the cases about errors: what a text tells about an error.
namespace cufault {

/// How much of the place of a launch_fault() a text names: file and line, kernel, thread.
inline int places_named_in(std::string_view text) {
  int named = 0;
  for (const char* const by : {"faults.cu:", "break_down", "thread: ["})
    named += text.find(by) != std::string_view::npos ? 1 : 0;
  return named;
}

/// For rules of claims. Omits zeros, because these trials are many.
inline void measure_places(trial& t, const printed_text& printed) {
  if (const int named = places_named_in(printed.err); named > 0)
    t.measure("places in the source that stderr names", named);
}

}  // namespace cufault
