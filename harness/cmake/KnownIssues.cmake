# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# <cufault/known_issues_table.hpp> of cases/known_issues.json: programs that include it need no parser.
set(KNOWN_ISSUES ${PROJECT_SOURCE_DIR}/cases/known_issues.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${KNOWN_ISSUES})
file(READ ${KNOWN_ISSUES} JSON)

# A member of ISSUE; of an array its elements, with spaces between them; "affected" and "not_affected" are those of what was measured.
function(cufault_words KEY OUT)
  string(JSON TYPE ERROR_VARIABLE NONE TYPE "${ISSUE}" ${KEY})
  set(WORDS "")
  if(TYPE STREQUAL "STRING")
    string(JSON WORDS GET "${ISSUE}" ${KEY})
  endif()
  set(ARRAY ${KEY})
  if(KEY MATCHES "affected")
    set(ARRAY measured)
  endif()
  string(JSON COUNT ERROR_VARIABLE NONE LENGTH "${ISSUE}" ${ARRAY})
  set(I 0)
  while(I LESS COUNT)
    if(KEY MATCHES "affected")
      string(JSON ARCHITECTURE MEMBER "${ISSUE}" measured ${I})
      string(JSON VERSIONS GET "${ISSUE}" measured ${ARCHITECTURE} ${KEY})
      string(REGEX MATCHALL "[0-9.]+" VERSIONS "${VERSIONS}")
      list(TRANSFORM VERSIONS PREPEND " ${ARCHITECTURE}/")
      string(CONCAT WORD ${VERSIONS})
    elseif(KEY STREQUAL "ranges")
      string(JSON FROM GET "${ISSUE}" ranges ${I} from)
      string(JSON BEFORE GET "${ISSUE}" ranges ${I} before)
      set(WORD " ${FROM}<${BEFORE}")
    elseif(KEY STREQUAL "workarounds")
      string(JSON WORD GET "${ISSUE}" workarounds ${I} text)
      string(PREPEND WORD " ")
    else()
      string(JSON WORD GET "${ISSUE}" ${KEY} ${I})
      string(PREPEND WORD " ")
    endif()
    string(APPEND WORDS "${WORD}")
    math(EXPR I "${I} + 1")
  endwhile()
  string(STRIP "${WORDS}" WORDS)
  string(REPLACE "\\" "\\\\" WORDS "${WORDS}")
  string(REPLACE "\"" "\\\"" WORDS "${WORDS}")
  set(${OUT} "${WORDS}" PARENT_SCOPE)
endfunction()

string(JSON COUNT LENGTH "${JSON}" issues)
math(EXPR LAST "${COUNT} - 1")
set(ROWS "")
foreach(ROW RANGE ${LAST})
  string(JSON ISSUE GET "${JSON}" issues ${ROW})
  set(TEXT "")
  foreach(KEY id sort library harm what reach calls workarounds addresses affected not_affected ranges architectures)
    cufault_words(${KEY} WORDS)
    string(APPEND TEXT "\"${WORDS}\", ")
  endforeach()
  string(REGEX REPLACE ", $" "" TEXT "${TEXT}")
  string(APPEND ROWS "    known_issue{${TEXT}},\n")
endforeach()
set(CUFAULT_GENERATED_HEADERS ${PROJECT_BINARY_DIR}/generated_headers)
file(CONFIGURE OUTPUT ${CUFAULT_GENERATED_HEADERS}/cufault/known_issues_table.hpp CONTENT
"// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Made of cases/known_issues.json by harness/cmake/KnownIssues.cmake. Included by <cufault/known_issues.hpp>.
#pragma once

namespace cufault {

inline constexpr std::array<known_issue, ${COUNT}> known_issues_table{{
${ROWS}}};

}  // namespace cufault
" @ONLY)
