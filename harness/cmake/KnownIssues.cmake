# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# <cufault/known_issues_table.hpp> of cases/known_issues.json: programs that include it need no parser.
set(KNOWN_ISSUES ${PROJECT_SOURCE_DIR}/cases/known_issues.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${KNOWN_ISSUES})
file(READ ${KNOWN_ISSUES} JSON)

# The elements of an array of ISSUE, or a member of each, with spaces between them.
function(cufault_words KEY MEMBER OUT)
  string(JSON COUNT ERROR_VARIABLE NONE LENGTH "${ISSUE}" ${KEY})
  set(WORDS "")
  if(COUNT GREATER 0)
    math(EXPR LAST "${COUNT} - 1")
    foreach(I RANGE ${LAST})
      string(JSON WORD GET "${ISSUE}" ${KEY} ${I} ${MEMBER})
      string(APPEND WORDS "${SPACE}${WORD}")
      set(SPACE " ")
    endforeach()
  endif()
  set(${OUT} "${WORDS}" PARENT_SCOPE)
endfunction()

function(cufault_measured KEY OUT)
  set(WORDS "")
  string(JSON COUNT ERROR_VARIABLE NONE LENGTH "${ISSUE}" measured)
  if(COUNT GREATER 0)
    math(EXPR LAST "${COUNT} - 1")
    foreach(I RANGE ${LAST})
      string(JSON ARCHITECTURE MEMBER "${ISSUE}" measured ${I})
      string(JSON VERSIONS LENGTH "${ISSUE}" measured ${ARCHITECTURE} ${KEY})
      if(VERSIONS GREATER 0)
        math(EXPR LAST_VERSION "${VERSIONS} - 1")
        foreach(V RANGE ${LAST_VERSION})
          string(JSON VERSION GET "${ISSUE}" measured ${ARCHITECTURE} ${KEY} ${V})
          string(APPEND WORDS "${SPACE}${ARCHITECTURE}/${VERSION}")
          set(SPACE " ")
        endforeach()
      endif()
    endforeach()
  endif()
  set(${OUT} "${WORDS}" PARENT_SCOPE)
endfunction()

string(JSON COUNT LENGTH "${JSON}" issues)
math(EXPR LAST "${COUNT} - 1")
set(ROWS "")
foreach(ROW RANGE ${LAST})
  string(JSON ISSUE GET "${JSON}" issues ${ROW})
  set(TEXT "")
  foreach(KEY id sort library harm what)
    string(JSON VALUE GET "${ISSUE}" ${KEY})
    string(REPLACE "\\" "\\\\" VALUE "${VALUE}")
    string(REPLACE "\"" "\\\"" VALUE "${VALUE}")
    string(APPEND TEXT "\"${VALUE}\", ")
  endforeach()
  cufault_words(calls "" CALLS)
  cufault_words(workarounds text WORKAROUNDS)
  cufault_words(addresses "" ADDRESSES)
  cufault_measured(affected AFFECTED)
  cufault_measured(not_affected NOT_AFFECTED)
  set(RANGES "")
  string(JSON SPANS ERROR_VARIABLE NONE LENGTH "${ISSUE}" ranges)
  if(SPANS GREATER 0)
    math(EXPR LAST_SPAN "${SPANS} - 1")
    foreach(S RANGE ${LAST_SPAN})
      string(JSON FROM GET "${ISSUE}" ranges ${S} from)
      string(JSON BEFORE GET "${ISSUE}" ranges ${S} before)
      string(APPEND RANGES " ${FROM}<${BEFORE}")
    endforeach()
    string(STRIP "${RANGES}" RANGES)
  endif()
  cufault_words(architectures "" ARCHITECTURES)
  foreach(VALUE CALLS WORKAROUNDS ADDRESSES AFFECTED NOT_AFFECTED RANGES ARCHITECTURES)
    string(REPLACE "\\" "\\\\" TEXT_OF_VALUE "${${VALUE}}")
    string(REPLACE "\"" "\\\"" TEXT_OF_VALUE "${TEXT_OF_VALUE}")
    string(APPEND TEXT "\"${TEXT_OF_VALUE}\", ")
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
