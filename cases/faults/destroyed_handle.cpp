// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Operations by a handle that was destroyed.
// Why          What it points to is gone, or belongs to somebody else.
// Documented   cuBLAS documentation: CUBLAS_STATUS_NOT_INITIALIZED of a handle that is none; undefined otherwise.
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "destroyed_handle",
                           .summary = "the handle was destroyed",
                           .kind = "handle",
                           .undefined = "what was the handle is free memory",
                           .acts_on = {own_handle::cublas, own_handle::cublaslt},
                           .provoke = [](world& w) {
                             if (cublasLtHandle_t lt = w.of_cell().lt(); lt != nullptr) {
                               CUFAULT_REQUIRE(cublasLtDestroy(lt));
                             } else {
                               CUFAULT_REQUIRE(cublasDestroy(w.handle()));
                             }
                           }}};

}  // namespace
}  // namespace cufault
