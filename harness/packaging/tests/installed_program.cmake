# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Installs all of BUILD below WORK. There the program, run from an empty folder, fails a call of PROBE, which calls the driver of the tests, in
# the folder DRIVER. Its cases, as tests of CTEST in the folder TESTS, write their records outside of the prefix.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/empty)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
set(ENV{LD_LIBRARY_PATH} ${DRIVER})

# Installed cufault injects with these words, is to say EXPECTED and to end with CODE.
function(injects CODE EXPECTED)
  execute_process(COMMAND ${WORK}/prefix/bin/cufault inject ${ARGN} WORKING_DIRECTORY ${WORK}/empty
    RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE error)
  if(NOT code STREQUAL CODE OR NOT out STREQUAL "${EXPECTED}\n")
    message(FATAL_ERROR "cufault inject ${ARGN}: exit code ${code}, not ${CODE}; it says\n${out}${error}")
  endif()
endfunction()

injects(0 "0 2 0" --fail cuMemAlloc:2=OUT_OF_MEMORY --require 1 -- ${PROBE} allocate 3)
injects(3 "0 0 0" --fail cuMemAlloc:4=OUT_OF_MEMORY --require 1 -- ${PROBE} allocate 3)
injects(0 ${WORK}/prefix/${LIBRARIES}/cufault/libcufault.so -- sh -c "echo $LD_PRELOAD")

# Its cases' records are to go to FOLDER.
function(records_to FOLDER)
  execute_process(COMMAND ${CTEST} --test-dir ${WORK}/prefix/${TESTS} --show-only=json-v1 WORKING_DIRECTORY ${WORK}/empty
    RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE error)
  string(REGEX MATCHALL "\"--records\",[^,]*,?" found "${out}")
  list(TRANSFORM found REPLACE "^\"--records\",[ \t\n]*\"(.*)\"[ ,\t\n].*$" "\\1")
  list(REMOVE_DUPLICATES found)
  if(NOT code EQUAL 0 OR NOT found STREQUAL FOLDER)
    message(FATAL_ERROR "ctest: exit code ${code}; records go to ${found}, not to ${FOLDER}\n${error}")
  endif()
endfunction()

unset(ENV{CUFAULT_RECORDS})
set(ENV{HOME} ${WORK}/home)
set(ENV{XDG_STATE_HOME})
records_to(${WORK}/home/.local/state/cufault/records)
set(ENV{XDG_STATE_HOME} ${WORK}/state)
records_to(${WORK}/state/cufault/records)
set(ENV{CUFAULT_RECORDS} ${WORK}/elsewhere)
records_to(${WORK}/elsewhere)
