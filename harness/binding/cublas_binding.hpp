// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>

namespace cufault {

/// Which cuBLAS and cuBLASLt to run on: a library file, or a folder that holds one; empty for what the loader
/// would take. With only `cublas` given, a cuBLASLt of the same major version that lies beside it is taken,
/// so that naming one half of a pair never mixes it with another pair; to mix on purpose, give both.
struct cublas_paths {
  std::filesystem::path cublas, cublaslt;
};

/// Nothing to load was named, or it could not be loaded, or is no cuBLAS. what() has the path and the loader's own words.
class binding_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A function was called that the bound library does not have. what() names both.
class missing_symbol : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The files that bind_cublas loads for what was named; a bare name is the loader's to find, and an empty `cublaslt` means
/// the one that cuBLAS brings along. Throws binding_error for a path that is not there.
cublas_paths files_of(const cublas_paths& named);

/// Loads the pair and points every cuBLAS and cuBLASLt function of this program at it. cuBLASLt is loaded
/// first, so that a cuBLAS of the same major version takes it and no other. Throws binding_error, and what was
/// bound before stays bound. Functions that the pair lacks throw missing_symbol when they are called.
/// A pair that is bound in place of another one stays loaded with it, and the loader knows libraries by their
/// names: a second cuBLAS of one major version calls the first one's cuBLASLt.
void bind_cublas(const cublas_paths& paths);

/// What the loader said to a library pair: LOADED, or LOADER_ERROR with its words.
struct load_result {
  std::string words;  ///< the loader's; empty where it loaded
  [[nodiscard]] bool ok() const { return words.empty(); }
};

/// Binds another pair for all calls that follow. `lazily`: the loader resolves what the libraries need of each other at their
/// first use, as a program that is linked to them does by default. Arms that use it say binds_itself.
load_result load_cublas(const cublas_paths& paths, bool lazily = true);

/// Gives the bound libraries back to the loader, and nothing is bound then. What still runs in them breaks, and handles are lost. False where the
/// loader keeps cuBLAS: then all is as before. Precondition: a pair is bound.
bool unload_cublas();

/// Where the two that are bound were really loaded from, links resolved; empty before bind_cublas.
/// A cuBLAS of another major version brings a cuBLASLt of its own: `cublaslt_of_cublas` is the one that it
/// calls.
struct bound_paths {
  std::filesystem::path cublas, cublaslt, cublaslt_of_cublas;
};
bound_paths bound_cublas();

/// Where libraries beside cuBLAS are, each by its key in libraries.json: a file or a folder; empty: as if it were not named. For need_library() in
/// this process. Throws binding_error for a path that is not there.
void name_libraries(const std::map<std::string, std::string>& paths);

/// A library beside cuBLAS that is bound.
struct bound_library {
  std::string version;
  std::filesystem::path file;
};
/// Binds the library with this key, unless it is bound, and points every function of it in this program at it: what name_libraries() was told, or
/// what lies beside the bound cuBLAS. Throws not_provoked where there is none, where it cannot be loaded, or where it calls another cuBLAS.
const bound_library& need_library(std::string_view key);

/// "CUBLAS_STATUS_NOT_INITIALIZED" of a status of a library that is bound; "CUBLAS_STATUS_17" where it has no name.
std::string name_of_status(const std::type_info& type, int status);

}  // namespace cufault
