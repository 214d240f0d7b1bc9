// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Level 1 of cuBLAS: routines on vectors.
#include "cases/operations/operations.hpp"

#include <cmath>

namespace cufault::operations {
namespace {

constexpr int count = 65536;

/// A function of one or two vectors with one number as result: in host memory, for which the call waits, or in device memory.
class vector_result final : public by_handle {
 public:
  struct function {
    numbers (*vectors)(std::size_t count, std::uint64_t seed);
    cublasStatus_t (*call)(cublasHandle_t handle, const float* x, const float* y, float* result);
    double (*reference)(const numbers& x, const numbers& y);
    double tolerance = 0;  // relative
  };
  vector_result(cublasPointerMode_t result_in, const function& of) : result_in_(result_in), of_(of) {}

  void prepare() override {
    const auto x = of_.vectors(count, fresh_seed()), y = of_.vectors(count, fresh_seed());
    x_.put(x);
    y_.put(y);
    on_host_ = NAN;
    on_device_.poison();
    expected_ = of_.reference(x, y);
    CUFAULT_REQUIRE(cublasSetPointerMode(handle(), result_in_));
  }
  status_record make() override {
    const bool host = result_in_ == CUBLAS_POINTER_MODE_HOST;
    return record_of(of_.call(handle(), floats(x_), floats(y_), host ? &on_host_ : floats(on_device_)));
  }
  product_result check() override {
    return proved(CUBLAS_STATUS_SUCCESS, [&] {
      const bool host = result_in_ == CUBLAS_POINTER_MODE_HOST;
      const double found = host ? static_cast<double>(on_host_) : on_device_.get().front();
      return std::abs(found - expected_) <= of_.tolerance * expected_ && (host || on_device_.guards_intact());
    });
  }
  product_result multiply() override {
    cublasSetPointerMode(handle(), CUBLAS_POINTER_MODE_HOST);
    return by_handle::multiply();
  }

 private:
  cublasPointerMode_t result_in_;
  function of_;
  guarded_array x_{CUDA_R_32F, count}, y_{CUDA_R_32F, count}, on_device_{CUDA_R_32F, 1};
  float on_host_ = 0;
  double expected_ = 0;
};

make_operation fresh_result(cublasPointerMode_t result_in, const vector_result::function& of) {
  return [=] { return std::make_unique<vector_result>(result_in, of); };
}

/// Sums of a few small numbers are exact in any order.
const vector_result::function sum_of_magnitudes{
    .vectors = small_numbers,
    .call = [](cublasHandle_t handle, const float* x, const float* /*y*/,
               float* result) { return cublasSasum(handle, count, x, 1, result); },
    .reference =
        [](const numbers& x, const numbers& /*y*/) {
          double sum = 0;
          for (const double each : x) sum += std::abs(each);
          return sum;
        }};

const vector_result::function dot{
    .vectors = small_numbers,
    .call = [](cublasHandle_t handle, const float* x, const float* y,
               float* result) { return cublasSdot(handle, count, x, 1, y, 1, result); },
    .reference =
        [](const numbers& x, const numbers& y) {
          double sum = 0;
          for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
          return sum;
        }};

/// Numbers of one magnitude, 1, 2 or 4: the root of 65536 squares is exact, but cuBLAS 13.1.0 rounds on the way
/// (reports/recorded/2026-11-22-matrix-runs.txt).
numbers of_one_magnitude(std::size_t count, std::uint64_t seed) {
  const double magnitude = 1 << seed % 3;
  numbers all = small_numbers(count, seed);
  for (double& each : all) each = each < 0 ? -magnitude : magnitude;
  return all;
}

const vector_result::function norm{
    .vectors = of_one_magnitude,
    .call = [](cublasHandle_t handle, const float* x, const float* /*y*/,
               float* result) { return cublasSnrm2(handle, count, x, 1, result); },
    .reference =
        [](const numbers& x, const numbers& /*y*/) {
          return std::abs(x[0]) * std::sqrt(static_cast<double>(x.size()));
        },
    .tolerance = 1e-6};

/// The result is in host memory: the call waits for it.
class largest final : public by_handle {
 public:
  void prepare() override {
    const std::uint64_t seed = fresh_seed();
    auto x = small_numbers(count, seed);
    const std::size_t at = seed % count;
    x[at] = -8;
    x_.put(x);
    expected_ = static_cast<int>(at) + 1;  // from 1, as in Fortran
    found_ = 0;
  }
  status_record make() override { return record_of(cublasIsamax(handle(), count, floats(x_), 1, &found_)); }
  product_result check() override {
    return {.waited = cudaDeviceSynchronize(), .right = found_ == expected_};
  }

 private:
  guarded_array x_{CUDA_R_32F, count};
  int expected_ = 0, found_ = 0;
};

const register_operations here{
    {.name = "asum",
     .step = {"cublasSasum", "host_result"},
     .summary = "cublasSasum, its result on the host",
     .fresh = fresh_result(CUBLAS_POINTER_MODE_HOST, sum_of_magnitudes)},
    {.name = "axpy",
     .step = {"cublasSaxpy"},
     .fresh = routine{.inputs = {count, count},
                      .call =
                          [](cublasHandle_t handle, const routine::arrays& on) {
                            return cublasSaxpy(handle, count, &two, on[0], 1, on[1], 1);
                          },
                      .reference = [](std::vector<numbers>& in) { return sum_of(in[1], 2, in[0]); }}},
    {.name = "dot_device",
     .step = {"cublasSdot", "device_result"},
     .summary = "cublasSdot, its result on the device",
     .fresh = fresh_result(CUBLAS_POINTER_MODE_DEVICE, dot)},
    {.name = "dot_host",
     .step = {"cublasSdot", "host_result"},
     .summary = "cublasSdot, its result on the host",
     .fresh = fresh_result(CUBLAS_POINTER_MODE_HOST, dot),
     .representative = true},
    {.name = "iamax",
     .step = {"cublasIsamax", "host_result"},
     .summary = "cublasIsamax, its result on the host",
     .fresh = fresh<largest>},
    {.name = "nrm2_device",
     .step = {"cublasSnrm2", "device_result"},
     .summary = "cublasSnrm2, its result on the device",
     .fresh = fresh_result(CUBLAS_POINTER_MODE_DEVICE, norm)},
    {.name = "scal",
     .step = {"cublasSscal"},
     .fresh = routine{
         .inputs = {count},
         .call = [](cublasHandle_t handle,
                    const routine::arrays& on) { return cublasSscal(handle, count, &three, on[0], 1); },
         .reference = [](std::vector<numbers>& in) { return sum_of(in[0], 2, in[0]); }}}};

}  // namespace
}  // namespace cufault::operations
