# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# The target `headers` compiles each header of ours alone, so that none lives on what another one includes before it. Not
# part of `all`.
file(GLOB_RECURSE HEADERS CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/cases/*.hpp ${PROJECT_SOURCE_DIR}/harness/*.hpp ${PROJECT_SOURCE_DIR}/harness/*.h
  ${PROJECT_SOURCE_DIR}/kernels/*.hpp ${PROJECT_SOURCE_DIR}/reports/*.hpp)
add_library(headers OBJECT EXCLUDE_FROM_ALL)
foreach(HEADER IN LISTS HEADERS)
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
target_link_libraries(headers PRIVATE cufault_trial fmt::fmt GTest::gmock)
