# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
#
#   cufault_tests(NAME_tests SOURCES... USES libraries... [SHARDS n] [LOCK resource] [TIMEOUT seconds])
#
# A program of self-tests, and the CTest test ROOM.NAME that runs all of it, where ROOM is the top-level folder. One process runs many tests: starting one
# for each of 1,700 took minutes.
#   SHARDS   run the tests as n CTest tests, side by side
#   LOCK     no two tests with this lock run at the same time
#   TIMEOUT  for hangs only: at least ten times what the tests take
function(cufault_tests TARGET)
  cmake_parse_arguments(PARSE_ARGV 1 TESTS "" "LOCK;SHARDS;TIMEOUT" "USES")
  add_executable(${TARGET} ${TESTS_UNPARSED_ARGUMENTS})
  target_link_libraries(${TARGET} PRIVATE ${TESTS_USES} cufault_test)
  cufault_precompile(${TARGET} tests)
  cufault_unite(${TARGET} TESTS)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE ROOM)
  string(REGEX REPLACE "/.*" "" ROOM ${ROOM})
  string(REGEX REPLACE "_tests$" "" NAME ${TARGET})
  set(NAME ${ROOM}.${NAME})
  if(NOT TESTS_SHARDS)
    set(TESTS_SHARDS 1)
  endif()
  if(NOT TESTS_TIMEOUT)
    set(TESTS_TIMEOUT 900)
  endif()
  math(EXPR LAST "${TESTS_SHARDS} - 1")
  foreach(INDEX RANGE ${LAST})
    set(TEST ${NAME})
    if(TESTS_SHARDS GREATER 1)
      set(TEST ${NAME}.${INDEX})
    endif()
    add_test(NAME ${TEST} COMMAND ${TARGET} --gtest_brief=1)
    set_tests_properties(${TEST} PROPERTIES LABELS selftest TIMEOUT ${TESTS_TIMEOUT} COST ${TESTS_SHARDS}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${TESTS_SHARDS};GTEST_SHARD_INDEX=${INDEX}")
    if(TESTS_LOCK)
      set_tests_properties(${TEST} PROPERTIES RESOURCE_LOCK ${TESTS_LOCK})
    endif()
  endforeach()
endfunction()

if(CUFAULT_TESTS)
  add_library(cufault_test INTERFACE)
  target_link_libraries(cufault_test INTERFACE GTest::gmock GTest::gtest_main)
endif()
