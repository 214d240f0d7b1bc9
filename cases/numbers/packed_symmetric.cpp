// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasXtSspmm with a packed symmetric matrix of more than 46340 rows: wrong numbers, with CUBLAS_STATUS_SUCCESS, or an
//              access on the host that ends the process.
// Why          Supposed: the offset of an element in the packed matrix is computed from products of row and column, and 46341 squared
//              exceeds 2^31 - 1.
// Documented   Release notes (RN-17, 6155165): resolved in 13.3 Update 1. cuBLAS library, cublasXt<t>spmm: how it is packed, and that it
//              lies in host memory.
// What helps   Nothing is recommended. Tried besides: the same matrix unpacked, and cublasXtSsymm.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: 46341 rows give wrong numbers, 48000 a SIGSEGV, both for either triangle; unpacked
//              it is right. The controls took 14 and 16 s in one run, 10 and 13 of them in cublasXtSspmm with 46340 rows.
#include "harness/binding/cublas_binding.hpp"
#include "harness/kit/elements.hpp"
#include "harness/kit/memory_readings.hpp"
#include "harness/kit/products.hpp"
#include "harness/system/host_memory.hpp"
#include "harness/trial/observe.hpp"

#include <cublasXt.h>
#include <fmt/format.h>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cufault {
namespace {

// The largest number of rows whose square is below 2^31; the next one; and one so large that j (j + 1) also exceeds it for many columns j.
constexpr std::size_t largest_that_fits = 46340, just_above = 46341, well_above = 48000;
static_assert(largest_that_fits * largest_that_fits <= INT32_MAX && just_above * just_above > INT32_MAX);

/// cublasXt.h is not among the headers whose functions are bound.
template <class Function>
Function* xt_function(const char* name) {
  void* library = dlopen(bound_cublas().cublas.c_str(), RTLD_NOW | RTLD_NOLOAD);
  void* found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) throw not_provoked(fmt::format("this cuBLAS has no {}: take another one", name));
  return reinterpret_cast<Function*>(found);
}
#define CUFAULT_XT(name) xt_function<decltype(name)>(#name)  // "cublasXtCreate", with its type

/// How the symmetric matrix is stored.
enum class storage { packed_lower, packed_upper, whole };

/// C = A B of a symmetric A with the elements p(i) p(j), and a B of few columns, in host memory. Whole numbers: exact in any order.
class symmetric_product {
 public:
  symmetric_product(storage how, std::size_t m)
      : how_(how), m_(m), a_(room_for(how == storage::whole ? m * m : m * (m + 1) / 2)) {
    const auto p = floats(small_numbers(m, fresh_seed()));
    b_ = floats(small_numbers(m * n, fresh_seed()));
    float* at = a_.get();
    for (std::size_t j = 0; j < m; ++j) {
      const auto diagonal = p.begin() + static_cast<std::ptrdiff_t>(j);
      const bool upper = how == storage::packed_upper;
      const auto first = upper ? p.begin() : diagonal;
      const auto last = upper ? diagonal + 1 : p.end();
      if (how == storage::whole) at = &a_[j * m + j];  // of a whole matrix only the lower triangle is used
      at = std::transform(first, last, at, [by = p[j]](float x) { return x * by; });
    }
    for (std::size_t c = 0; c < n; ++c) {
      float sum = 0;
      for (std::size_t j = 0; j < m; ++j) sum += p[j] * b_[c * m + j];
      for (std::size_t i = 0; i < ldc(); ++i) expected_.push_back(i < m ? p[i] * sum : guard);
    }
    c_.assign(expected_.size(), guard);
  }

