# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Run at every build: writes commit.cpp, and touches it only if something changed.
set(ARCHIVED "$Format:%H$")  # git archive writes the commit
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE
                RESULT_VARIABLE FAILED ERROR_QUIET)
set(DIRTY false)
if(NOT ARCHIVED MATCHES Format)
  string(SUBSTRING ${ARCHIVED} 0 12 COMMIT)
elseif(FAILED)
  set(COMMIT unknown)
else()
  execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain OUTPUT_VARIABLE CHANGES ERROR_QUIET)
  if(CHANGES)
    set(DIRTY true)
  endif()
endif()
# Identifies the sources that judge and explain.
file(GLOB_RECURSE SOURCES RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/reports/*.cpp ${SOURCE_DIR}/reports/*.hpp ${SOURCE_DIR}/reports/*.inc)
list(FILTER SOURCES EXCLUDE REGEX /tests/)
set(HASHES)
foreach(SOURCE IN LISTS SOURCES)
  file(MD5 ${SOURCE_DIR}/${SOURCE} HASH)
  list(APPEND HASHES ${SOURCE} ${HASH})
endforeach()
string(MD5 REPORTS "${HASHES}")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "harness/cli/commit.hpp"
const cufault::build_identity cufault::this_build{"@VERSION@", "@COMMIT@", @DIRTY@, "@REPORTS@"};
]] @ONLY)
