# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
#
#   cufault_fuzzer(NAME LIBRARY|SOURCE...)
#
# Makes the fuzzer NAME of NAME.cpp and of what it is to search: sources, and libraries of ours by their sources. They are compiled for
# it, rather than linked, so that all of their branches guide the search. The target `fuzzers` builds all that this machine can.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "CUFAULT_FUZZ needs clang, and this is ${CMAKE_CXX_COMPILER_ID}")
endif()
add_custom_target(fuzzers)

function(cufault_fuzzer NAME)
  add_executable(${NAME} ${NAME}.cpp)
  foreach(PART IN LISTS ARGN)
    if(TARGET ${PART})
      get_target_property(SOURCES ${PART} SOURCES)
      get_target_property(FOLDER ${PART} SOURCE_DIR)
      list(TRANSFORM SOURCES PREPEND ${FOLDER}/)
      target_sources(${NAME} PRIVATE ${SOURCES})
      target_include_directories(${NAME} PRIVATE $<TARGET_PROPERTY:${PART},INCLUDE_DIRECTORIES>)
    else()
      target_sources(${NAME} PRIVATE ${PART})
    endif()
  endforeach()
  target_link_libraries(${NAME} PRIVATE cufault_options nlohmann_json::nlohmann_json fmt::fmt)
  target_compile_options(${NAME} PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -g)
  target_link_options(${NAME} PRIVATE -fsanitize=fuzzer,address,undefined)
  add_dependencies(fuzzers ${NAME})
endfunction()