  product_result multiply(int device) {
    const auto create = CUFAULT_XT(cublasXtCreate);
    const auto select = CUFAULT_XT(cublasXtDeviceSelect);
    const auto spmm = CUFAULT_XT(cublasXtSspmm);
    const auto symm = CUFAULT_XT(cublasXtSsymm);
    const float one = 1, zero = 0;
    cublasXtHandle_t handle = nullptr;
    CUFAULT_REQUIRE(create(&handle));
    CUFAULT_REQUIRE(select(handle, 1, &device));
    const auto uplo = how_ == storage::packed_upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    product_result result;
    result.status = how_ == storage::whole ? symm(handle, CUBLAS_SIDE_LEFT, uplo, m_, n, &one, a_.get(), m_,
                                                  b_.data(), m_, &zero, c_.data(), ldc())
                                           : spmm(handle, CUBLAS_SIDE_LEFT, uplo, m_, n, &one, a_.get(),
                                                  b_.data(), m_, &zero, c_.data(), ldc());
    result.waited = cudaDeviceSynchronize();
    result.right = c_ == expected_;
    CUFAULT_XT(cublasXtDestroy)(handle);
    return result;
  }

 private:
  static constexpr std::size_t n = 5;
  static constexpr float guard = -0.5;  // no whole number
  [[nodiscard]] std::size_t ldc() const { return m_ + 8; }

  static std::vector<float> floats(const std::vector<double>& numbers) {
    return {numbers.begin(), numbers.end()};
  }
  static std::unique_ptr<float[]> room_for(std::size_t elements) {
    constexpr std::uint64_t spare = 2ULL << 30;  // for everything else on host and device
    const std::uint64_t bytes = elements * sizeof(float) + spare;
    if (available_host_memory() < bytes)
      throw not_provoked(fmt::format("{} MiB of host memory are not available: free them", bytes >> 20));
    if (free_device_memory() < spare)
      throw not_provoked(fmt::format("{} MiB of device memory are not free: free them", spare >> 20));
    return std::make_unique_for_overwrite<float[]>(elements);
  }

  storage how_;
  std::size_t m_;
  std::unique_ptr<float[]> a_;
  std::vector<float> b_, c_, expected_;
};

void packed(trial& t, storage how, std::size_t m) {
  symmetric_product work(how, m);
  CUFAULT_OBSERVE_AS("cublasXtSspmm", "", work.multiply(t.device()));
}

void unpacked(trial& t) {
  t.open_context();
  t.apply("unpack the matrix for cublasXtSsymm");
  symmetric_product work(storage::whole, well_above);
  CUFAULT_OBSERVE_AS("cublasXtSsymm", "", work.multiply(t.device()));
}

void packed_symmetric(failure_case& c) {
  const auto add = [&](const char* name, arm_kind kind, const char* summary, storage how, std::size_t m) {
    c.add(name, kind, summary, [=](trial& t) {
      t.open_context();
      packed(t, how, m);
    });
  };
  add("control", arm_kind::control, "46340 rows, lower triangle", storage::packed_lower, largest_that_fits);
  add("control_upper", arm_kind::control, "46340 rows, upper triangle", storage::packed_upper,
      largest_that_fits);
  add("lower", arm_kind::fault, "48000 rows, lower triangle", storage::packed_lower, well_above);
  add("upper", arm_kind::fault, "48000 rows, upper triangle", storage::packed_upper, well_above);
  add("lower_just_above", arm_kind::fault, "46341 rows, lower triangle", storage::packed_lower, just_above);
  add("upper_just_above", arm_kind::fault, "46341 rows, upper triangle", storage::packed_upper, just_above);
  c.remedy("unpacked", "48000 rows, unpacked, by cublasXtSsymm", unpacked).against = "lower";
  for (arm& a : c.arms) {
    a.timeout = std::chrono::seconds(240);
    a.rarely_calls_driver = true;  // the host fills, unpacks and copies gigabytes
  }
}

const register_case here("numbers.packed_symmetric", "cublasXtSspmm with more rows than the root of 2^31",
                         {"RN-17"}, packed_symmetric);

}  // namespace
}  // namespace cufault
