# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
#
#   cufault_install(TARGET... and what install(TARGETS) takes)
#
# Installs targets, and makes them part of cufault_suite, so that a build of that one target has what commands load, and can be installed.
add_custom_target(cufault_suite)
function(cufault_install)
  install(TARGETS ${ARGN})
  foreach(WORD IN LISTS ARGN)
    if(TARGET ${WORD})
      add_dependencies(cufault_suite ${WORD})
    endif()
  endforeach()
endfunction()

# First of all that `cmake --install` does: are all files there? A build of some targets only would otherwise leave half a tree, and cases in it would
# say that their fixtures are missing.
install(CODE [[
  function(cufault_files_of SCRIPT OUT)
    file(READ ${SCRIPT} TEXT)
    string(REGEX MATCHALL "file\\(INSTALL [^)]*\\)" RULES "${TEXT}")
    string(REGEX MATCHALL "\"/[^\"$;]*\"" FILES "${RULES}")
    string(REGEX MATCHALL "include\\(\"[^\"]*/cmake_install\\.cmake\"\\)" PARTS "${TEXT}")
    foreach(PART IN LISTS PARTS)
      string(REGEX REPLACE "include\\(\"(.*)\"\\)" "\\1" PART "${PART}")
      cufault_files_of(${PART} MORE)
      list(APPEND FILES ${MORE})
    endforeach()
    set(${OUT} ${FILES} PARENT_SCOPE)
  endfunction()
  cufault_files_of("${CMAKE_CURRENT_LIST_FILE}" FILES)
  foreach(FILE IN LISTS FILES)
    string(REPLACE "\"" "" FILE ${FILE})
    if(NOT EXISTS ${FILE})
      cmake_path(GET CMAKE_CURRENT_LIST_FILE PARENT_PATH BUILD)
      message(FATAL_ERROR "nothing is installed: ${FILE} is not built; build all that is installed first: cmake --build ${BUILD} --target cufault_suite")
    endif()
  endforeach()
]] ALL_COMPONENTS)
