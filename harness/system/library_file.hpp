// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace cufault {

/// Facts of a library's file for a stack: {"soname", "build_id", "bytes", "rpath", "runpath", "needed": [...], "gpu_code": ["sm_90a",
/// "compute_120", ...]}, without absent ones; {"unread": why} if it cannot be read. Reads headers only: ELF header, dynamic section, notes,
/// headers in .nv_fatbin. The GNU build id identifies the file, so its hundreds of megabytes are not hashed. No date: files of cuBLAS have
/// none.
nlohmann::json library_file(const std::filesystem::path& file);

}  // namespace cufault
