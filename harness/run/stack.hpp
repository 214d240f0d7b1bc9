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
/// Read in a child process, because it needs a CUDA context. If the child dies, "no_gpu" says so.
nlohmann::json read_stack(const std::filesystem::path& self, const target& where, const nvml& management,
                          int stop = -1);

/// Completes a stack's "driver". Its version is that of the library, libcuda.so.580.95.05, which may lie in a compat folder: the library
/// determines behaviour and messages. `kernel`: version of the kernel driver, "" without one; used if the library's name has no version.
void name_driver(nlohmann::json& driver, const std::string& kernel);

void print_stack(std::ostream& out, const nlohmann::json& stack);

/// Stack for records: without what identifies a machine and proves nothing (number and UUIDs of GPUs, also inside variables). A hash of the
/// UUID stays, so that runs on one GPU can be recognised.
nlohmann::json for_record(nlohmann::json stack);

}  // namespace cufault
