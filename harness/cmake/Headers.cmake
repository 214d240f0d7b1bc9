# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# The target `headers` compiles headers of ours alone, so that none lives on what another one includes before it. A header
# that some source includes before all others is read so with that source, by the nightly ci/lint. Not part of `all`.
file(GLOB_RECURSE HEADERS CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/cases/*.hpp ${PROJECT_SOURCE_DIR}/harness/*.hpp ${PROJECT_SOURCE_DIR}/harness/*.h
  ${PROJECT_SOURCE_DIR}/kernels/*.hpp ${PROJECT_SOURCE_DIR}/reports/*.hpp)
# Not those of cases/: a precompiled header comes before what they include.
file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/harness/*.cpp ${PROJECT_SOURCE_DIR}/kernels/*.cpp
  ${PROJECT_SOURCE_DIR}/reports/*.cpp)
set(INCLUDED_FIRST "")
foreach(SOURCE IN LISTS SOURCES)
  file(STRINGS ${SOURCE} FIRST REGEX "^ *#include" LIMIT_COUNT 1)
  string(REGEX REPLACE "^ *#include \"(.*)\".*" "\\1" FIRST "${FIRST}")
  list(APPEND INCLUDED_FIRST "${FIRST}")
endforeach()
add_library(headers OBJECT EXCLUDE_FROM_ALL)
foreach(HEADER IN LISTS HEADERS)
  if(HEADER IN_LIST INCLUDED_FIRST)
    continue()
  endif()
  file(STRINGS ${PROJECT_SOURCE_DIR}/${HEADER} ASSEMBLER REGEX "^ *\\.(macro|text|globl|hidden)" LIMIT_COUNT 1)
  if(ASSEMBLER)
    continue()
  endif()
  string(REPLACE "/" "." NAME ${HEADER})
  set(SOURCE ${PROJECT_BINARY_DIR}/headers/${NAME}.cpp)
  # Twice: it may be included again.
  file(CONFIGURE OUTPUT ${SOURCE} CONTENT "#include \"${HEADER}\"\n#include \"${HEADER}\"\n")
  target_sources(headers PRIVATE ${SOURCE})
endforeach()
target_compile_options(headers PRIVATE -O0 -g0)
target_compile_definitions(headers PRIVATE CUFAULT_FAILURES_FILE="")  # as tests have it
target_link_libraries(headers PRIVATE cufault_known_issues cufault_trial GTest::gmock)
