// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/preloaded.hpp"
#include "harness/model/case.hpp"

#include <string>

namespace cufault {

/// Adds the injected counterpart of a fault arm, NATURAL_injected: the same body on the same levels, unrefined, where libcufault.so provokes what
/// the natural arm has for real. Memory pressure, a pool and another process of its body hold no memory then, but give the process a budget
/// (harness/kit/memory_pressure.hpp). `rules`: JSON of rules that hold from the start (harness/injector/README.md); empty for none. Where
/// what the natural arm has would be there without its environment, take it out of what this returns. `cufault counterparts` compares the two.
/// The case is malformed where it has no such arm yet.
arm& add_counterpart(failure_case& c, const std::string& natural, const std::string& rules = {});

/// Whether this process runs the body of an injected counterpart.
bool in_counterpart();

}  // namespace cufault
