// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   With cuBLAS 13.1.0 on an H200, eager loading: cublasCreate, though there is memory again. cuBLASLt works.
// Why          What a first attempt could not make may stay unmade: the handle of the operation is made afterwards.
// Documented   Nowhere.
#include "cases/faults/full_device.hpp"
#include "harness/matrix/world.hpp"

#include <cublas_v2.h>

namespace cufault {
namespace {

const register_fault here{
    {.name = "failed_create",
     .summary = "a cublasCreate failed for want of memory before, and now there is memory",
     .kind = "failed_create",
     .environment = {{"CUDA_MODULE_LOADING", "EAGER"}},
     .cells = isolation::lasting,
     .memory = memory_class::exclusive,
     .before_operation = true,
     .provoke = [](world&) {
       const device_memory_pressure full(0);
       cublasHandle_t handle = nullptr;
       if (cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS)
         throw not_provoked("cublasCreate succeeded on a full device");
     }}};

}  // namespace
}  // namespace cufault
