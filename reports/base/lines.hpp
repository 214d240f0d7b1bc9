// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cufault {

/// Calls take(line, number, whole) for each line without its newline, numbered from 1. `whole`: false for what stands behind the last newline.
template <class Take>
void each_line(std::string_view text, Take take) {
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const bool whole = end != std::string_view::npos;
    take(text.substr(0, end), number, whole);
    text.remove_prefix(whole ? end + 1 : text.size());
  }
}

}  // namespace cufault
