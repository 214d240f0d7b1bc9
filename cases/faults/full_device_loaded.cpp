// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   What needs device memory: handles, workspaces, code that is not loaded yet, allocations. In full_device_lazy, no product loaded code
//              of cuBLAS before.
// Why          There is none.
// Documented   cuBLAS documentation, CUBLAS_STATUS_ALLOC_FAILED; CUDA Programming Guide, lazy loading.
#include "cases/faults/full_device.hpp"
#include "harness/kit/products.hpp"

namespace cufault {
namespace {

const register_fault here{
    full_device("full_device_loaded",
                "device memory is held by the program; code is loaded when it is needed, and "
                "a product of another handle had loaded some",
                {{"CUDA_MODULE_LOADING", "LAZY"}}, [] { CUFAULT_REQUIRE(product(new_handle())); })};

}  // namespace
}  // namespace cufault
