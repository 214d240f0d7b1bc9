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
/// {"gpu": {"name", "compute_capability", "memory_bytes", "multiprocessors", "uuid", "uuid_hashes": [of each GPU that is used]} or null,
///  "no_gpu": why there is none, or "",
///  "driver": {"version", "cuda", "library", "kernel": version of the kernel driver, where it is another}, "runtime": {"version"}, "cublas": {"version", "path"},
///  "cublaslt": {"version", "path", "called_by_cublas"}, "other_cublas": version of the second pair, or "none",
///  of each library beside cuBLAS that was found, by its key: {"version", "path"},
///  "files": {"cublas", "cublaslt", of the second pair "other_cublas", "other_cublaslt": as library_file() says},
///  "devices": UUIDs of those that the driver shows, by number, "error": why nothing may be run here (no cuBLAS could be bound, or the process that looked died), or "",
///  "environment": {variable: value}, "host": {"system", "kernel", "processor", "processors", "libc"},
///  "keys": {what records of stacks are compared by}}
/// Read in a child process, since it takes a CUDA context to know; a child that dies is told in "no_gpu".
nlohmann::json read_stack(const std::filesystem::path& self, const target& where, const nvml& management,
                          int stop = -1);

/// Of a stack's "driver": its version is that of the library, libcuda.so.580.95.05, which can be of a compat folder. What it does and says is the
/// library's. kernel: the version of the kernel driver, empty where there is none; it counts where the library's name has no version.
void name_driver(nlohmann::json& driver, const std::string& kernel);

void print_stack(std::ostream& out, const nlohmann::json& stack);

/// The stack without what names one machine and proves nothing (how many GPUs there are, their UUIDs, also in values of variables): for records.
/// A hash of a UUID stays. It tells that two runs were on one GPU, and not on which.
nlohmann::json for_record(nlohmann::json stack);

}  // namespace cufault
