// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/elements.hpp"

#include "harness/trial/observe.hpp"
#include "kernels/compare.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace cufault {
namespace {

constexpr std::size_t guard = 4096;
constexpr auto guard_byte = std::byte{0xa5};

template <class T>
T from_number(double x) {
  if constexpr (std::is_same_v<T, __half>)
    return __double2half(x);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __double2bfloat16(x);
  else
    return static_cast<T>(x);
}

template <class T>
double to_number(T x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(x);
  else
    return static_cast<double>(static_cast<float>(x));
}

template <class T>
struct real {
  using part = T;
  static constexpr std::size_t parts = 1;
};
template <class T>
struct complex {
  using part = T;
  static constexpr std::size_t parts = 2;
};

/// Calls `work` with a value of the type's C++ type.
template <class Work>
auto with_elements(cudaDataType type, Work&& work) {
  switch (type) {
    case CUDA_R_8I:
      return work(real<std::int8_t>{});
    case CUDA_R_8F_E4M3:
      return work(real<__nv_fp8_e4m3>{});
    case CUDA_R_8F_E5M2:
      return work(real<__nv_fp8_e5m2>{});
    case CUDA_R_16F:
      return work(real<__half>{});
    case CUDA_R_16BF:
      return work(real<__nv_bfloat16>{});
    case CUDA_R_32F:
      return work(real<float>{});
    case CUDA_R_32I:
      return work(real<std::int32_t>{});
    case CUDA_R_64F:
      return work(real<double>{});
    case CUDA_C_8I:
      return work(complex<std::int8_t>{});
    case CUDA_C_32F:
      return work(complex<float>{});
    case CUDA_C_64F:
      return work(complex<double>{});
    default:
      throw setup_failed(fmt::format("no numbers are known for elements of {}",
                                     argument_check::detail::type_name(static_cast<int>(type))));
  }
}

std::size_t bytes_of(cudaDataType type) {
  return with_elements(type, []<class E>(E /*element*/) { return E::parts * sizeof(typename E::part); });
}

bool is_whole(cudaDataType type) {
  return with_elements(type, []<class E>(E /*element*/) { return std::is_integral_v<typename E::part>; });
}

/// Element (i, j) of matrix b, after op().
struct view {
  std::int64_t ld, stride;
  bool turned;
  [[nodiscard]] std::size_t index(std::int64_t i, std::int64_t j, std::int64_t b) const {
    return static_cast<std::size_t>(b * stride + (turned ? i * ld + j : j * ld + i));
  }
};

const double& element(std::span<const double> of, std::size_t index) {
  if (index >= of.size())
    throw std::out_of_range(fmt::format("element {} of an array of {}", index, of.size()));
  return of[index];
}

}  // namespace

std::vector<std::byte> encoded(cudaDataType type, std::span<const double> values) {
  return with_elements(type, [&]<class E>(E /*element*/) {
    using part = typename E::part;
    std::vector<std::byte> bytes(values.size() * E::parts * sizeof(part));  // imaginary parts are 0
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto x = from_number<part>(values[i]);
      std::memcpy(&bytes[i * E::parts * sizeof(part)], &x, sizeof x);
    }
    return bytes;
  });
}

std::vector<double> decoded(cudaDataType type, std::span<const std::byte> bytes) {
  return with_elements(type, [&]<class E>(E /*element*/) {
    using part = typename E::part;
    std::vector<double> values(bytes.size() / (E::parts * sizeof(part)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::array<part, E::parts> parts;
      std::memcpy(parts.data(), &bytes[i * sizeof parts], sizeof parts);
      values[i] = to_number(parts[0]);
      if (E::parts == 2 && to_number(parts.back()) != 0) values[i] = NAN;
    }
    return values;
  });
}

std::vector<double> small_numbers(std::size_t count, std::uint64_t seed) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = std::floor((random_element(seed, i) + 1) * 2.5) - 2;  // maps -1 to 1 onto -2 to 2
  return numbers;
}

