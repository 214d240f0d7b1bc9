// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   With cuBLAS 13.1.0 on an H200: cublasCreate and cublasLtCreate, with INTERNAL_ERROR, so that most operations cannot be
//              prepared. environment.missing_entry has other functions.
// Why          The CUDA runtime in cuBLAS looks driver functions up by name, and finds out at first use what there is not.
// Documented   CUDA Runtime API, cudaErrorCallRequiresNewerDriver (36). Made up: a driver that lacks only this is not known.
#include "harness/injection/host_faults.hpp"
#include "harness/injection/preloaded.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "driver_without_entry",
                           .summary = "made up: as if the driver had no cuKernelGetFunction",
                           .kind = "driver",
                           .environment = {{"CUFAULT_RULES", host_faults::hidden("cuKernelGetFunction")}},
                           .made_up = true,
                           .arrange = [](arm& a) { under_injector(a); }}};

}  // namespace
}  // namespace cufault
