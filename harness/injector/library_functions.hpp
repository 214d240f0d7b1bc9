// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Libraries beside the driver whose functions rules can name: harness/binding/libraries.json and the lists beside it.
#pragma once

#include "harness/injector/driver_functions.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cufault::injector {

struct library_code {
  std::string_view name;
  int number;
};

/// Libraries in the order of libraries.json.
struct known_library {
  std::string_view name;         ///< "cublas", of a text that ends in a zero
  std::string_view prefix;       ///< names of its functions begin so
  std::string_view code_prefix;  ///< what people may leave out of a status: "CUBLAS_STATUS_"
  std::string_view example;      ///< of a rule's text
  /// Prefixes of file names; '.', '-' or '_' follows: "libcublas.so.13", or "libcublas-1a2b3c.so.13" in a wheel.
  std::span<const std::string_view> files;
  /// Functions that return the library's status.
  std::span<const function_name> functions;
  std::span<const library_code> codes;
  /// Globs of the functions that drop_call accepts, since their callers need no output value; and the exceptions.
  std::span<const std::string_view> work, no_work;
  /// Statuses that a sweep tries, without prefix: one for allocating functions, one for computing functions, one for the rest, then further
  /// ones. No header says which function returns which status.
  std::span<const std::string_view> tried;
};
std::span<const known_library> libraries();
/// Null if there is no such library.
const known_library* library_named(std::string_view name);
/// E.g. "cudart, cublas, ...".
std::string library_names();
/// The library whose functions begin as this name or pattern; null for names of the driver and the host.
const known_library* library_of(std::string_view function);

/// Entry of the library's list; null for a function that is not listed or returns no status.
const function_name* function_in(const known_library& of, std::string_view name);
/// True if a file of this name belongs to the library.
bool is_file_of(const known_library& of, std::string_view file);
/// True if the call has no output that its caller needs.
bool can_be_dropped(const known_library& of, const function_name& function);

// Statuses of a library, or of the driver if `of` is null.

/// Code of "CUBLAS_STATUS_NOT_INITIALIZED" or "NOT_INITIALIZED"; nullopt for other names.
std::optional<int> code_in(const known_library* of, std::string_view name);
/// E.g. "CUBLAS_STATUS_NOT_INITIALIZED"; "cublas status 12345" for a number without a name.
std::string code_name(const known_library* of, int code);

}  // namespace cufault::injector
