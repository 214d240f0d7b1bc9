// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Whether a product that a library computed is right: elements of it beside a float64 reference. For capture.cpp. Numbers of types and
// computations: library_types.h, cublas_api.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cufault::injector {

/// The bytes that could be read there: none where no memory is.
std::size_t read_memory(std::uint64_t address, void* to, std::size_t bytes);

struct memory_at {
  char kind;  ///< '0' null, 'd'evice, 'm'anaged, 'p'inned, 'h'ost, '-' no memory, '?' the driver does not say
  std::uint64_t left;  ///< bytes up to the end of the allocation; 0: not known
};
memory_at memory_of(std::uint64_t address);

/// As op() of it is meant. Lengths in elements.
struct matrix_operand {
  std::uint64_t at = 0;
  int type = -1;                       ///< cudaDataType
  std::int64_t pitch = 0, stride = 0;  ///< from line to line; from one matrix of a batch to the next
  bool by_row = false, conjugated = false;
};
/// D = alpha op(A) op(B) + beta C.
struct product {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  matrix_operand a, b, c, d;
  std::uint64_t alpha = 0, beta = 0, stream = 0;  ///< of scalars: addresses
  int scale_type = -1, compute_type = -1;
  bool scalars_on_device = false;
  bool rounds_to_tf32 = false;  ///< may do so with operands of FP32
};
/// The real or the imaginary part of an element.
struct wrong_number {
  std::int64_t row, column, matrix;
  std::uint64_t in_d, in_c;  ///< bytes from the first: where it lies, and where C has the element
  int type;                  ///< cudaDataType of the result
  double is, right, allowed;
  std::vector<std::uint8_t> before;  ///< the element of C; empty where C was not read
};

/// Eight tiles of 16 by 16 elements at most: all of a small result, else the first, the last, and six that are drawn anew for each call.
class checked_product {
 public:
  /// Waits for the stream, and computes the tiles. Throws std::runtime_error, which says what hinders it.
  explicit checked_product(const product& of);
  /// To be asked behind the call. Waits and throws, too.
  [[nodiscard]] std::optional<wrong_number> wrong() const;

 private:
  struct element {
    std::int64_t row, column, matrix;
    double right[2], allowed;  ///< with the imaginary part
    std::vector<std::uint8_t> before;
  };
  struct tile {
    std::int64_t row, column, matrix, rows, columns;
    std::vector<element> elements;
  };
  product of_;
  std::vector<tile> tiles_;
};

}  // namespace cufault::injector
