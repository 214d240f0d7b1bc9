// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>

/// What a recorded step can be a call of. The lists are committed, since records are read where there is no toolkit; ci/api-functions makes
/// them from the headers, and CMakeLists.txt makes one of them.
namespace cufault {

struct api_function {
  std::string_view
      name;  ///< of the documentation: "cublasCreate", without the version that the header's macro adds
  std::string_view library;  ///< "driver", or a key in libraries.json: "cublas", "cublaslt", "runtime"
};

inline constexpr api_function api_functions[] = {
#define CUFAULT_API(name, library) {#name, #library},
#include "steps.inc"
#undef CUFAULT_API
};

/// How a library whose functions are steps comes to this program.
enum class library_binding : unsigned char {
  linked,
  pair,  ///< cuBLAS and cuBLASLt
  own,   ///< where a case needs it: an option, a key of the stack and rows of the distance are its own
};
/// Made of harness/binding/libraries.json.
struct step_library {
  std::string_view key, title, prefix;  ///< "cublas", "cuBLAS", "cublas"
  std::string_view environment;         ///< variables that change what it does begin so: "CUBLAS"
  std::string_view success;             ///< "CUBLAS_STATUS_SUCCESS"
  library_binding binding;
};
inline constexpr step_library step_libraries[] = {
#include "step_libraries.inc"
};

/// Work of this project that is no API call, and what it is about.
struct own_work {
  std::string_view name, summary;
};
inline constexpr std::array own_works{
    own_work{"check.arguments", "argument_check.hpp on the arguments of a call that is not made"},
    own_work{"check.graph_memory", "device memory that graphs hold"},
    own_work{"check.graph_memory_nodes", "nodes of a graph that allocate or free device memory"},
    own_work{"check.memory_unchanged", "device memory that no call may have written"},
    own_work{"check.neighbour", "whether a kernel of another process still runs"},
    own_work{"check.numbers", "what an operation computed"},
    own_work{"check.preparation", "what an operation needs before it can be made"},
    own_work{"check.program", "another program, which calls cuBLAS and reports"},
    own_work{"load.cublas", "the loader on a pair of cuBLAS and cuBLASLt"},
};

/// Functions of Python frameworks, as their tables list them (frameworks.hpp), whose step is what a user calls. Their status is OK, what the exception's text names, or else its type.
inline constexpr std::string_view framework_functions[] = {
#define CUFAULT_FRAMEWORK(name, title, package)
#define CUFAULT_FRAMEWORK_FUNCTION(name) name,
#include "frameworks.inc"
#undef CUFAULT_FRAMEWORK
#undef CUFAULT_FRAMEWORK_FUNCTION
};

/// Of an API function; empty for what is in no list. Positions and not pointers: with -fsanitize=null, GCC 12 takes no pointer into an
/// array for a constant expression, as observed_name needs.
constexpr std::string_view library_of(std::string_view name) {
  std::size_t first = 0;
  for (std::size_t count = std::size(api_functions); count > 0;) {
    const std::size_t half = count / 2;
    const bool later = api_functions[first + half].name < name;
    first += later ? half + 1 : 0;
    count = later ? count - half - 1 : half;
  }
  const bool found = first < std::size(api_functions) && api_functions[first].name == name;
  return found ? api_functions[first].library : std::string_view();
}

constexpr bool is_step_name(std::string_view name) {
  for (std::size_t i = 0; i < own_works.size(); ++i)
    if (own_works[i].name == name) return true;
  for (std::size_t i = 0; i < std::size(framework_functions); ++i)
    if (framework_functions[i] == name) return true;
  return !library_of(name).empty();
}

/// What the function's library returns on success: "CUBLAS_STATUS_SUCCESS", "cudaSuccess", "CUDA_SUCCESS"; "OK" for work of our own and for frameworks.
constexpr std::string_view success_of(std::string_view name) {
  const std::string_view library = library_of(name);
  if (library.empty()) return name.starts_with("load.") ? "LOADED" : "OK";
  for (const step_library& each : step_libraries)
    if (each.key == library) return each.success;
  return "CUDA_SUCCESS";
}

}  // namespace cufault
