// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSnrm2 with its result in device memory.
#include "cases/operations/vector_result.hpp"

namespace cufault::operations {
namespace {

/// All of one magnitude, 1, 2 or 4: the root of 65536 squares is exact, but cuBLAS 13.1.0 rounds on the way (reports/recorded/2026-11-22-matrix-runs.txt).
std::vector<double> of_one_magnitude(std::size_t count, std::uint64_t seed) {
  const double magnitude = 1 << seed % 3;
  std::vector<double> numbers = small_numbers(count, seed);
  for (double& each : numbers) each = each < 0 ? -magnitude : magnitude;
  return numbers;
}

const vector_result::function norm{
    .numbers = of_one_magnitude,
    .call = [](cublasHandle_t handle, const float* x, const float* /*y*/,
               float* result) { return cublasSnrm2(handle, vector_result::count, x, 1, result); },
    .expected =
        [](std::span<const double> x, std::span<const double> /*y*/) {
          return std::abs(x[0]) * std::sqrt(static_cast<double>(x.size()));
        },
    .tolerance = 1e-6};

const register_operation here{{.name = "nrm2_device",
                               .step = {"cublasSnrm2", "device_result"},
                               .summary = "cublasSnrm2, its result on the device",
                               .fresh = fresh_vector_result(CUBLAS_POINTER_MODE_DEVICE, norm)}};

}  // namespace
}  // namespace cufault::operations
