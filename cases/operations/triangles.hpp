// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/elements.hpp"
#include "harness/kit/products.hpp"

#include <cstddef>
#include <utility>
#include <vector>

/// Column-major matrices of whole numbers for routines that read or write one triangle.
namespace cufault::operations {

/// `square`, n x n, with `above` in the place of each element above its diagonal.
inline std::vector<double> lower_triangle(std::vector<double> square, std::size_t n, double above) {
  for (std::size_t column = 1; column < n; ++column)
    for (std::size_t row = 0; row < column; ++row) square[column * n + row] = above;
  return square;
}

/// `square` with its elements below the diagonal above it, too.
inline std::vector<double> symmetric(std::vector<double> square, std::size_t n) {
  for (std::size_t column = 1; column < n; ++column)
    for (std::size_t row = 0; row < column; ++row) square[column * n + row] = square[row * n + column];
  return square;
}

/// A X = B, where A has ones on the diagonal and below it, so that X is exact.
struct triangular_system {
  std::vector<double> a, x, b;
  triangular_system(std::size_t rows, std::size_t columns)
      : a(rows * rows), x(small_numbers(rows * columns, fresh_seed())), b(x) {
    for (std::size_t i = 0; i < rows; ++i) {
      a[i * (rows + 1)] = 1;
      if (i + 1 < rows) a[i * (rows + 1) + 1] = 1;
    }
    for (std::size_t i = 0; i < b.size(); ++i)
      if (i % rows != 0) b[i] += x[i - 1];
  }
};

}  // namespace cufault::operations
