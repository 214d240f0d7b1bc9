// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/injection/call_sites.hpp"
#include "harness/injection/sweep.hpp"

#include <cstdint>

namespace cufault::sweeping {

/// Records what an operation uses when nothing fails, as facts of three steps: made cold, made again (warm), and made by another handle
/// with a workspace of the program. The first two steps have its kernels, driver calls and device memory. The third, for operations with a
/// cuBLAS handle, tells whether it wrote to the workspace. Needs libcufault.so; the trial must be the first of its process.
void tell_facts(trial& t, const operation_type& of);

/// Facts of the first two steps.
fact_map facts_of(const program_sweep::run_log& log, std::int64_t bytes_taken);

}  // namespace cufault::sweeping
