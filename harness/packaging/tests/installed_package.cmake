# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Installs what programs build against, from BUILD into a prefix below WORK, and builds and runs CONSUMER with it. The prefix is moved
# first: nothing in it may depend on where it was installed.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " words)
    message(FATAL_ERROR "${words}: exit code ${code}\n${out}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/before --component development)
file(RENAME ${WORK}/before ${WORK}/prefix)
file(GLOB_RECURSE INSTALLED RELATIVE ${WORK}/prefix ${WORK}/prefix/*)
foreach(HEADER argument_check.hpp catch2_guard.hpp context_guard.hpp cufault_injector.h gtest_guard.hpp known_issue.hpp known_issues.hpp known_issues_table.hpp)
  if(NOT INSTALLED MATCHES "include/cufault/${HEADER}")
    message(FATAL_ERROR "${HEADER} is not among what was installed: ${INSTALLED}")
  endif()
endforeach()
foreach(FILE IN LISTS INSTALLED)
  file(STRINGS ${WORK}/prefix/${FILE} PATHS REGEX "${BUILD}|${WORK}")
  if(PATHS)
    message(FATAL_ERROR "${FILE} names folders of this build: ${PATHS}")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/consumer -G "${GENERATOR}" -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER}
    -DVERSION=${VERSION} "-DCUDA_HEADERS=${CUDA_HEADERS}")
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
foreach(PROGRAM uses_injector_c11 uses_injector_cxx11 uses_injector_cxx17 uses_known_issues)
  run(${WORK}/consumer/${PROGRAM})
endforeach()
if(CUDA_HEADERS)
  run(${WORK}/consumer/uses_both)
endif()

# Another version is not taken.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/other -G "${GENERATOR}" -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_CXX_COMPILER=${COMPILER} -DVERSION=99.0 RESULT_VARIABLE CODE OUTPUT_QUIET ERROR_QUIET)
if(CODE EQUAL 0)
  message(FATAL_ERROR "find_package(cufault 99.0) took version ${VERSION}")
endif()
