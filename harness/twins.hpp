// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/case.hpp"
#include "harness/preloaded.hpp"

#include <string>

namespace cufault {

/// Adds the injected twin of a fault arm, NATURAL_injected: the same body on the same rungs, unrefined, where libcufault.so provokes what
/// the natural arm has for real. A squeeze, a pool and a neighbour of its body hold no memory then, but give the process a budget
/// (harness/squeeze.hpp). `rules`: JSON of rules that hold from the start (README, "Failing the driver's calls"); empty for none. Where
/// what the natural arm has would be there without its environment, take it out of what this returns. `cufault twins` compares the two.
/// The case is malformed where it has no such arm yet.
arm& add_twin(failure_case& c, const std::string& natural, const std::string& rules = {});

/// Whether this process runs the body of an injected twin.
bool in_twin();

}  // namespace cufault
