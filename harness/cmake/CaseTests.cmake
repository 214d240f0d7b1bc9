# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# CTest reads this when it runs: the tests of cases, from case_tests.cmake, which CufaultCase.cmake writes. The build tree and an installed tree
# (harness/packaging/ctest) set CUFAULT_PROGRAM, CUFAULT_RECORDS, CUFAULT_MODE, CUFAULT_JOBS, CUFAULT_PYTHON, CUFAULT_TIERS and CUFAULT_CASE_TESTS first.
cmake_policy(VERSION 3.25)
function(cufault_case_test NAME CASE TIER NEEDS MEMORY TIMEOUT FLAGS)  # ARGUMENTS of the run...
  if(NOT TIER IN_LIST CUFAULT_TIERS)
    return()
  endif()
  set(PYTHONS "")
  if("FRAMEWORK" IN_LIST FLAGS)
    if(NOT CUFAULT_PYTHON)
      return()
    endif()
    foreach(PYTHON IN LISTS CUFAULT_PYTHON)
      list(APPEND PYTHONS --python ${PYTHON})
    endforeach()
  endif()
  string(REGEX REPLACE "\\..*" "" FAMILY ${CASE})
  if(TIER STREQUAL nightly)
    set(LABELS ${FAMILY} nightly ${NEEDS})
  else()
    set(LABELS case ${FAMILY} ${TIER} full ${NEEDS})
  endif()
  list(REMOVE_DUPLICATES LABELS)
  add_test(${NAME} ${CUFAULT_PROGRAM} run ${CASE} ${ARGN} ${PYTHONS} --records ${CUFAULT_RECORDS} --mode ${CUFAULT_MODE} --wait 60
    --jobs ${CUFAULT_JOBS})
  # CTest gives each case a GPU by a resource spec file. From CMake 3.28 on the preflight writes one: cases that fill a GPU then run
  # side by side on different GPUs. Older ones have a file only where --resource-spec-file names it, so that there RUN_SERIAL keeps
  # these cases alone. The harness's own lock on the GPU keeps order between suites.
  set(SLOTS 1)
  if(MEMORY STREQUAL exclusive)
    set(SLOTS ${CUFAULT_SLOTS_OF_A_GPU})
    if(CMAKE_VERSION VERSION_LESS 3.28)
      set_tests_properties(${NAME} PROPERTIES RUN_SERIAL TRUE)
    endif()
  endif()
  math(EXPR WITH_WAIT "${TIMEOUT} + 60")
  # COST: side by side, the longest begin first. The preflight has proved the GPU, and no test makes a context for that again. A gate
  # without a record of this stack exits with 77 and not 3: CTest knows one code that skips, and a pattern would hide what failed in another Python.
  set_tests_properties(${NAME} PROPERTIES RESOURCE_GROUPS "gpus:${SLOTS}" PROCESSORS ${CUFAULT_JOBS}
    ENVIRONMENT "CUFAULT_PREFLIGHT=passed;CUFAULT_SKIPS_UNJUDGED=1;${CUFAULT_CASE_ENVIRONMENT}" LABELS "${LABELS}" TIMEOUT ${WITH_WAIT} COST ${TIMEOUT}
    SKIP_RETURN_CODE 77 FIXTURES_REQUIRED machine)
  if("LAST" IN_LIST FLAGS)
    set(CUFAULT_LAST_TESTS ${CUFAULT_LAST_TESTS} ${NAME} PARENT_SCOPE)
  else()
    set(CUFAULT_OTHER_TESTS ${CUFAULT_OTHER_TESTS} ${NAME} PARENT_SCOPE)
  endif()
endfunction()

include("${CUFAULT_CASE_TESTS}")
if(CUFAULT_OTHER_TESTS)
  if(CUFAULT_LAST_TESTS)
    set_tests_properties(${CUFAULT_LAST_TESTS} PROPERTIES DEPENDS "${CUFAULT_OTHER_TESTS}")
  endif()
  add_test(preflight ${CUFAULT_PROGRAM} preflight --records ${CUFAULT_RECORDS} --resources ${CUFAULT_RECORDS}/gpus.json)
  set_tests_properties(preflight PROPERTIES FIXTURES_SETUP machine SKIP_RETURN_CODE 77 TIMEOUT 120 LABELS "case;quick;full;nightly")
  if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.28)
    set_tests_properties(preflight PROPERTIES GENERATED_RESOURCE_SPEC_FILE ${CUFAULT_RECORDS}/gpus.json)
  endif()
  add_test(floor ${CUFAULT_PROGRAM} floor --records ${CUFAULT_RECORDS})
  set_tests_properties(floor PROPERTIES FIXTURES_CLEANUP machine TIMEOUT 120 LABELS "case;quick;full;nightly")
endif()
