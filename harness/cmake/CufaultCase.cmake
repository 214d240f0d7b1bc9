# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
#
#   cufault_case(FAMILY/NAME TIER quick|full|nightly MEMORY shared|exclusive NEEDS gpu|host TIMEOUT SECONDS [PARTS N] [LAST] [NAMED]
#                            [FRAMEWORK])
#   cufault_made_case(FAMILY.NAME and the same)
#   cufault_made_case(FAMILY.* and the same, with NAMED)
#
# The first adds cases/FAMILY/NAME.cpp to the program; the second is for a case that the program makes (register_cases in
# harness/model/case.hpp), whose sources the caller adds; the third for those of a family that have no line. Such a case says itself whether it
# fills the GPU (failure_case::memory). Each adds one CTest test, FAMILY.NAME.
#   TIER    the first of `ctest --preset quick`, `full` and `nightly` that has it; so have those after it
#   MEMORY  exclusive: fills the GPU: its arms run alone on it, but for those that the case names in run_beside_others; under CTest
#           the case has the GPU to itself
#   NEEDS   host: part of it runs without a GPU, so it is run everywhere
#   TIMEOUT of the whole case, or of each of its parts; each trial has one of its own
#   PARTS   for a long case: N tests, FAMILY.NAME.1 to .N, that can run side by side
#   LAST    it may leave the GPU unusable: after every other case; its arms may run beside each other, and no other run on that GPU
#   NAMED   some of its arms have no record yet: no CTest test, and `cufault run` takes it only where it or its family is named
#   FRAMEWORK  of a Python framework: a CTest test, NAMED or not, where CUFAULT_PYTHON names a Python, else none
set(CUFAULT_PYTHON "" CACHE STRING "Pythons, separated by semicolons, in which CTest runs cases of frameworks")
set(CUFAULT_JOBS 2 CACHE STRING "--jobs of each of CTest's tests")

# The number of slots of a GPU stands in the header alone.
set(HEADER ${CMAKE_CURRENT_LIST_DIR}/../run/resources.hpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${HEADER})
file(STRINGS ${HEADER} CUFAULT_SLOTS_OF_A_GPU REGEX "slots_of_a_gpu = [0-9]+")
if(NOT CUFAULT_SLOTS_OF_A_GPU MATCHES "= ([0-9]+)")
  message(FATAL_ERROR "${HEADER} does not say slots_of_a_gpu = NUMBER")
endif()

# What CTest reads, here and in an installed tree: a line a test.
set(CUFAULT_CASE_TESTS ${CMAKE_CURRENT_BINARY_DIR}/case_tests.cmake)
file(WRITE ${CUFAULT_CASE_TESTS} "set(CUFAULT_SLOTS_OF_A_GPU ${CMAKE_MATCH_1})\n")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/build_tree_tests.cmake CONTENT [[
set(CUFAULT_PROGRAM "@CMAKE_RUNTIME_OUTPUT_DIRECTORY@/cufault")
set(CUFAULT_RECORDS "@CUFAULT_RECORDS@")
set(CUFAULT_MODE "@CUFAULT_MODE@")
set(CUFAULT_JOBS "@CUFAULT_JOBS@")
set(CUFAULT_PYTHON "@CUFAULT_PYTHON@")
set(CUFAULT_TIERS quick full nightly)
set(CUFAULT_CASE_TESTS "@CUFAULT_CASE_TESTS@")
include("@CMAKE_CURRENT_LIST_DIR@/CaseTests.cmake")
]] @ONLY)
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/build_tree_tests.cmake)

function(cufault_case PATH)
  cufault_add_case(cufault_case ${PATH} ${ARGN})
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${PATH}.cpp)
    message(FATAL_ERROR "cufault_case(${PATH}): there is no cases/${PATH}.cpp")
  endif()
  target_sources(cufault PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/${PATH}.cpp)
endfunction()

