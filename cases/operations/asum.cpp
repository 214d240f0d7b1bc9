// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSasum with its result in host memory: the call waits for it.
#include "cases/operations/vector_result.hpp"

namespace cufault::operations {
namespace {

const vector_result::function sum_of_magnitudes{
    .numbers = small_numbers,
    .call = [](cublasHandle_t handle, const float* x, const float* /*y*/,
               float* result) { return cublasSasum(handle, vector_result::count, x, 1, result); },
    .expected =
        [](std::span<const double> x, std::span<const double> /*y*/) {
          double sum = 0;
          for (const double each : x) sum += std::abs(each);
          return sum;
        }};

const register_operation here{{.name = "asum",
                               .step = {"cublasSasum", "host_result"},
                               .summary = "cublasSasum, its result on the host",
                               .fresh = fresh_vector_result(CUBLAS_POINTER_MODE_HOST, sum_of_magnitudes)}};

}  // namespace
}  // namespace cufault::operations
