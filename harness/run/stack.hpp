// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/target.hpp"
#include "harness/run/nvml.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <iosfwd>
#include <string>

namespace cufault {

/// The fingerprint of all that can matter, as `cufault stack --json` prints it:
/// {"gpu": {"name", "compute_capability", "memory_bytes", "multiprocessors", "uuid"} or null, "no_gpu": why
/// there is none, or "",
///  "driver": {"version", "cuda", "library"}, "runtime": {"version"}, "cublas": {"version", "path"},
///  "cublaslt": {"version", "path", "called_by_cublas"}, "other_cublas": version of the second pair, or "none", "devices": UUIDs of those that the driver shows, by number, "error": why nothing may be run here (no cuBLAS could be bound, or the process that looked died), or "",
///  "environment": {variable: value}, "host": {"system", "kernel", "processor", "processors", "libc"},
///  "keys": {what expectations' conditions may name}}
/// Read in a child process, since it takes a CUDA context to know; a child that dies is told in "no_gpu".
nlohmann::json read_stack(const std::filesystem::path& self, const target& where, const nvml& management,
                          int stop = -1);

void print_stack(std::ostream& out, const nlohmann::json& stack);

/// The stack without what names one machine and proves nothing (the GPU's UUID, how many there are): for records.
nlohmann::json for_record(nlohmann::json stack);

}  // namespace cufault
