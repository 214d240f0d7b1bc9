// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/doctor/machine.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace cufault {

/// What read_stack() of harness/run/stack.hpp completes, for a build without CUDA: files, and answers of the driver and of NVML. "cublas" and
/// "cublaslt" are what a program gets by name, else what lies on disk; "libraries" has all: {"name", "version", "path", "found_by"}.
/// `cublas`: a library or its folder, which is looked in first; may be empty.
nlohmann::json stack_of(machine m, const std::filesystem::path& cublas, int device);

}  // namespace cufault
