# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# What `cpack` makes in a build folder: cufault as .deb, .rpm and .tar.gz. cuBLAS and the driver are bound when the program runs: no package depends on them.
# All need glibc and libstdc++ as new as those of this machine, and nothing else. ci/package makes and tests them.
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR DEB RPM TGZ)
set(CPACK_PACKAGE_VENDOR "cufault contributors")
set(CPACK_PACKAGE_CONTACT "cufault contributors")
set(CPACK_PACKAGE_DESCRIPTION "Brings about documented failures of cuBLAS, cuBLASLt and the CUDA runtime on purpose, shows which recommended workarounds clear them,
and compares what it saw with records of other stacks. It also fails driver calls of any program on request.")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
string(TOLOWER ${PROJECT_NAME}-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR} CPACK_PACKAGE_FILE_NAME)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/harness/packaging/package_libraries.cmake)
set(CPACK_CUFAULT_LIBRARIES ${CMAKE_INSTALL_LIBDIR}/cufault)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3 (>= 3.9)")  # known, bisect, table and their like

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_SUGGESTS "python3 >= 3.9")
# Programs and drivers that the cases try name cuBLAS, and call themselves a driver: that is no need and no offer of the package.
set(CPACK_RPM_PACKAGE_AUTOREQ ON)
set(CPACK_RPM_PACKAGE_AUTOPROV OFF)
# With SOURCE_DATE_EPOCH in the environment, two builds of a commit give the same files (ci/release).
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _buildhost localhost
%define __requires_exclude ^lib(cuda|cublas|cublasLt)[.]so.*$")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/doc /usr/share/man /usr/share/man/man1)  # others have an owner on every system

include(CPack)
