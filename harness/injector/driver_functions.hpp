// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cufault::injector {

/// "cuMemcpy_v2_ptds", and how much of it is left without its stream suffix, or that of 64-bit sizes, and without its version. Functions
/// that compiled code calls in place of a documented one have "__" in front of its name: __cudaLaunchKernel.
struct function_name {
  std::string_view text;
  std::size_t without_stream_size = 0, base_size = 0;

  constexpr function_name() = default;
  constexpr explicit function_name(std::string_view name) : text(name), without_stream_size(name.size()) {
    for (const std::string_view stream : {"_ptds", "_ptsz", "_64"})
      if (name.ends_with(stream)) without_stream_size = name.size() - stream.size();
    base_size = without_stream_size;
    std::size_t digits = base_size;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
    if (digits != base_size && digits >= 2 && name.substr(digits - 2, 2) == "_v") base_size = digits - 2;
  }
  [[nodiscard]] constexpr std::string_view without_stream() const {
    return text.substr(0, without_stream_size);
  }
  [[nodiscard]] constexpr std::string_view base() const {
    return text.substr(0, base_size).substr(is_for_compilers() ? 2 : 0);
  }  ///< as documented
  [[nodiscard]] constexpr bool is_for_compilers() const { return text.starts_with("__"); }
};

/// A function that libcuda exports, as the toolkit's cuda.h has it: with its version and stream suffix.
struct driver_function {
  function_name name;  ///< of a text that ends in a zero
  bool may_be_late;    ///< documented to return also what earlier asynchronous work ended with
  const char* codes;   ///< "1 2 201": the CUresults documented for it; "" where none are
};
/// Of the cuda.h that this was built with; a driver may have more.
std::span<const driver_function> driver_functions();

/// "cuMemAlloc_v2" and "cuMemcpyAsync_ptsz" without what is behind the name in the documentation.
constexpr std::string_view without_suffix(std::string_view function) {
  return function_name{function}.base();
}

/// What a function does with memory or with what holds it.
enum class memory_role : std::uint8_t {
  none,
  allocates,
  creates_handle,  ///< cuMemCreate
  allocates_host,
  tells,  ///< cuMemGetInfo
  frees,
  releases_handle,
  retains_handle,
  maps,
  unmaps,
  destroys_context,
  retains_primary,   ///< cuDevicePrimaryCtxRetain
  releases_primary,  ///< cuDevicePrimaryCtxRelease, which ends it where nobody else has it
  resets_primary     ///< cuDevicePrimaryCtxReset: destroys the context, whatever its reference count
};
constexpr bool is_allocation(memory_role role) {
  return role == memory_role::allocates || role == memory_role::creates_handle;
}
/// Looked at whenever there was a budget: it may end an allocation.
constexpr bool is_accounted(memory_role role) {
  return role >= memory_role::frees;
}
struct memory_function {
  memory_role role = memory_role::none;
  std::uint64_t (*bytes)(const std::uint64_t* arguments) = nullptr;  ///< of what allocates
};
/// With or without suffix.
memory_function memory_function_of(std::string_view function);

/// CUresult of "CUDA_ERROR_OUT_OF_MEMORY" or "OUT_OF_MEMORY".
std::optional<int> driver_code(std::string_view name);
/// "CUDA_ERROR_OUT_OF_MEMORY"; "" for a number that has no name.
std::string_view known_code_name(int code);
/// "CUDA_ERROR_OUT_OF_MEMORY"; "CUresult 12345" for a number that has no name.
std::string driver_code_name(int code);
/// Whether cuda.h says of the code that the process must be terminated, or the context destroyed, to go on.
bool is_sticky(int code);
/// Whether its caller needs nothing of the call but what it does: no handle, address or answer comes back through a pointer.
bool can_be_dropped(const function_name& function);
/// Whether it fails in a context that an earlier call lost.
bool needs_a_sound_context(const function_name& function);

/// Whether the documentation says that the function can return the code, or a GPU's driver was seen to (seen_codes.inc). Of functions that
/// cuda.h does not document, everything is believed.
bool can_return(const function_name& function, int code);
inline bool can_return(std::string_view function, int code) {
  return can_return(function_name{function}, code);
}

}  // namespace cufault::injector
