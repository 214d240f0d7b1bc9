// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/errors.hpp"

#include <cuda_runtime.h>

#include <library_types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cufault/argument_check.hpp"

namespace cufault {

/// Elements of any type that products take, as numbers on the host. Whole numbers of up to 8 in magnitude are exact in each of
/// them. A complex number is its real part; one with another imaginary part than 0 reads as NaN.
/// Types are those of argument_check::detail::element_size, but for unsigned and 16-bit integers; throws setup_failed for others.
std::vector<std::byte> encoded(cudaDataType type, std::span<const double> values);
std::vector<double> decoded(cudaDataType type, std::span<const std::byte> bytes);

/// `count` whole numbers from -2 to 2, reproducible: sums of 64 products of two stay exact in every type of 16 bits.
std::vector<double> small_numbers(std::size_t count, std::uint64_t seed);

/// What an array that holds C should hold after C = alpha op(A) op(B) + beta C: what C does not cover stays as it is in `c`. With a
/// beta of 0, C is not read. Elements are where the leading dimensions and strides say; an index outside of an array throws
/// std::out_of_range. Alpha and beta are given as numbers; pointers, types and shapes in `described` are not looked at.
std::vector<double> multiplied(const argument_check::product& described, double alpha,
                               std::span<const double> a, std::span<const double> b, double beta,
                               std::vector<double> c);

/// Where two arrays differ, as indices; NaN equals NaN.
std::vector<std::size_t> differing(std::span<const double> one, std::span<const double> other);

/// First and last of each run: {0, 1, 4, 5, 6, 12} -> {0, 1, 4, 6, 12, 12}. Precondition: ascending.
std::vector<std::int64_t> runs_of(std::span<const std::size_t> indices);

/// An array could not be copied from the device; status() is what cudaMemcpy returned.
class unreadable : public setup_failed {
 public:
  explicit unreadable(cudaError_t status);
  [[nodiscard]] cudaError_t status() const { return status_; }

 private:
  cudaError_t status_;
};

/// An array in device memory with guards on both sides, at 256 bytes' alignment and `off_by` bytes. What it holds is known from its
/// last put() or poison() on. Needs a context; everything here waits for the device.
class guarded_array {
 public:
  guarded_array(cudaDataType type, std::size_t count, std::size_t off_by = 0);  ///< throws setup_failed
  ~guarded_array();
  guarded_array(guarded_array&& other) noexcept;
  guarded_array(const guarded_array&) = delete;
  guarded_array& operator=(const guarded_array&) = delete;
  guarded_array& operator=(guarded_array&&) = delete;

  [[nodiscard]] void* data() const;
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] void* allocation() const { return block_; }  ///< guards too, as cudaMalloc gave it
  void put(std::span<const double> values);  ///< throws setup_failed if there are not size() of them
  void poison();                             ///< NaN in every element; the least number, nearly, in integers
  [[nodiscard]] std::vector<double> get() const;  ///< throws unreadable, as the next two
  /// Elements whose bits are not those that were put; what was overwritten with the same does not show.
  [[nodiscard]] std::vector<std::size_t> written() const;
  [[nodiscard]] bool guards_intact() const;

 private:
  [[nodiscard]] std::vector<std::byte> fetched() const;  // guards too
  void set(std::vector<std::byte> content);
  cudaDataType type_;
  std::size_t count_, off_by_;
  std::byte* block_ = nullptr;
  std::vector<std::byte> image_;
};

}  // namespace cufault
