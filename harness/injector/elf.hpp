// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Definitions of a name in the loaded libraries, read from their dynamic tables. dlsym cannot be asked: a link_map* is no handle, and
// another preloaded library may stand in front of dlsym too. Neither allocates nor locks anything but the loader's list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cufault::injector {

enum class side : std::uint8_t { before, after };

/// The first definition of `name` in the libraries that the loader lists before or after the one that `here` is in, in its order. The library
/// that this is linked into is passed over. Of several versions the default one, else any. Null if there is none, or `here` is in no library.
void* definition_beside(const void* here, side where, const char* name);

/// The definition that a program would get were this library not there.
inline void* next_definition(const char* name) {
  static constexpr char here = 0;
  return definition_beside(&here, side::after, name);
}

/// From the first to the last address of the loaded file that `address` is in; of size 0 if it is in none.
struct loaded_range {
  const char* begin = nullptr;
  std::size_t size = 0;
};
loaded_range file_around(const void* address);

/// The build ID, as its bytes are, of the file whose loaded beginning this is; empty if it has none or does not begin with its header.
std::string_view build_id_at(const void* begin);

}  // namespace cufault::injector
