// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Finds definitions of a name in the loaded libraries by their dynamic tables. dlsym cannot do this: a link_map* is no handle, and another
// preloaded library may interpose dlsym too. These functions allocate nothing and take only the lock of the loader's list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cufault::injector {

enum class side : std::uint8_t { before, after };

/// The first definition of `name` in the libraries that the loader lists before or after the library that contains `here`, in the loader's
/// order. Skips this library. Prefers the default version. Null if there is none, or if no library contains `here`.
void* definition_beside(const void* here, side where, const char* name);

/// The definition that a program would get without this library.
inline void* next_definition(const char* name) {
  static constexpr char here = 0;
  return definition_beside(&here, side::after, name);
}

/// First and last address of the loaded file that contains `address`; size 0 if there is none.
struct loaded_range {
  const char* begin = nullptr;
  std::size_t size = 0;
};
loaded_range file_around(const void* address);

/// Bytes of the build ID of the file loaded at `begin`; empty if it has none or does not begin with its ELF header.
std::string_view build_id_at(const void* begin);

}  // namespace cufault::injector
