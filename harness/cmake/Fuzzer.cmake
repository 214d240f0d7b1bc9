# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
#
#   cufault_fuzzer([FOLDER/]NAME LIBRARY|SOURCE...)
#
# Makes the fuzzer NAME of [FOLDER/]NAME.cpp and of what it is to search: sources, and libraries of ours by their sources. They are compiled for
# it, rather than linked, so that all of their branches guide the search; each source once, for all fuzzers. The target `fuzzers` builds all that this machine can.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "CUFAULT_FUZZ needs clang, and this is ${CMAKE_CXX_COMPILER_ID}")
endif()
add_custom_target(fuzzers)

function(cufault_fuzzer SOURCE_STEM)
  cmake_path(GET SOURCE_STEM FILENAME NAME)
  set(SEARCHED -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -g)
  add_executable(${NAME} ${SOURCE_STEM}.cpp)
  set(INCLUDES "")
  foreach(PART IN LISTS ARGN)
    set(SOURCES ${PART})
    if(TARGET ${PART})
      get_target_property(SOURCES ${PART} SOURCES)
      get_target_property(FOLDER ${PART} SOURCE_DIR)
      list(TRANSFORM SOURCES PREPEND ${FOLDER}/)
      set(INCLUDES $<TARGET_PROPERTY:${PART},INCLUDE_DIRECTORIES>)
    endif()
    foreach(SOURCE IN LISTS SOURCES)
      cmake_path(ABSOLUTE_PATH SOURCE NORMALIZE OUTPUT_VARIABLE OBJECTS)
      cmake_path(RELATIVE_PATH OBJECTS BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      string(MAKE_C_IDENTIFIER fuzzed_${OBJECTS} OBJECTS)  # two rooms may have a file of one name
      if(NOT TARGET ${OBJECTS})
        add_library(${OBJECTS} OBJECT ${SOURCE})
        target_include_directories(${OBJECTS} PRIVATE ${INCLUDES})
        target_link_libraries(${OBJECTS} PRIVATE cufault_options nlohmann_json::nlohmann_json fmt::fmt)
        target_compile_options(${OBJECTS} PRIVATE ${SEARCHED})
      endif()
      target_sources(${NAME} PRIVATE $<TARGET_OBJECTS:${OBJECTS}>)
    endforeach()
  endforeach()
  target_link_libraries(${NAME} PRIVATE cufault_options nlohmann_json::nlohmann_json fmt::fmt)
  target_compile_options(${NAME} PRIVATE ${SEARCHED})
  target_link_options(${NAME} PRIVATE -fsanitize=fuzzer,address,undefined)
  add_dependencies(fuzzers ${NAME})
endfunction()
