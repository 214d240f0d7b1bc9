// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Configuration files of NVIDIA's fault injection tool for CUDA (faultinj of spark-rapids-jni), read as they are. Format: that tool's README.
#pragma once

#include "harness/injector/rules.hpp"

namespace cufault::injector {

/// Whether it is such a configuration: an object with "cudaDriverFaults" or "cudaRuntimeFaults". Throws input_error where it is no object.
bool is_faultinj(const json_cursor& top);
/// A fault of 0 percent, or of no interception, is no rule. Throws input_error for what the injector cannot do: callback ids, SUCCESS as
/// substitute.
rule_set rules_of_faultinj(const json_cursor& top);

}  // namespace cufault::injector
