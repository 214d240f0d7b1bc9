# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
#
#   cufault_case(FAMILY/NAME TIER quick|full|nightly MEMORY shared|exclusive NEEDS gpu|host TIMEOUT SECONDS [PARTS N] [LAST])
#
# Adds cases/FAMILY/NAME.cpp to the program and one CTest test, FAMILY.NAME.
#   TIER    the first of `ctest --preset quick`, `full` and `nightly` that has it; so have those after it
#   MEMORY  exclusive: fills the GPU, so nothing else of ours may use it meanwhile
#   NEEDS   host: part of it runs without a GPU, so it is run everywhere
#   TIMEOUT of the whole case, or of each of its parts; each trial has one of its own
#   PARTS   for a long case: N tests, FAMILY.NAME.1 to .N, that can run side by side
#   LAST    it may leave the GPU unusable: after every other case
function(cufault_case PATH)
  cmake_parse_arguments(PARSE_ARGV 1 CASE "LAST" "TIER;MEMORY;NEEDS;TIMEOUT;PARTS" "")
  set(USAGE "cufault_case(${PATH} TIER quick|full|nightly MEMORY shared|exclusive NEEDS gpu|host TIMEOUT seconds [PARTS n] [LAST])")
  if(CASE_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cufault_case(${PATH}): unknown ${CASE_UNPARSED_ARGUMENTS}; usage: ${USAGE}")
  endif()
  if(NOT DEFINED CASE_PARTS)
    set(CASE_PARTS 1)
  endif()
  foreach(WORD "TIER=^(quick|full|nightly)$" "MEMORY=^(shared|exclusive)$" "NEEDS=^(gpu|host)$" "TIMEOUT=^[1-9][0-9]*$" "PARTS=^[1-9][0-9]*$")
    string(REGEX REPLACE "=.*" "" NAME "${WORD}")
    string(REGEX REPLACE "^[A-Z]+=" "" PATTERN "${WORD}")
    if(NOT "${CASE_${NAME}}" MATCHES "${PATTERN}")
      message(FATAL_ERROR "cufault_case(${PATH}): ${NAME} is missing or wrong; usage: ${USAGE}")
    endif()
  endforeach()
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${PATH}.cpp)
    message(FATAL_ERROR "cufault_case(${PATH}): there is no cases/${PATH}.cpp")
  endif()
  string(REPLACE "/" "." TEST ${PATH})
  string(REGEX REPLACE "/.*" "" FAMILY ${PATH})
  target_sources(cufault PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/${PATH}.cpp)
  set_property(TARGET cufault APPEND_STRING PROPERTY CUFAULT_CASE_PROPERTIES
    "{\"${TEST}\", \"${CASE_TIER}\", \"${CASE_NEEDS}\", memory_class::${CASE_MEMORY}, ${CASE_TIMEOUT}},\n")

  if(CASE_TIER STREQUAL nightly)
    set(LABELS ${FAMILY} nightly ${CASE_NEEDS})
  else()
    set(LABELS case ${FAMILY} ${CASE_TIER} full ${CASE_NEEDS})
  endif()
  list(REMOVE_DUPLICATES LABELS)
  math(EXPR WITH_WAIT "${CASE_TIMEOUT} + 60")
  foreach(PART RANGE 1 ${CASE_PARTS})
    set(NAME ${TEST})
    set(WHICH "")
    if(CASE_PARTS GREATER 1)
      set(NAME ${TEST}.${PART})
      set(WHICH --part ${PART} ${CASE_PARTS})
    endif()
    add_test(NAME ${NAME}
      COMMAND cufault run ${TEST} ${WHICH} --records ${CUFAULT_RECORDS} --mode ${CUFAULT_MODE} --wait 60)
    # RESOURCE_GROUPS places cases on GPUs where CTest was given a resource spec file, and is ignored without one; RUN_SERIAL
    # keeps what needs a GPU to itself alone in a plain `ctest -j`; the harness's own lock on the GPU keeps order between suites.
    if(CASE_MEMORY STREQUAL exclusive)
      set_tests_properties(${NAME} PROPERTIES RUN_SERIAL TRUE)
    endif()
    if(CASE_NEEDS STREQUAL gpu)
      set(SLOTS 1)
      if(CASE_MEMORY STREQUAL exclusive)
        set(SLOTS 100)
      endif()
      set_tests_properties(${NAME} PROPERTIES RESOURCE_GROUPS "gpus:${SLOTS}")
    endif()
    # COST: side by side, the longest begin first.
    set_tests_properties(${NAME} PROPERTIES
      LABELS "${LABELS}" TIMEOUT ${WITH_WAIT} COST ${CASE_TIMEOUT} SKIP_RETURN_CODE 77 FIXTURES_REQUIRED machine)
    if(CASE_LAST)
      set_property(DIRECTORY APPEND PROPERTY CUFAULT_LAST ${NAME})
    endif()
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
#include "harness/properties.hpp"
const std::vector<cufault::case_properties>& cufault::all_properties() {
  static const std::vector<case_properties> all{@PROPERTIES@};
  return all;
}
]] @ONLY)
  target_sources(cufault PRIVATE ${FILE})
  get_property(LAST DIRECTORY PROPERTY CUFAULT_LAST)
  if(LAST)
    get_property(OTHERS DIRECTORY PROPERTY TESTS)
    list(REMOVE_ITEM OTHERS ${LAST})
    set_tests_properties(${LAST} PROPERTIES DEPENDS "${OTHERS}")
  endif()
  if(PROPERTIES)
    add_test(NAME preflight COMMAND cufault preflight --records ${CUFAULT_RECORDS})
    set_tests_properties(preflight PROPERTIES FIXTURES_SETUP machine SKIP_RETURN_CODE 77 TIMEOUT 120 LABELS "case;quick;full;nightly")
    add_test(NAME floor COMMAND cufault floor --records ${CUFAULT_RECORDS})
    set_tests_properties(floor PROPERTIES FIXTURES_CLEANUP machine TIMEOUT 120 LABELS "case;quick;full;nightly")
  endif()
endfunction()
