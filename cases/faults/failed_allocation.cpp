// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   With cuBLAS 13.1.0 on an H200: cublasCreate, cublasXtSgemm, cudaMalloc, cudaMallocAsync and cudaMallocManaged. sweep.OPERATION
//              fails each driver call of an operation.
// Why          The next allocation by the driver fails, though there is memory.
// Documented   cuBLAS documentation, CUBLAS_STATUS_ALLOC_FAILED. Made up: it is injected.
#include "cases/faults/failed_driver_call.hpp"

namespace cufault {
namespace {

const register_fault here{failed_driver_call(
    "failed_allocation", "made up: one allocation by the driver fails", "cuMemAlloc*", "OUT_OF_MEMORY")};

}  // namespace
}  // namespace cufault
