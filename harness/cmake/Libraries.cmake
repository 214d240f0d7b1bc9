# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# What the build makes of harness/binding/libraries.json and of the list of each library, libraries/NAME.txt beside it. The lists are committed
# (ci/api-functions makes them), so that a build without a toolkit has them. harness/README.md says what the members of an object are for.
set(CUFAULT_LIBRARIES_FOLDER ${PROJECT_SOURCE_DIR}/harness/binding/libraries)
file(READ ${CUFAULT_LIBRARIES_FOLDER}.json CUFAULT_LIBRARIES_JSON)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CUFAULT_LIBRARIES_FOLDER}.json)
string(JSON COUNT LENGTH "${CUFAULT_LIBRARIES_JSON}")
math(EXPR LAST "${COUNT} - 1")
set(CUFAULT_LIBRARIES "")
set(CUFAULT_STATUS_LIBRARIES "")  # also those without "files", which stand behind the others: only their statuses are known
foreach(I RANGE ${LAST})
  string(JSON NAME GET "${CUFAULT_LIBRARIES_JSON}" ${I} name)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CUFAULT_LIBRARIES_FOLDER}/${NAME}.txt)
  list(APPEND CUFAULT_STATUS_LIBRARIES ${NAME})
  string(JSON FILES ERROR_VARIABLE ABSENT GET "${CUFAULT_LIBRARIES_JSON}" ${I} files)
  if(NOT ABSENT)
    list(APPEND CUFAULT_LIBRARIES ${NAME})
  endif()
endforeach()

# A member as C++ has it: text in quotes, an array as {"a", "b"}; nothing where it is absent.
function(cufault_library_member NAME MEMBER OUT)
  list(FIND CUFAULT_STATUS_LIBRARIES ${NAME} I)
  string(JSON TYPE ERROR_VARIABLE ABSENT TYPE "${CUFAULT_LIBRARIES_JSON}" ${I} ${MEMBER})
  set(TEXT "")
  if(NOT ABSENT)
    string(JSON TEXT GET "${CUFAULT_LIBRARIES_JSON}" ${I} ${MEMBER})
  endif()
  if(TYPE STREQUAL "STRING")
    set(TEXT "\"${TEXT}\"")
  endif()
  string(REGEX REPLACE "^\\[(.*)\\]$" "{\\1}" TEXT "${TEXT}")
  set(${OUT} "${TEXT}" PARENT_SCOPE)
endfunction()

# constexpr std::array<std::string_view> MEMBER_NAME, also where the object has no such member.
function(cufault_library_array NAME MEMBER OUT)
  list(FIND CUFAULT_LIBRARIES ${NAME} I)
  string(JSON COUNT ERROR_VARIABLE ABSENT LENGTH "${CUFAULT_LIBRARIES_JSON}" ${I} ${MEMBER})
  cufault_library_member(${NAME} ${MEMBER} WORDS)
  if(ABSENT)
    set(COUNT 0)
    set(WORDS "{}")
  endif()
  set(${OUT} "constexpr std::array<std::string_view, ${COUNT}> ${MEMBER}_${NAME}${WORDS};\n" PARENT_SCOPE)
endfunction()

# constexpr library_code codes_NAME[].
function(cufault_library_codes NAME OUT)
  file(STRINGS ${CUFAULT_LIBRARIES_FOLDER}/${NAME}.txt LINES REGEX "^[^#]* [0-9]+$")
  list(TRANSFORM LINES REPLACE "(.*) (.*)" "{\"\\1\", \\2},\n")
  string(CONCAT LINES ${LINES})
  set(${OUT} "constexpr library_code codes_${NAME}[]{\n${LINES}};\n" PARENT_SCOPE)
endfunction()

# Names of its functions that return a status, in their order.
function(cufault_library_functions NAME OUT)
  file(STRINGS ${CUFAULT_LIBRARIES_FOLDER}/${NAME}.txt LINES REGEX "^[^# ]+$")
  set(${OUT} ${LINES} PARENT_SCOPE)
endfunction()
