# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Libraries that are not ours: the installed ones, or fetched where absent.
include(FetchContent)
set(FETCHCONTENT_QUIET ON)

FetchContent_Declare(nlohmann_json
  URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
  FIND_PACKAGE_ARGS 3.10)
FetchContent_Declare(CLI11
  GIT_REPOSITORY https://github.com/CLIUtils/CLI11 GIT_TAG v2.4.2 GIT_SHALLOW ON
  FIND_PACKAGE_ARGS 2.1)
FetchContent_Declare(fmt
  GIT_REPOSITORY https://github.com/fmtlib/fmt GIT_TAG 11.0.2 GIT_SHALLOW ON
  FIND_PACKAGE_ARGS 8)
FetchContent_MakeAvailable(nlohmann_json fmt)
if(CUFAULT_INJECTOR_ONLY)
  return()
endif()
FetchContent_MakeAvailable(CLI11)

if(CUFAULT_TESTS)
  set(INSTALL_GTEST OFF)
  FetchContent_Declare(googletest
    GIT_REPOSITORY https://github.com/google/googletest GIT_TAG v1.15.2 GIT_SHALLOW ON
    FIND_PACKAGE_ARGS 1.11 NAMES GTest)
  FetchContent_MakeAvailable(googletest)
  include(GoogleTest)
endif()
if(CUFAULT_BENCHMARKS)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  FetchContent_Declare(benchmark
    GIT_REPOSITORY https://github.com/google/benchmark GIT_TAG v1.9.0 GIT_SHALLOW ON
    FIND_PACKAGE_ARGS 1.6)
  FetchContent_MakeAvailable(benchmark)
endif()
