// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// step_names.cmake compiles this with different steps as STEP.
#include "harness/trial/observe.hpp"

cublasStatus_t cublasCreated(cublasHandle_t* handle);

cublasStatus_t made(cublasHandle_t* handle) {
  CUFAULT_OBSERVE(cublasCreate(handle));
  CUFAULT_OBSERVE_AS("cublasCreate", "helper", cublasCreated(handle));
  return STEP;
}
