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

/// The cuBLAS and cuBLASLt to run on: a library file, or a folder with one; empty: the loader's choice. If only `cublas` is given, a
/// cuBLASLt of the same major version beside it is used, so that pairs do not mix. To mix on purpose, give both.
struct cublas_paths {
  std::filesystem::path cublas, cublaslt;
};

/// No library was named, or it could not be loaded, or is no cuBLAS. what() has the path and the loader's message.
class binding_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A function was called that the bound library lacks. what() names both.
class missing_symbol : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The files that bind_cublas loads for these names. The loader finds a bare name; an empty `cublaslt` means the one that cuBLAS loads.
/// Throws binding_error for a path that does not exist.
cublas_paths files_of(const cublas_paths& named);

/// Loads the pair and points every cuBLAS and cuBLASLt function of this program at it. Loads cuBLASLt first, so that a cuBLAS of the same
/// major version uses it. On binding_error the earlier binding stays. Functions that the pair lacks throw missing_symbol when called. An
/// earlier pair stays loaded. The loader knows libraries by name: a second cuBLAS of one major version calls the first one's cuBLASLt.
void bind_cublas(const cublas_paths& paths);

/// Result of loading a pair: LOADED, or LOADER_ERROR with the loader's message.
struct load_result {
  std::string words;  ///< the loader's; empty where it loaded
  [[nodiscard]] bool ok() const { return words.empty(); }
};

/// Binds another pair for all later calls. `lazily`: the loader resolves symbols between the libraries at first use, the default of linked
/// programs. Arms that use it say binds_itself.
load_result load_cublas(const cublas_paths& paths, bool lazily = true);

/// Unloads the bound libraries; then nothing is bound. Code that still runs in them breaks, and handles are lost. Returns false, without
/// any change, if the loader keeps cuBLAS. Precondition: a pair is bound.
bool unload_cublas();

/// Real paths of the two bound libraries, links resolved; empty before bind_cublas. A cuBLAS of another major version loads its own
/// cuBLASLt: `cublaslt_of_cublas` is the one that it calls.
struct bound_paths {
  std::filesystem::path cublas, cublaslt, cublaslt_of_cublas;
};
bound_paths bound_cublas();

/// Sets paths (file or folder) of libraries beside cuBLAS by their keys in libraries.json, for need_library() in this process; "" unsets.
/// Throws binding_error for a path that does not exist.
void name_libraries(const std::map<std::string, std::string>& paths);

/// A bound library beside cuBLAS.
struct bound_library {
  std::string version;
  std::filesystem::path file;
};
/// Binds the library with this key, unless it is bound, and points all its functions in this program at it. Uses the path of
/// name_libraries(), else the file beside the bound cuBLAS. Throws not_provoked if there is none, if it cannot be loaded, or if it calls
/// another cuBLAS.
const bound_library& need_library(std::string_view key);

/// E.g. "CUBLAS_STATUS_NOT_INITIALIZED" for a status of a bound library; "CUBLAS_STATUS_17" if it has no name.
std::string name_of_status(const std::type_info& type, int status);

}  // namespace cufault
