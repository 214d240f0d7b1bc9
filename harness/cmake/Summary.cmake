# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
if(CUFAULT_HAVE_CUDA)
  message(STATUS "cufault: CUDA ${CUDAToolkit_VERSION}, with cases")
else()
  message(STATUS "cufault: no CUDA (${CUFAULT_CUDA_WHY_NOT}). Left out: all cases, the kernels and the squeeze; "
                 "built: records, baselines, claims, comparison and cufault's own tests. "
                 "To fetch a toolkit into this checkout: ci/suite")
endif()
