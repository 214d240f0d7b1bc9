// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/nvml.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <iosfwd>
#include <string>

namespace cufault {

/// What a trial runs on, chosen on the command line. Passed on to every child as it was given.
struct target {
  std::string cublas, cublaslt;  ///< as in cublas_paths; empty: what the loader takes
  int device = 0;
};

/// The fingerprint of all that can matter, as `cufault stack --json` prints it:
/// {"gpu": {"name", "compute_capability", "memory_bytes", "multiprocessors", "uuid"} or null, "no_gpu": why
/// there is none, or "",
///  "driver": {"version", "cuda", "library"}, "runtime": {"version"}, "cublas": {"version", "path"},
///  "cublaslt": {"version", "path", "called_by_cublas"}, "other_cublas": version of the second pair, or "none", "error": why nothing may be run here (no cuBLAS could be bound, or the process that looked died), or "",
///  "environment": {variable: value}, "host": {"system", "kernel", "processor", "processors", "libc"},
///  "keys": {what expectations' conditions may name}}
/// Read in a child process, since it takes a CUDA context to know; a child that dies is told in "no_gpu".
nlohmann::json read_stack(const std::filesystem::path& self, const target& where, const nvml& management,
                          int stop = -1);

/// The child's half: writes what it sees to report_fd.
int probe_stack(const target& where);

void print_stack(std::ostream& out, const nlohmann::json& stack);

/// The stack without what names one machine and proves nothing (the GPU's UUID): for records.
nlohmann::json for_record(nlohmann::json stack);

}  // namespace cufault
