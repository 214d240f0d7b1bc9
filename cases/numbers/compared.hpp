// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/elements.hpp"
#include "harness/trial.hpp"

#include <span>

namespace cufault {

/// What became of a call that should leave exactly `expected` in an array, NaN where that has NaN. Waits for the device.
inline product_result compared(cublasStatus_t status, const guarded_array& array,
                               std::span<const double> expected) {
  product_result result{.status = status, .waited = cudaDeviceSynchronize()};
  if (status == CUBLAS_STATUS_SUCCESS && result.waited == cudaSuccess)
    result.right = differing(expected, array.get()).empty() && array.guards_intact();
  return result;
}

}  // namespace cufault
