// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Levels 2 and 3 of cuBLAS, and batched solvers and factorisations: column-major routines with kernels of their own.
#include "cases/operations/operations.hpp"

#include <cmath>

namespace cufault::operations {
namespace {

constexpr int rows = 96, columns = 80, inner = 64;
constexpr std::size_t square = std::size_t{rows} * rows, count = std::size_t{rows} * columns;

/// A square matrix whose elements above the diagonal are `above`.
numbers lower_triangle(numbers of, double above) {
  for (std::size_t column = 1; column < rows; ++column)
    for (std::size_t row = 0; row < column; ++row) of[column * rows + row] = above;
  return of;
}

/// A square matrix with its lower triangle mirrored above the diagonal.
numbers symmetric(numbers of) {
  for (std::size_t column = 1; column < rows; ++column)
    for (std::size_t row = 0; row < column; ++row) of[column * rows + row] = of[row * rows + column];
  return of;
}

/// Turns A and X into A and B of A X = B. A has ones on and below the diagonal, so that X is exact. Returns X.
numbers make_triangular_system(std::vector<numbers>& in) {
  numbers &a = in[0], &b = in[1], x = b;
  std::fill(a.begin(), a.end(), 0);
  for (std::size_t i = 0; i < rows; ++i) {
    a[i * (rows + 1)] = 1;
    if (i + 1 < rows) a[i * (rows + 1) + 1] = 1;
  }
  for (std::size_t i = 0; i < b.size(); ++i)
    if (i % rows != 0) b[i] += x[i - 1];
  return x;
}

/// Turns A into the product of whole-number L and U, so that its factors are exact. Returns them as the call does: L below the diagonal (1
/// in L and U), U above. Few elements are not 0, so that products stay exact.
numbers make_factors(std::vector<numbers>& in) {
  numbers both = in[0], l(square), u(square);
  for (int column = 0; column < rows; ++column)
    for (int row = 0; row < rows; ++row) {
      const auto at = static_cast<std::size_t>(column) * rows + static_cast<std::size_t>(row);
      if (row == column)
        both[at] = l[at] = u[at] = 1;
      else if (row - column > 4 || column - row > 4)
        both[at] = 0;
      else
        (row > column ? l : u)[at] = both[at];
    }
  in[0] = product_of(l, u, rows, rows, rows);
  return both;
}

cublasStatus_t by_gemv(cublasHandle_t handle, checked_product& p) {
  const argument_check::product& d = p.described();
  return cublasSgemv(handle, CUBLAS_OP_N, static_cast<int>(d.m), static_cast<int>(d.k),
                     static_cast<const float*>(d.alpha), floats(p.a), static_cast<int>(d.a.leading_dimension),
                     floats(p.b), 1, static_cast<const float*>(d.beta), floats(p.c), 1);
}

cublasStatus_t by_gemv_batched(cublasHandle_t handle, checked_product& p) {
  const argument_check::product& d = p.described();
  return cublasSgemvStridedBatched(
      handle, CUBLAS_OP_N, static_cast<int>(d.m), static_cast<int>(d.k), static_cast<const float*>(d.alpha),
      floats(p.a), static_cast<int>(d.a.leading_dimension), d.a.stride, floats(p.b), 1, d.b.stride,
      static_cast<const float*>(d.beta), floats(p.c), 1, d.c.stride, static_cast<int>(d.batch));
}

const register_operations here{
    {.name = "gemv",
     .step = {"cublasSgemv"},
     .fresh = fresh_product(usual_but([](auto& p) { p.n = 1; }), by_gemv),
     .has_operand = true},
    {.name = "gemv_batched",
     .step = {"cublasSgemvStridedBatched"},
     .fresh = fresh_product(usual_but([](auto& p) { p.n = 1, p.batch = 3; }), by_gemv_batched),
     .has_operand = true},
    // A + x y^T, in place.
    {.name = "ger",
     .step = {"cublasSger"},
     .fresh = routine{.inputs = {rows, columns, count},
                      .call =
                          [](cublasHandle_t handle, const routine::arrays& on) {
                            return cublasSger(handle, rows, columns, &one, on[0], 1, on[1], 1, on[2], rows);
                          },
                      .reference =
                          [](std::vector<numbers>& in) {
                            return sum_of(product_of(in[0], in[1], rows, columns, 1), 1, in[2]);
                          }}},
    // Elements above the diagonal belong to another matrix, here and in symm.
    {.name = "symv",
     .step = {"cublasSsymv"},
     .fresh = routine{
         .inputs = {square, rows},
         .output = rows,
         .call =
             [](cublasHandle_t handle, const routine::arrays& on) {
               return cublasSsymv(handle, CUBLAS_FILL_MODE_LOWER, rows, &one, on[0], rows, on[1], 1, &zero,
                                  on[2], 1);
             },
         .reference =
             [](std::vector<numbers>& in) { return product_of(symmetric(in[0]), in[1], rows, 1, rows); }}},
    // A + 2 B.
    {.name = "geam",
     .step = {"cublasSgeam"},
     .fresh = routine{.inputs = {count, count},
                      .output = count,
                      .call =
                          [](cublasHandle_t handle, const routine::arrays& on) {
                            return cublasSgeam(handle, CUBLAS_OP_N, CUBLAS_OP_N, rows, columns, &one, on[0],
                                               rows, &two, on[1], rows, on[2], rows);
                          },
                      .reference = [](std::vector<numbers>& in) { return sum_of(in[0], 2, in[1]); }}},
    {.name = "symm",
     .step = {"cublasSsymm"},
     .fresh = routine{.inputs = {square, count},
                      .output = count,
                      .call =
                          [](cublasHandle_t handle, const routine::arrays& on) {
                            return cublasSsymm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, rows,
                                               columns, &one, on[0], rows, on[1], rows, &zero, on[2], rows);
                          },
                      .reference =
                          [](std::vector<numbers>& in) {
                            return product_of(symmetric(in[0]), in[1], rows, columns, rows);
                          }}},
    // A A^T into the lower triangle: elements above the diagonal stay poisoned.
    {.name = "syrk",
     .step = {"cublasSsyrk"},
     .fresh = routine{.inputs = {std::size_t{rows} * inner},
                      .output = square,
                      .call =
                          [](cublasHandle_t handle, const routine::arrays& on) {
                            return cublasSsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, rows, inner, &one,
                                               on[0], rows, &zero, on[1], rows);
                          },
                      .reference =
                          [](std::vector<numbers>& in) {
                            numbers transposed(in[0].size());
                            for (std::size_t i = 0; i < transposed.size(); ++i)
                              transposed[i % rows * inner + i / rows] = in[0][i];
                            return lower_triangle(product_of(in[0], transposed, rows, rows, inner), NAN);
                          }}},
    // Elements above the diagonal are not zero, and must not be read.
    {.name = "trmm",
     .step = {"cublasStrmm"},
     .fresh = routine{.inputs = {square, count},
                      .output = count,
                      .call =
                          [](cublasHandle_t handle, const routine::arrays& on) {
                            return cublasStrmm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                               CUBLAS_DIAG_NON_UNIT, rows, columns, &one, on[0], rows, on[1],
                                               rows, on[2], rows);
                          },
                      .reference =
                          [](std::vector<numbers>& in) {
                            return product_of(lower_triangle(in[0], 0), in[1], rows, columns, rows);
                          }}},
    {.name = "trsm",
     .step = {"cublasStrsm"},
     .fresh = routine{.inputs = {square, count},
                      .call =
                          [](cublasHandle_t handle, const routine::arrays& on) {
                            return cublasStrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                               CUBLAS_DIAG_NON_UNIT, rows, columns, &one, on[0], rows, on[1],
                                               rows);
                          },
                      .reference = make_triangular_system}},
    {.name = "trsm_batched",
     .step = {"cublasStrsmBatched"},
     .fresh = routine{.inputs = {square, count},
                      .call =
                          [](cublasHandle_t handle, const routine::arrays& on) {
                            return cublasStrsmBatched(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER,
                                                      CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, rows, columns, &one,
                                                      on.pointers_to(0), rows, on.pointers_to(1), rows, 2);
                          },
                      .reference = make_triangular_system,
                      .batch = 2}},
    // Without pivots.
    {.name = "getrf_batched",
     .step = {"cublasSgetrfBatched"},
     .fresh = routine{.inputs = {square},
                      .call =
                          [](cublasHandle_t handle, const routine::arrays& on) {
                            return cublasSgetrfBatched(handle, rows, on.pointers_to(0), rows, nullptr,
                                                       static_cast<int*>(on.scratch), 2);
                          },
                      .reference = make_factors,
                      .batch = 2,
                      .scratch = 2 * sizeof(int)}}};

}  // namespace
}  // namespace cufault::operations
