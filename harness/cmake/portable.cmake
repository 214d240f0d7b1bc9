# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Builds for the processor CUFAULT_PROCESSOR and an older glibc, by the commands c++, ar and ranlib in the folder CUFAULT_COMPILERS, which ci/wheel --for writes.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{CUFAULT_PROCESSOR})
set(CMAKE_CXX_COMPILER $ENV{CUFAULT_COMPILERS}/c++)
set(CMAKE_AR $ENV{CUFAULT_COMPILERS}/ar)
set(CMAKE_RANLIB $ENV{CUFAULT_COMPILERS}/ranlib)
# Where this machine's own libraries say what they are: of those that are headers alone, that holds for any processor.
list(APPEND CMAKE_PREFIX_PATH /usr/lib/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu/cmake)
# Of ziglang's compiler: no checks and no debug information, which it has by itself. It strips for any processor, as this machine's strip does not.
set(CMAKE_CXX_FLAGS_INIT "-g0 -fno-sanitize=all")
foreach(KIND EXE SHARED)
  set(CMAKE_${KIND}_LINKER_FLAGS_INIT -s)
endforeach()
set(CMAKE_STRIP true)
