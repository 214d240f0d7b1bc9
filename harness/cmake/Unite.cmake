# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
#
#   cufault_unite(TARGET [REGISTERED|TESTS])
#   cufault_alone(SOURCES...)
#
# With CUFAULT_UNITY_BUILD, six sources of TARGET are compiled as one, in the order of their list: what their headers instantiate is then compiled
# once for the six, which is most of the work. So a name in an unnamed namespace must be in one source of its room only, also that of an overload.
# REGISTERED: twelve as one, of sources that each register what they have by an object called `here`. That name may be in each source, and must be in no header.
# TESTS: all as one, for they are compiled without optimisation. With CUFAULT_ANSWERS_ONLY so is each room: a machine of two cores has enough of them.
#
# Like precompiled headers (Precompiled.cmake), this hides that a source includes too little; ci/lint reads each source by itself.
function(cufault_unite TARGET)
  cmake_parse_arguments(PARSE_ARGV 1 UNITE "REGISTERED;TESTS" "" "")
  if(CUFAULT_UNITY_BUILD)
    set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    if(UNITE_REGISTERED)
      set_target_properties(${TARGET} PROPERTIES UNITY_BUILD_BATCH_SIZE 12 UNITY_BUILD_UNIQUE_ID here)
    elseif(UNITE_TESTS OR CUFAULT_ANSWERS_ONLY)
      set_target_properties(${TARGET} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
    endif()
  endif()
endfunction()

# Compiles SOURCES, of this folder, each alone. Two kinds need it: a source that a test links without the rest of its room; and one that defines a
# class of a header with members of a type in an unnamed namespace, of which gcc warns unless the source is the file that it is given.
function(cufault_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
