// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/operations/operations.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace cufault::operations {

/// A function of one or two vectors whose result is one number: in host memory, for which the call waits, or in device memory.
class vector_result final : public by_handle {
 public:
  static constexpr int count = 65536;
  struct function {
    std::vector<double> (*numbers)(std::size_t count, std::uint64_t seed);
    cublasStatus_t (*call)(cublasHandle_t handle, const float* x, const float* y, float* result);
    double (*expected)(std::span<const double> x, std::span<const double> y);
    double tolerance = 0;  // of the result, relative
  };
  vector_result(cublasPointerMode_t result_in, const function& of) : result_in_(result_in), of_(of) {}

  void prepare() override {
    const auto x = of_.numbers(count, fresh_seed()), y = of_.numbers(count, fresh_seed());
    x_.put(x);
    y_.put(y);
    on_host_ = NAN;
    on_device_.poison();
    expected_ = of_.expected(x, y);
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

inline make_operation fresh_vector_result(cublasPointerMode_t result_in, const vector_result::function& of) {
  return [=] { return std::make_unique<vector_result>(result_in, of); };
}

/// cublasSdot. Sums of so few small numbers are exact in any order.
inline const vector_result::function dot{
    .numbers = small_numbers,
    .call = [](cublasHandle_t handle, const float* x, const float* y,
               float* result) { return cublasSdot(handle, vector_result::count, x, 1, y, 1, result); },
    .expected =
        [](std::span<const double> x, std::span<const double> y) {
          double sum = 0;
          for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
          return sum;
        }};

}  // namespace cufault::operations
