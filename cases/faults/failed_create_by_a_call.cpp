// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   With cuBLAS 13.1.0 on an H200, first calls: cublasSgemmGroupedBatched (EXECUTION_FAILED) and cublasSetMatrixAsync
//              (MAPPING_ERROR). cublasXtSgemm is unresolved: the process ends by SIGSEGV before the call. The 75 other operations work,
//              cublasCreate among them. failed_create.cpp makes cublasCreate fail by a full device.
// Why          What a first attempt could not make may stay unmade: the handle of the operation is made afterwards.
// Documented   Nowhere. Made up: it is injected.
#include "cases/faults/failed_driver_call.hpp"
#include "harness/matrix/world.hpp"

#include <cublas_v2.h>

namespace cufault {
namespace {

const register_fault here{
    {.name = "failed_create_by_a_call",
     .summary = "made up: a cublasCreate failed before by one driver call, an allocation",
     .kind = "failed_create",
     .before_operation = true,
     .made_up = true,
     .arrange = [](arm& a) { under_injector(a); },
     .provoke =
         [](world&) {
           const failing_driver_call now("cuMemAlloc*", "OUT_OF_MEMORY");
           cublasHandle_t handle = nullptr;
           if (cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS)
             throw not_provoked("cublasCreate succeeded though an allocation failed");
         }}};

}  // namespace
}  // namespace cufault
