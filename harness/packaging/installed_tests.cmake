# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# The cases of an installed cufault as CTest tests. Included by the CTestTestfile.cmake that `cufault ctest-files FOLDER` writes, which sets CUFAULT_PROGRAM,
# CUFAULT_TESTS_FOLDER (that of this file) and CUFAULT_OWN_RECORDS, FOLDER/records. Of the environment:
# CUFAULT_TIER: quick (the default), full or nightly. CUFAULT_RECORDS: another folder of the records.
# CUFAULT_MODE: observe (the default) or gate. CUFAULT_JOBS: of each test, 2. CUFAULT_PYTHON: Pythons whose frameworks are tested, separated by semicolons.
foreach(SETTING TIER=quick RECORDS=${CUFAULT_OWN_RECORDS} MODE=observe PYTHON= JOBS=2)
  string(REGEX MATCH "^([A-Z]+)=(.*)$" SETTING "${SETTING}")
  set(CUFAULT_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
  if(NOT "$ENV{CUFAULT_${CMAKE_MATCH_1}}" STREQUAL "")
    set(CUFAULT_${CMAKE_MATCH_1} "$ENV{CUFAULT_${CMAKE_MATCH_1}}")
  endif()
endforeach()
set(CUFAULT_CASE_ENVIRONMENT CUFAULT_TIER=${CUFAULT_TIER})
set(CUFAULT_TIERS quick full nightly)
list(FIND CUFAULT_TIERS "${CUFAULT_TIER}" LAST)
if(LAST LESS 0)
  message(FATAL_ERROR "CUFAULT_TIER=${CUFAULT_TIER} is not quick, full or nightly")
endif()
math(EXPR LAST "${LAST} + 1")
list(SUBLIST CUFAULT_TIERS 0 ${LAST} CUFAULT_TIERS)
set(CUFAULT_CASE_TESTS "${CUFAULT_TESTS_FOLDER}/case_tests.cmake")
include("${CUFAULT_TESTS_FOLDER}/CaseTests.cmake")
