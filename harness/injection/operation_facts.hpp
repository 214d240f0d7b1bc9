// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/call_sites.hpp"
#include "harness/injection/sweep.hpp"

#include <cstdint>

namespace cufault::sweeping {

/// What an operation uses when nothing fails: kernels, driver calls, device memory. They are facts of three steps: made cold, once more (warm), and
/// by another handle with a workspace of the program's own. The first two have its kernels, driver calls and the device memory that it took;
/// the third, of an operation that has a cuBLAS handle, whether it wrote to that workspace. Needs libcufault.so; the trial must be the
/// first of its process.
void tell_facts(trial& t, const operation_type& of);

/// Of the first two steps.
fact_map facts_of(const program_sweep::run_log& log, std::int64_t bytes_taken);

}  // namespace cufault::sweeping
