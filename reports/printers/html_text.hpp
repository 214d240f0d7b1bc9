// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cufault {

/// Text for an element or a quoted attribute. What is no UTF-8, control characters and those that turn the direction of text become U+FFFD.
std::string html_escaped(std::string_view text);

/// Of long text the beginning, and `mark`.
std::string beginning_of(std::string_view text, std::size_t most, std::string_view mark = "\xe2\x80\xa6");

}  // namespace cufault
