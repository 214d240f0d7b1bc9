// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "cufault/argument_check.hpp"

static_assert(__cplusplus == 201703L, "what a user's program may still be");

/// A second translation unit with the header, which the linker must accept.
std::size_t problems_in_cxx17(const cufault::argument_check::product& p) {
  return cufault::argument_check::check(p).size();
}
