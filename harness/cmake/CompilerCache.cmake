# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Compiles through ccache where it is installed and works; -DCMAKE_CXX_COMPILER_LAUNCHER= switches that off.
if(DEFINED CMAKE_CXX_COMPILER_LAUNCHER OR DEFINED ENV{CMAKE_CXX_COMPILER_LAUNCHER})
  return()
endif()
# Looked for once: a build that began without it would compile all again.
if(NOT DEFINED CUFAULT_CCACHE)
  find_program(CUFAULT_CCACHE ccache)
endif()
if(NOT CUFAULT_CCACHE)
  return()
endif()
file(WRITE ${PROJECT_BINARY_DIR}/CMakeFiles/cached.cpp "int main() {}\n")
execute_process(COMMAND ${CUFAULT_CCACHE} ${CMAKE_CXX_COMPILER} -c cached.cpp -o cached.o WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/CMakeFiles
  RESULT_VARIABLE CODE OUTPUT_VARIABLE SAID ERROR_VARIABLE SAID)
if(NOT CODE EQUAL 0)
  string(REGEX REPLACE "\n.*" "" SAID "${SAID}")
  message(NOTICE "cufault: the build goes on without ${CUFAULT_CCACHE}, which does not work (exit code ${CODE}: ${SAID})")
  return()
endif()
# With precompiled headers ccache works only with these settings, and with the options below (its manual, "Precompiled headers"). Files count by their
# bytes (DEPEND): GCC reads a header again that differs from the precompiled one in a space or a comment, and everything in it is defined twice.
set(LAUNCHER CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CUFAULT_CCACHE})
set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 ${LAUNCHER})
set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${LAUNCHER})
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
elseif(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
