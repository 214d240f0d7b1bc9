// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/preloaded.hpp"
#include "harness/model/case.hpp"

#include <string>

namespace cufault {

/// Adds the injected counterpart of a fault arm, NATURAL_injected: the same body and levels, without refinement. libcufault.so injects what
/// the natural arm really has: memory pressure, a pool or another process holds no memory, but sets a budget
/// (harness/kit/memory_pressure.hpp). `rules`: JSON of rules that hold from the start (harness/injector/README.md); "" for none. If the
/// environment alone would cause the natural fault, remove it from the returned arm. `cufault counterparts` compares both arms. Without the
/// natural arm the case is malformed.
arm& add_counterpart(failure_case& c, const std::string& natural, const std::string& rules = {});

/// True if this process runs an injected counterpart.
bool in_counterpart();

}  // namespace cufault
