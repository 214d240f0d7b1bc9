// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cufault::injector {

/// A function that libcuda exports, as the toolkit's cuda.h has it: with its version and stream suffix, "cuMemcpy_v2_ptds" say.
struct driver_function {
  const char* name;
  bool may_be_late;   ///< documented to return also what earlier asynchronous work ended with
  const char* codes;  ///< "1 2 201": the CUresults documented for it; "" where none are
};
/// Of the cuda.h that this was built with; a driver may have more.
std::span<const driver_function> driver_functions();

/// "cuMemAlloc_v2" and "cuMemcpyAsync_ptsz" without what is behind the name in the documentation.
std::string_view without_suffix(std::string_view function);

enum class memory_role : std::uint8_t { none, allocates, allocates_host, releases, tells };
struct memory_function {
  memory_role role = memory_role::none;
  std::uint64_t (*bytes)(const std::uint64_t* arguments) = nullptr;  ///< of what allocates
};
/// With or without suffix.
memory_function memory_function_of(std::string_view function);

/// CUresult of "CUDA_ERROR_OUT_OF_MEMORY" or "OUT_OF_MEMORY".
std::optional<int> driver_code(std::string_view name);
/// "CUDA_ERROR_OUT_OF_MEMORY"; "CUresult 12345" for a number that has no name.
std::string driver_code_name(int code);

/// Whether the documentation, or what this project measured, says that the function can return the code. Of functions that cuda.h did
/// not document, everything is believed.
bool can_return(std::string_view function, int code);

}  // namespace cufault::injector
