# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Installs all of BUILD below WORK. There the program, run from an empty folder, fails a call of PROBE, which calls the driver of the tests, in
# the folder DRIVER. The prefix is then read-only, and its cases are tests of CTEST in a folder of any user.
if(EXISTS ${WORK}/prefix)
  file(CHMOD_RECURSE ${WORK}/prefix DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endif()
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

# The cases' program and records are to be PREFIX's and in FOLDER. Run as another user, where that can be.
file(CHMOD_RECURSE ${WORK}/prefix DIRECTORY_PERMISSIONS OWNER_READ OWNER_EXECUTE WORLD_READ WORLD_EXECUTE
  FILE_PERMISSIONS OWNER_READ OWNER_EXECUTE WORLD_READ WORLD_EXECUTE)
file(MAKE_DIRECTORY "${WORK}/a user's")
set(AS_USER "")
execute_process(COMMAND id -u OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE)
if(user EQUAL 0)
  set(AS_USER setpriv --reuid=65534 --regid=65534 --clear-groups)
  file(CHMOD "${WORK}/a user's" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE WORLD_READ WORLD_WRITE WORLD_EXECUTE)
endif()
function(records_to FOLDER)
  execute_process(COMMAND ${AS_USER} ${WORK}/prefix/bin/cufault ctest-files "${WORK}/a user's/tests" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${AS_USER} ${CTEST} --test-dir "${WORK}/a user's/tests" --show-only=json-v1 WORKING_DIRECTORY ${WORK}/empty
    RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE error)
  string(REGEX MATCHALL "\"--records\",[^,]*,?" found "${out}")
  list(TRANSFORM found REPLACE "^\"--records\",[ \t\n]*\"(.*)\"[ ,\t\n].*$" "\\1")
  list(REMOVE_DUPLICATES found)
  if(NOT code EQUAL 0 OR NOT found STREQUAL FOLDER OR NOT out MATCHES "${WORK}/prefix/bin/cufault\"")
    message(FATAL_ERROR "ctest: exit code ${code}; records go to ${found}, not to ${FOLDER}\n${error}")
  endif()
endfunction()

unset(ENV{CUFAULT_RECORDS})
records_to("${WORK}/a user's/tests/records")
set(ENV{CUFAULT_RECORDS} ${WORK}/elsewhere)
records_to(${WORK}/elsewhere)
