# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
#
#   cufault_fuzzed(TARGET)
#   cufault_fuzzer([FOLDER/]NAME LIBRARY...)
#
# The first says that a library of ours reads what others wrote, before cufault_precompile: with CUFAULT_FUZZ its branches then guide fuzzers, and it is
# optimised. The second makes the fuzzer NAME of [FOLDER/]NAME.cpp and of such libraries, which are those that the sanitized tests have: they are
# compiled once for both. The target `fuzzers` builds all that this machine can.
function(cufault_fuzzed TARGET)
  set_target_properties(${TARGET} PROPERTIES CUFAULT_FUZZED ${CUFAULT_FUZZ})
endfunction()

if(NOT CUFAULT_FUZZ)
  return()
endif()
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "CUFAULT_FUZZ needs clang, and this is ${CMAKE_CXX_COMPILER_ID}")
endif()
if(NOT CUFAULT_SANITIZE)
  message(FATAL_ERROR "CUFAULT_FUZZ needs CUFAULT_SANITIZE")
endif()
add_custom_target(fuzzers)
cufault_add_precompiled(fuzzed)
if(CUFAULT_PRECOMPILED_HEADERS)
  cufault_fuzzed(cufault_precompiled_fuzzed_headers)
endif()

function(cufault_fuzzer SOURCE_STEM)
  cmake_path(GET SOURCE_STEM FILENAME NAME)
  add_executable(${NAME} ${SOURCE_STEM}.cpp)
  cufault_fuzzed(${NAME})
  target_link_libraries(${NAME} PRIVATE ${ARGN} cufault_options)
  cufault_precompile(${NAME} fuzzed)
  target_link_options(${NAME} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${NAME})
endfunction()
