// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace cufault {

/// What a stack keeps of a library's file: {"soname", "build_id", "bytes", "rpath", "runpath", "needed": [...], "gpu_code": ["sm_90a",
/// "compute_120", ...]}, without what the file does not have; {"unread": why} where it cannot be read.
/// The GNU build id is a hash that the linker made to identify the file, so that no content is hashed: that of cuBLASLt has hundreds of
/// megabytes. Reads headers only: the ELF header, the dynamic section, notes, and the headers in .nv_fatbin. No date: files of cuBLAS were found to have
/// none.
nlohmann::json library_file(const std::filesystem::path& file);

}  // namespace cufault
