# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# A step with an unknown API does not compile, and the compiler's error says what to do. COMPILE is the compiler with its options.
function(compile STEP SAID)  # SAID: the error, empty for none
  execute_process(COMMAND ${COMPILE} -fsyntax-only "-DSTEP=${STEP}" ${CMAKE_CURRENT_LIST_DIR}/step_names.cpp
    RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(SAID STREQUAL "" AND NOT code EQUAL 0)
    message(FATAL_ERROR "${STEP}: does not compile: ${out}")
  endif()
  string(FIND "${out}" "${SAID}" place)
  if(NOT SAID STREQUAL "" AND (code EQUAL 0 OR place EQUAL -1))
    message(FATAL_ERROR "${STEP}: exit code ${code}, without '${SAID}': ${out}")
  endif()
endfunction()

compile("CUFAULT_OBSERVE_AS(\"check.numbers\", \"helper\", cublasCreated(handle))" "")
compile("CUFAULT_OBSERVE(cublasCreated(handle))" "no API function: name it with CUFAULT_OBSERVE_AS")
compile("CUFAULT_OBSERVE_AS(\"cublasCreated\", \"helper\", cublasCreated(handle))" "no API function, and no work of our own")
