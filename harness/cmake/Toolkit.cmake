# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Finds a CUDA toolkit: the one named by CUDACXX or CMAKE_CUDA_COMPILER, nvcc on the PATH, CUDA_HOME, the one that `ci/setup --cuda` fetched into
# cuda/, or /usr/local/cuda. Without one, what needs no CUDA is still configured.
set(CUFAULT_HAVE_CUDA OFF)
set(CUFAULT_CUDA_WHY_NOT "switched off by CUFAULT_CUDA=OFF")
if(CUFAULT_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND "$ENV{CUDACXX}" STREQUAL "")
    find_program(CUFAULT_NVCC nvcc PATHS ENV PATH $ENV{CUDA_HOME}/bin ${PROJECT_SOURCE_DIR}/cuda/bin /usr/local/cuda/bin
                 NO_DEFAULT_PATH)
    if(CUFAULT_NVCC)
      set(CMAKE_CUDA_COMPILER ${CUFAULT_NVCC})
    endif()
  endif()
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER)
    check_language(CUDA)
    if(NOT CMAKE_CUDA_COMPILER AND NOT "$ENV{CUDACXX}" STREQUAL "")
      message(FATAL_ERROR "cufault: CUDACXX=$ENV{CUDACXX} compiles nothing: mend it or unset it; without CUDA: -DCUFAULT_CUDA=OFF")
    endif()
  endif()
  if(CMAKE_CUDA_COMPILER)
    # What CMake says of one that does not work fills pages.
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version RESULT_VARIABLE CODE OUTPUT_VARIABLE SAID ERROR_QUIET)
    if(SAID MATCHES "release ([0-9.]+)," AND CMAKE_MATCH_1 VERSION_LESS 12.0)
      message(FATAL_ERROR "cufault: ${CMAKE_CUDA_COMPILER} is CUDA ${CMAKE_MATCH_1}, and cufault needs 12.0 or newer; name another: CUDACXX=/path/to/nvcc")
    endif()
    if(NOT CODE EQUAL 0)
      message(FATAL_ERROR "cufault: ${CMAKE_CUDA_COMPILER} does not work (exit code ${CODE}): mend it, take it off the PATH, or "
                          "name another: CUDACXX=/path/to/nvcc; without CUDA: -DCUFAULT_CUDA=OFF")
    endif()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      # As all-major, but with PTX of the oldest one: the suite's own kernels have to run where the driver is told to compile PTX.
      execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE KNOWN)
      string(REGEX MATCHALL "[0-9]+" KNOWN "${KNOWN}")
      list(POP_FRONT KNOWN OLDEST)
      list(FILTER KNOWN INCLUDE REGEX "0$")
      list(TRANSFORM KNOWN APPEND "-real")
      set(CMAKE_CUDA_ARCHITECTURES ${OLDEST} ${KNOWN})
    endif()
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    enable_language(CUDA)
    # CMake 3.25's find module trips over the absence of libnvToolsExt, which CUDA 13 no longer has.
    if(CMAKE_VERSION VERSION_LESS 3.26 AND NOT TARGET CUDA::nvToolsExt)
      add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
    endif()
    find_package(CUDAToolkit 12.0 REQUIRED)
    set(CUFAULT_HAVE_CUDA ON)
  else()
    set(CUFAULT_CUDA_WHY_NOT "no nvcc found (on PATH, in cuda/, in /usr/local/cuda)")
  endif()
endif()

# cuda.h alone tells the injector what the driver's functions are: it needs no compiler for devices, and is fuzzed, and built for
# other processors, without one. The Python package is built with the headers of NVIDIA's wheels (pyproject.toml).
find_path(CUFAULT_DRIVER_HEADERS cuda.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_HOME ${PROJECT_SOURCE_DIR}/cuda PATHS /usr/local/cuda PATH_SUFFIXES include nvidia/cu13/include
  DOC "The folder of cuda.h")
if(SKBUILD AND NOT CUFAULT_DRIVER_HEADERS)
  message(FATAL_ERROR "cufault: no cuda.h for the Python package; it comes with nvidia-cuda-runtime and nvidia-cuda-profiler-api, which pyproject.toml names")
endif()