std::vector<double> multiplied(const argument_check::product& described, double alpha,
                               std::span<const double> a, std::span<const double> b, double beta,
                               std::vector<double> c) {
  const auto viewed = [](const argument_check::matrix& m, cublasOperation_t op) {
    return view{m.leading_dimension, m.stride, op != CUBLAS_OP_N};
  };
  const view of_a = viewed(described.a, described.a_op), of_b = viewed(described.b, described.b_op),
             of_c = viewed(described.c, CUBLAS_OP_N);
  for (std::int64_t matrix = 0; matrix < described.batch; ++matrix)
    for (std::int64_t j = 0; j < described.n; ++j)
      for (std::int64_t i = 0; i < described.m; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < described.k; ++l)
          sum += element(a, of_a.index(i, l, matrix)) * element(b, of_b.index(l, j, matrix));
        const std::size_t at = of_c.index(i, j, matrix);
        const double before = element(c, at);
        c[at] = alpha * sum + (beta == 0 ? 0 : beta * before);
      }
  return c;
}

std::vector<std::size_t> differing(std::span<const double> one, std::span<const double> other) {
  std::vector<std::size_t> indices;
  const std::size_t both = std::min(one.size(), other.size());
  for (std::size_t i = 0; i < both; ++i)
    if (one[i] != other[i] && !(std::isnan(one[i]) && std::isnan(other[i]))) indices.push_back(i);
  for (std::size_t i = both; i < std::max(one.size(), other.size()); ++i) indices.push_back(i);
  return indices;
}

std::vector<std::int64_t> runs_of(std::span<const std::size_t> indices) {
  std::vector<std::int64_t> runs;
  for (const std::size_t each : indices) {
    const auto index = static_cast<std::int64_t>(each);
    if (runs.empty() || runs.back() + 1 != index) runs.insert(runs.end(), 2, index);
    runs.back() = index;
  }
  return runs;
}

unreadable::unreadable(cudaError_t status)
    : setup_failed(
          fmt::format("an array could not be read: cudaMemcpy returned {}", record_of(status).text())),
      status_(status) {}

guarded_array::guarded_array(cudaDataType type, std::size_t count, std::size_t off_by)
    : type_(type), count_(count), off_by_(off_by) {
  const std::size_t bytes = 2 * guard + off_by + count * bytes_of(type);
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, bytes));
  block_ = static_cast<std::byte*>(memory);
  poison();
}

guarded_array::~guarded_array() {
  if (block_ != nullptr) cudaFree(block_);
}

guarded_array::guarded_array(guarded_array&& other) noexcept
    : type_(other.type_),
      count_(other.count_),
      off_by_(other.off_by_),
      block_(std::exchange(other.block_, nullptr)),
      image_(std::move(other.image_)) {}

void* guarded_array::data() const {
  return block_ + guard + off_by_;
}

void guarded_array::put(std::span<const double> values) {
  if (values.size() != count_)
    throw setup_failed(fmt::format("{} numbers for an array of {}", values.size(), count_));
  set(encoded(type_, values));
}

void guarded_array::poison() {
  set(std::vector<std::byte>(count_ * bytes_of(type_), is_whole(type_) ? std::byte{0x81} : std::byte{0xff}));
}

void guarded_array::set(std::vector<std::byte> content) {
  image_.assign(guard + off_by_, guard_byte);
  image_.insert(image_.end(), content.begin(), content.end());
  image_.insert(image_.end(), guard, guard_byte);
  CUFAULT_REQUIRE(cudaMemcpy(block_, image_.data(), image_.size(), cudaMemcpyHostToDevice));
}

std::vector<std::byte> guarded_array::fetched() const {
  std::vector<std::byte> now(image_.size());
  const cudaError_t status = cudaMemcpy(now.data(), block_, now.size(), cudaMemcpyDeviceToHost);
  if (status != cudaSuccess) throw unreadable(status);
  return now;
}

std::vector<double> guarded_array::get() const {
  const auto now = fetched();
  return decoded(type_, std::span(now).subspan(guard + off_by_, count_ * bytes_of(type_)));
}

std::vector<std::size_t> guarded_array::written() const {
  const auto now = fetched();
  const std::size_t size = bytes_of(type_);
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t at = guard + off_by_ + i * size;
    if (std::memcmp(&now[at], &image_[at], size) != 0) indices.push_back(i);
  }
  return indices;
}

bool guarded_array::guards_intact() const {
  const auto now = fetched();
  const auto same = [&](std::size_t from, std::size_t to) {
    return std::memcmp(&now[from], &image_[from], to - from) == 0;
  };
  return same(0, guard + off_by_) && same(now.size() - guard, now.size());
}

}  // namespace cufault
