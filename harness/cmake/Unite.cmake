# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
#
#   cufault_unite(TARGET [REGISTERED])
#   cufault_alone(SOURCES...)
#
# With CUFAULT_UNITY_BUILD, the sources of TARGET are compiled some at a time, in the order of their list: what their headers instantiate is then
# compiled once for all of them, which is most of the work. So names in unnamed namespaces of one room must differ, of functions with other
# parameters too. REGISTERED: of small sources, each of which calls what it registers `here`. That name may be in each of them, and must be in no header.
#
# Like precompiled headers (Precompiled.cmake), this hides that a source includes too little; ci/lint reads each source by itself.
function(cufault_unite TARGET)
  cmake_parse_arguments(PARSE_ARGV 1 UNITE "REGISTERED" "" "")
  if(CUFAULT_UNITY_BUILD)
    set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    if(UNITE_REGISTERED)
      set_target_properties(${TARGET} PROPERTIES UNITY_BUILD_BATCH_SIZE 12 UNITY_BUILD_UNIQUE_ID here)
    endif()
  endif()
endfunction()

# For sources of this folder that are compiled by themselves: where a type that a header declares has members of types in an unnamed
# namespace, gcc warns of that in all but the file that it is given; what a test links without the rest of its room.
function(cufault_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
