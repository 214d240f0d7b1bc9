// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The libraries beside the driver whose functions rules can be for: harness/binding/libraries.json, and their lists beside it.
#pragma once

#include "harness/injector/driver_functions.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cufault::injector {

struct library_code {
  std::string_view name;
  int number;
};

/// Order: that of libraries.json.
struct known_library {
  std::string_view name;         ///< "cublas", of a text that ends in a zero
  std::string_view prefix;       ///< names of its functions begin so
  std::string_view code_prefix;  ///< what people may leave out of a status: "CUBLAS_STATUS_"
  std::string_view example;      ///< of a rule's text
  /// File names begin so, and go on with '.', '-' or '_': "libcublas.so.13", "libcublas-1a2b3c.so.13" in a wheel.
  std::span<const std::string_view> files;
  /// Those that return its status.
  std::span<const function_name> functions;
  std::span<const library_code> codes;
  /// Globs of the functions that drop_call takes, as their callers need no output value; and the exceptions to them.
  std::span<const std::string_view> work, no_work;
  /// Statuses that a sweep tries, without their prefix: first for what allocates, for what computes, and for the rest, then further ones.
  /// No header says which function returns which of them.
  std::span<const std::string_view> tried;
};
std::span<const known_library> libraries();
/// By its name; null: there is none.
const known_library* library_named(std::string_view name);
/// "cudart, cublas, ...".
std::string library_names();
/// The one whose functions begin as this name or pattern does; null for the driver's and the host's.
const known_library* library_of(std::string_view function);

/// As its list has it; null for a function that it lacks, or that does not return a status.
const function_name* function_in(const known_library& of, std::string_view name);
/// Whether a file of this name is one of the library's.
bool is_file_of(const known_library& of, std::string_view file);
/// Whether its caller needs nothing of the call but what it does.
bool can_be_dropped(const known_library& of, const function_name& function);

// Of a status of a library, or of the driver's where `of` is null.

/// Of "CUBLAS_STATUS_NOT_INITIALIZED" or "NOT_INITIALIZED".
std::optional<int> code_in(const known_library* of, std::string_view name);
/// "CUBLAS_STATUS_NOT_INITIALIZED"; "cublas status 12345" for a number that has no name.
std::string code_name(const known_library* of, int code);

}  // namespace cufault::injector
