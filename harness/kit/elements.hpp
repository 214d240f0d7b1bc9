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

/// Converts numbers to elements of any type that products support. Whole numbers up to 8 in magnitude are exact in all types. A complex
/// number is its real part; a nonzero imaginary part reads as NaN. Types are those of argument_check::detail::element_size, except unsigned
/// and 16-bit integers; throws setup_failed for others.
std::vector<std::byte> encoded(cudaDataType type, std::span<const double> values);
std::vector<double> decoded(cudaDataType type, std::span<const std::byte> bytes);

/// `count` reproducible whole numbers from -2 to 2: sums of 64 products of two are exact in every 16-bit type.
std::vector<double> small_numbers(std::size_t count, std::uint64_t seed);

/// Expected contents of the array that holds C after C = alpha op(A) op(B) + beta C. Elements of `c` outside C stay. With beta = 0, C is
/// not read. Leading dimensions and strides locate the elements; an index outside an array throws std::out_of_range. `described` gives the
/// shape only: alpha and beta are separate, and pointers and types are ignored.
std::vector<double> multiplied(const argument_check::product& described, double alpha,
                               std::span<const double> a, std::span<const double> b, double beta,
                               std::vector<double> c);

/// Indices at which two arrays differ; NaN equals NaN.
std::vector<std::size_t> differing(std::span<const double> one, std::span<const double> other);

/// First and last index of each run: {0, 1, 4, 6, 12, 12} for {0, 1, 4, 5, 6, 12}. Precondition: ascending.
std::vector<std::int64_t> runs_of(std::span<const std::size_t> indices);

/// An array could not be copied from the device; status() is cudaMemcpy's.
class unreadable : public setup_failed {
 public:
  explicit unreadable(cudaError_t status);
  [[nodiscard]] cudaError_t status() const { return status_; }

 private:
  cudaError_t status_;
};

/// An array in device memory between guards, at an offset of `off_by` bytes from a 256-byte boundary. Its contents are known after the
/// first put() or poison(). Needs a context; every function waits for the device.
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
  /// Indices of elements whose bits changed since they were put. Overwriting with equal bits is not seen.
  [[nodiscard]] std::vector<std::size_t> written() const;
  [[nodiscard]] bool guards_intact() const;

 private:
  [[nodiscard]] std::vector<std::byte> fetched() const;  // with guards
  void set(std::vector<std::byte> content);
  cudaDataType type_;
  std::size_t count_, off_by_;
  std::byte* block_ = nullptr;
  std::vector<std::byte> image_;
};

}  // namespace cufault