function(cufault_made_case NAME)
  if(NOT NAME MATCHES "^[a-z0-9_]+\\.([a-z0-9_]+|\\*)$")
    message(FATAL_ERROR "cufault_made_case(${NAME}): the name is not FAMILY.NAME or FAMILY.* of a-z, 0-9 and '_'")
  endif()
  cufault_add_case(cufault_made_case ${NAME} ${ARGN})
endfunction()

# What both do: `BY` is the function that was called, for its messages.
function(cufault_add_case BY PATH)
  cmake_parse_arguments(PARSE_ARGV 2 CASE "LAST;NAMED;FRAMEWORK" "TIER;MEMORY;NEEDS;TIMEOUT;PARTS" "")
  set(USAGE "${BY}(${PATH} TIER quick|full|nightly MEMORY shared|exclusive NEEDS gpu|host TIMEOUT seconds [PARTS n] [LAST] [NAMED] [FRAMEWORK])")
  if(CASE_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${BY}(${PATH}): unknown ${CASE_UNPARSED_ARGUMENTS}; usage: ${USAGE}")
  endif()
  if(NOT DEFINED CASE_PARTS)
    set(CASE_PARTS 1)
  endif()
  foreach(WORD "TIER=^(quick|full|nightly)$" "MEMORY=^(shared|exclusive)$" "NEEDS=^(gpu|host)$" "TIMEOUT=^[1-9][0-9]*$" "PARTS=^[1-9][0-9]*$")
    string(REGEX REPLACE "=.*" "" NAME "${WORD}")
    string(REGEX REPLACE "^[A-Z]+=" "" PATTERN "${WORD}")
    if(NOT "${CASE_${NAME}}" MATCHES "${PATTERN}")
      message(FATAL_ERROR "${BY}(${PATH}): ${NAME} is missing or wrong; usage: ${USAGE}")
    endif()
  endforeach()
  string(REPLACE "/" "." TEST ${PATH})
  string(REGEX REPLACE "\\..*" "" FAMILY ${TEST})
  foreach(FLAG LAST NAMED)
    set(${FLAG} false)
    if(CASE_${FLAG})
      set(${FLAG} true)
    endif()
  endforeach()
  set_property(TARGET cufault APPEND_STRING PROPERTY CUFAULT_CASE_PROPERTIES
    "{\"${TEST}\", \"${CASE_TIER}\", \"${CASE_NEEDS}\", memory_class::${CASE_MEMORY}, ${CASE_TIMEOUT}, ${LAST}, ${NAMED}},\n")
  if(CASE_NAMED AND NOT CASE_FRAMEWORK)
    return()
  endif()
  set(FLAGS "")
  foreach(FLAG LAST FRAMEWORK)
    if(CASE_${FLAG})
      list(APPEND FLAGS ${FLAG})
    endif()
  endforeach()
  foreach(PART RANGE 1 ${CASE_PARTS})
    set(NAME ${TEST})
    set(WHICH "")
    if(CASE_PARTS GREATER 1)
      set(NAME ${TEST}.${PART})
      set(WHICH " --part ${PART} ${CASE_PARTS}")
    endif()
    file(APPEND ${CUFAULT_CASE_TESTS}
      "cufault_case_test(${NAME} ${TEST} ${CASE_TIER} ${CASE_NEEDS} ${CASE_MEMORY} ${CASE_TIMEOUT} \"${FLAGS}\"${WHICH})\n")
  endforeach()
endfunction()

# After the last case: what the lines above said, for the program, and the tests round the cases.
function(cufault_finish_cases)
  get_target_property(PROPERTIES cufault CUFAULT_CASE_PROPERTIES)
  if(NOT PROPERTIES)
    set(PROPERTIES "")
  endif()
  set(FILE ${CMAKE_CURRENT_BINARY_DIR}/case_properties.cpp)
  file(CONFIGURE OUTPUT ${FILE} CONTENT [[
#include "harness/model/properties.hpp"
const std::vector<cufault::case_properties>& cufault::all_properties() {
  static const std::vector<case_properties> all{@PROPERTIES@};
  return all;
}
]] @ONLY)
  target_sources(cufault PRIVATE ${FILE})
endfunction()
