# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
#
#   cufault_precompile(TARGET code|tests)
#
# With CUFAULT_PRECOMPILED_HEADERS, the sources of TARGET begin with the headers of libraries that most of them include,
# which shortens their compilation. A source that includes too little is not noticed then: ci/lint, which reads sources without
# them, finds it: in the most changed sources in each run of CI, in all of them each night. The presets set it; a build without a preset does not.
function(cufault_precompile TARGET KIND)
  if(CUFAULT_PRECOMPILED_HEADERS)
    get_target_property(FUZZED ${TARGET} CUFAULT_FUZZED)
    if(FUZZED)
      set(KIND fuzzed)
    endif()
    target_link_libraries(${TARGET} PRIVATE cufault_precompiled_${KIND})
    target_precompile_headers(${TARGET} REUSE_FROM cufault_precompiled_${KIND}_headers)
  endif()
endfunction()

# A precompiled header serves where every option is the same, so that there is one for each KIND: its headers, and options.
function(cufault_add_precompiled KIND)  # HEADERS... USES libraries...
  cmake_parse_arguments(PARSE_ARGV 1 PRECOMPILED "" "" "USES")
  if(CUFAULT_PRECOMPILED_HEADERS)
    set(SOURCE ${PROJECT_BINARY_DIR}/precompiled/empty.cpp)
    file(CONFIGURE OUTPUT ${SOURCE} CONTENT "")
    add_library(cufault_precompiled_${KIND} INTERFACE)
    target_link_libraries(cufault_precompiled_${KIND} INTERFACE
      cufault_options nlohmann_json::nlohmann_json ${PRECOMPILED_USES})
    add_library(cufault_precompiled_${KIND}_headers OBJECT EXCLUDE_FROM_ALL ${SOURCE})
    target_link_libraries(cufault_precompiled_${KIND}_headers PRIVATE cufault_precompiled_${KIND})
    target_precompile_headers(cufault_precompiled_${KIND}_headers PRIVATE
      <algorithm> <array> <chrono> <cstdint> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <span>
      <sstream> <string> <string_view> <utility> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>
      ${PRECOMPILED_UNPARSED_ARGUMENTS})
  endif()
endfunction()

cufault_add_precompiled(code)
if(CUFAULT_TESTS)
  cufault_add_precompiled(tests <gmock/gmock.h> <gtest/gtest.h> USES cufault_test)
endif()
