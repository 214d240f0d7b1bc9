// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   What needs device memory: handles, workspaces, code that is loaded, allocations.
// Why          There is none.
// Documented   cuBLAS documentation, CUBLAS_STATUS_ALLOC_FAILED; CUDA Programming Guide, lazy loading.
#include "cases/faults/full_device.hpp"

namespace cufault {
namespace {

const register_fault here{
    full_device("full_device_lazy", "device memory is held by the program; code is loaded when it is needed",
                {{"CUDA_MODULE_LOADING", "LAZY"}})};

}  // namespace
}  // namespace cufault
