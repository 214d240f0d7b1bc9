// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Reads configuration files of NVIDIA's fault injection tool for CUDA (faultinj of spark-rapids-jni, whose README has the format).
#pragma once

#include "harness/injector/rules.hpp"

namespace cufault::injector {

/// True for an object with "cudaDriverFaults" or "cudaRuntimeFaults". Throws input_error if `top` is no object.
bool is_faultinj(const json_cursor& top);
/// Ignores faults of 0 percent or without interception. Throws input_error for what the injector cannot do: callback ids, SUCCESS as
/// substitute.
rule_set rules_of_faultinj(const json_cursor& top);

}  // namespace cufault::injector
