# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Libraries that are not ours: the installed ones, or fetched where absent, by hash: a tag can be moved. Not shallow, for Git
# finds a commit by its hash in a whole history alone.
include(FetchContent)
set(FETCHCONTENT_QUIET ON)

FetchContent_Declare(nlohmann_json
  URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
  FIND_PACKAGE_ARGS 3.10)
FetchContent_Declare(CLI11
  GIT_REPOSITORY https://github.com/CLIUtils/CLI11 GIT_TAG 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9  # v2.4.2
  FIND_PACKAGE_ARGS 2.1)
FetchContent_Declare(fmt
  GIT_REPOSITORY https://github.com/fmtlib/fmt GIT_TAG 0c9fce2ffefecfdce794e1859584e25877b7b592  # 11.0.2
  FIND_PACKAGE_ARGS 8)
# Of an installed library its headers alone: beside them lie those of the machine's C library, which another compiler must not see.
function(cufault_headers_alone TARGET FOLDER)
  get_target_property(WHERE ${TARGET} INTERFACE_INCLUDE_DIRECTORIES)
  list(GET WHERE 0 WHERE)
  if(CMAKE_CROSSCOMPILING AND EXISTS "${WHERE}/${FOLDER}")
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/headers)
    file(CREATE_LINK ${WHERE}/${FOLDER} ${PROJECT_BINARY_DIR}/headers/${FOLDER} SYMBOLIC)
    set_target_properties(${TARGET} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/headers)
  endif()
endfunction()
FetchContent_MakeAvailable(nlohmann_json fmt)
cufault_headers_alone(nlohmann_json::nlohmann_json nlohmann)
cufault_headers_alone(fmt::fmt-header-only fmt)
# gcc 13 reports a copy in bigint of fmt 9, which Ubuntu 24.04 has, as out of bounds; it is never made, since such a number fits in the first buffer.
get_target_property(FMT_IS_INSTALLED fmt::fmt-header-only IMPORTED)
if(FMT_IS_INSTALLED AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(fmt::fmt-header-only INTERFACE -Wno-array-bounds -Wno-stringop-overflow)
endif()
if(CUFAULT_INJECTOR_ONLY)
  return()
endif()
FetchContent_MakeAvailable(CLI11)
cufault_headers_alone(CLI11::CLI11 CLI)
if(CUFAULT_ANSWERS_ONLY)
  return()
endif()
FetchContent_Declare(pugixml
  GIT_REPOSITORY https://github.com/zeux/pugixml GIT_TAG db78afc2b7d8f043b4bc6b185635d949ea2ed2a8 # v1.14
  FIND_PACKAGE_ARGS 1.11)
FetchContent_MakeAvailable(pugixml)
# One header, under the Boost Software License 1.0. It is copied, so that a cross compiler does not get the other headers beside it.
find_file(CUFAULT_MUSTACHE_HEADER kainjow/mustache.hpp)
mark_as_advanced(CUFAULT_MUSTACHE_HEADER)
if(NOT CUFAULT_MUSTACHE_HEADER)
  FetchContent_Declare(mustache
    GIT_REPOSITORY https://github.com/kainjow/Mustache GIT_TAG c66fdd87f01f0b2d1ba704192f27355b77746a5b  # v4.1
    SOURCE_SUBDIR none)
  FetchContent_MakeAvailable(mustache)
  set(CUFAULT_MUSTACHE_HEADER ${mustache_SOURCE_DIR}/mustache.hpp)
endif()
file(COPY ${CUFAULT_MUSTACHE_HEADER} DESTINATION ${PROJECT_BINARY_DIR}/mustache/kainjow)
add_library(cufault_mustache INTERFACE)
target_include_directories(cufault_mustache SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/mustache)

# What is installed needs no library but those of the C++ compiler, so that it runs on systems that lack these or have other versions: fmt is
# used as headers, pugixml is linked in. Where a system has it as a shared library alone, that is needed, and ci/bare says so.
add_library(cufault_pugixml INTERFACE)
set(LINKED_IN pugixml::pugixml)
if(TARGET pugixml::static)
  set(LINKED_IN pugixml::static)
endif()
target_link_libraries(cufault_pugixml INTERFACE ${LINKED_IN})

if(CUFAULT_TESTS)
  set(INSTALL_GTEST OFF)
  FetchContent_Declare(googletest
    GIT_REPOSITORY https://github.com/google/googletest GIT_TAG b514bdc898e2951020cbdca1304b75f5950d1f59  # v1.15.2
    FIND_PACKAGE_ARGS 1.11 NAMES GTest)
  FetchContent_MakeAvailable(googletest)
  include(GoogleTest)
endif()
if(CUFAULT_BENCHMARKS)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  FetchContent_Declare(benchmark
    GIT_REPOSITORY https://github.com/google/benchmark GIT_TAG 12235e24652fc7f809373e7c11a5f73c5763fc4c  # v1.9.0
    FIND_PACKAGE_ARGS 1.6)
  FetchContent_MakeAvailable(benchmark)
endif()
