// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/expectation.hpp"
#include "reports/model/tests/examples.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace cufault::examples {

inline conditions when(std::string_view json) {
  return conditions::parse(cursor(json));
}

/// Of memory.leak/fault.
inline expectation with_conditions(std::string_view json, std::string source) {
  auto e = expects({trial({no_memory})}, "fault");
  e.when = when(json);
  e.source = std::move(source);
  return e;
}

}  // namespace cufault::examples
