// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cufault::injector {

/// A name such as "cuMemcpy_v2_ptds", its length without the suffix for streams or 64-bit sizes, and its length without the version too.
/// Functions that compiled code calls in place of a documented function begin with "__": __cudaLaunchKernel.
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

/// A function that libcuda exports, named as in the toolkit's cuda.h: with version and stream suffix.
struct driver_function {
  function_name name;  ///< of a text that ends in a zero
  bool may_be_late;    ///< documented to return also what earlier asynchronous work ended with
  const char* codes;   ///< "1 2 201": the CUresults documented for it; "" where none are
};
/// All functions of the cuda.h of this build; a driver may have more.
std::span<const driver_function> driver_functions();

/// The name as documented: without the suffixes of "cuMemAlloc_v2" and "cuMemcpyAsync_ptsz".
constexpr std::string_view without_suffix(std::string_view function) {
  return function_name{function}.base();
}

/// What a function does with memory or with an object that owns memory.
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
/// True if the call may end an allocation; budgets then track it.
constexpr bool is_accounted(memory_role role) {
  return role >= memory_role::frees;
}
struct memory_function {
  memory_role role = memory_role::none;
  std::uint64_t (*bytes)(const std::uint64_t* arguments) = nullptr;  ///< of what allocates
};
/// Accepts names with or without suffix.
memory_function memory_function_of(std::string_view function);

/// CUresult for "CUDA_ERROR_OUT_OF_MEMORY" or "OUT_OF_MEMORY"; nullopt for other names.
std::optional<int> driver_code(std::string_view name);
/// E.g. "CUDA_ERROR_OUT_OF_MEMORY"; "" for a number without a name.
std::string_view known_code_name(int code);
/// E.g. "CUDA_ERROR_OUT_OF_MEMORY"; "CUresult 12345" for a number without a name.
std::string driver_code_name(int code);
/// True if cuda.h says that the process must end, or the context be destroyed, before work can continue.
bool is_sticky(int code);
/// True if the call has no output that its caller needs: no handle, address or value through a pointer.
bool can_be_dropped(const function_name& function);
/// True if the function fails in a context that an earlier call lost.
bool needs_a_sound_context(const function_name& function);

/// True if the documentation lists the code for the function, or a driver of a GPU returned it (seen_codes.inc). Always true for functions
/// that cuda.h does not document.
bool can_return(const function_name& function, int code);
inline bool can_return(std::string_view function, int code) {
  return can_return(function_name{function}, code);
}

}  // namespace cufault::injector
