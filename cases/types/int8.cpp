// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Products of INT8 with sums of INT32: in the tiled orders of Turing and Ampere, with extents or leading dimensions that are
//              no multiples of 4, and by cuBLASLt with more than 65536 columns or in a batch.
// Why          The tiled orders belong to kernels of older architectures. The instructions read four elements at a time along k. The
//              failure with many columns or batches is a defect of some releases.
// Documented   cuBLAS documentation, cublasLtMatmul (INT8 kernels: orders of each architecture; pointers and leading dimensions of 4
//              bytes) and cublasGemmEx. Release notes: N above 65536 and batches may not be supported in 13.0 Updates 1 and 2 (5541380),
//              fixed in 13.1. Users: bitsandbytes#599, #538, #383 (the orders, on Hopper), MatX#540, tvm#9898, CTranslate2#1865.
// Measured     H200, cuBLAS 13.1.0, of CUDA 13.0 Update 2: the tiled orders are NOT_SUPPORTED, and so is a lda or ldb that is no multiple
//              of 4, by both libraries; n and ldc are free. 65540 columns and a batch of two are right, with m and k of 128 and of
//              132.
// What helps   Recommended: column order with TN; zeros up to multiples of 4, or of 16; fewer columns at a time; a product at a time.
#include "cases/types/lt_products.hpp"
#include "harness/kit/lt_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cufault {
namespace {

argument_check::product int8(cublasOperation_t a_op, const extents& of) {
  argument_check::product p;
  p.a_op = a_op;
  p.m = of.m, p.n = of.n, p.k = of.k;
  p.a.type = p.b.type = CUDA_R_8I;
  p.c.type = p.scalar = CUDA_R_32I;
  p.compute = CUBLAS_COMPUTE_32I;
  return p;
}

argument_check::product tn(const extents& of) {
  return int8(CUBLAS_OP_T, of);
}

// ---- orders ----

constexpr std::int64_t edge = 64;  // whole tiles of every order

/// The product of bitsandbytes: A and C in COL32, B transposed in the order of an architecture. All elements of an operand are equal, so
/// that the result does not depend on the order.
struct tiled_product {
  chosen_product p;
  lt_problem problem;

  static argument_check::product b_transposed() {
    auto described = int8(CUBLAS_OP_N, {edge, edge, edge});
    described.b_op = CUBLAS_OP_T;
    for (auto* of : {&described.a, &described.b, &described.c}) of->leading_dimension = edge;
    return described;
  }
  static std::vector<double> all(double number) { return std::vector<double>(edge * edge, number); }

  explicit tiled_product(cublasLtOrder_t of_b)
      : p(b_transposed(), all(1), all(2), all(2 * edge)), problem(p.described()) {
    const auto put = [](cublasLtMatrixLayout_t layout, cublasLtOrder_t order) {
      set_attribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<std::int32_t>(order));
      set_attribute(layout, CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{32 * edge});  // 32 columns are one tile
    };
    put(problem.a(), CUBLASLT_ORDER_COL32);
    put(problem.b(), of_b);
    put(problem.c(), CUBLASLT_ORDER_COL32);
  }
};

product_result igemmlt(const workbench& on, cublasLtOrder_t of_b) {
  tiled_product tiled(of_b);
  return tiled.p.by([&] { return tiled.problem.multiply(on.lt, tiled.p.in_place(), nullptr, nullptr, 0); });
}

product_result igemmlt_by_heuristic(const workbench& on, cublasLtOrder_t of_b) {
  tiled_product tiled(of_b);
  return tiled.p.by([&] { return tiled.problem.multiply_by_first(on.lt, tiled.p.in_place()); });
}

void multiply_tiles(const workbench& on) {
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "tiled_no_algorithm_col4_4r2_8c",
                     igemmlt(on, CUBLASLT_ORDER_COL4_4R2_8C));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "tiled_first_algorithm_col4_4r2_8c",
                     igemmlt_by_heuristic(on, CUBLASLT_ORDER_COL4_4R2_8C));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "tiled_no_algorithm_col32_2r_4r4",
                     igemmlt(on, CUBLASLT_ORDER_COL32_2R_4R4));
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "tiled_first_algorithm_col32_2r_4r4",
                     igemmlt_by_heuristic(on, CUBLASLT_ORDER_COL32_2R_4R4));
}

// ---- extents ----

void multiply_by_both(const workbench& on, const std::string& words,
                      const argument_check::product& described) {
  checked_product p(described);
  observe_call(product_named(words, "cublasGemmEx"), [&] { return p.by_gemm_ex(on.handle); });
  observe_call(product_named(words), [&] { return p.by_lt(on.lt, on.workspace, on.workspace_bytes); });
}

void multiply_odd_extents(const workbench& on) {
  multiply_by_both(on, "2 by 8 by 3, NN", int8(CUBLAS_OP_N, {2, 8, 3}));
  multiply_by_both(on, "8 by 8 by 3, TN", tn({8, 8, 3}));
}

std::string in_words(const extents& kept, const extents& to) {
  return fmt::format("{} by {} by {} in {} by {} by {}", kept.m, kept.n, kept.k, to.m, to.n, to.k);
}

void multiply_padded_by_gemm_ex(const workbench& on, const extents& kept, const extents& to) {
  chosen_product p = padded(int8(CUBLAS_OP_N, to), kept);
  observe_call(product_named(in_words(kept, to) + ", NN", "cublasGemmEx"),
               [&] { return p.by([&] { return gemm_ex(on.handle, p.described(), p.d.data()); }); });
}

void multiply_padded_by_lt(const workbench& on, const extents& kept, const extents& to) {
  chosen_product p = padded(tn(to), kept);
  lt_problem problem(p.described());
  observe_call(product_named(in_words(kept, to) + ", TN"), [&] {
    return p.by(
        [&] { return problem.multiply_by_first(on.lt, p.in_place(), on.workspace, on.workspace_bytes); });
  });
}

// ---- many columns, batches ----

constexpr std::int64_t most_columns = 65536, many_columns = 65540;
/// Values of m and k: whole tiles, and the smallest accepted multiple. Each uses another kernel with other limits.
constexpr std::array<std::int64_t, 2> sides{128, 132};

std::string of_side(const char* words, std::int64_t side) {
  return fmt::format("{}, m and k {}", words, side);
}

/// B repeats after a number of columns that divides nothing here, so that the reference is cheap.
chosen_product wide_product(std::int64_t side) {
  constexpr std::int64_t period = 31;
  auto p = tn({side, period, side});
  p.a.leading_dimension = p.b.leading_dimension = p.c.leading_dimension = side;
  const auto elements = [=](std::int64_t columns) { return static_cast<std::size_t>(side * columns); };
  const auto of_a = small_numbers(elements(side), fresh_seed());
  const auto columns = small_numbers(elements(period), fresh_seed());
  const auto result = multiplied(p, 1, of_a, columns, 0, std::vector<double>(elements(period)));
  const auto repeated = [&](const std::vector<double>& of) {
    std::vector<double> all(elements(many_columns));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = of[i % of.size()];
    return all;
  };
  p.n = many_columns;
  return {p, of_a, repeated(columns), repeated(result)};
}

/// `count` columns of the wide product, from `first` on.
cublasStatus_t multiply_columns(const workbench& on, const chosen_product& p, std::int64_t first,
                                std::int64_t count) {
  auto part = p.described();
  part.n = count;
  const std::int64_t side = part.m;
  lt_operands operands = p.in_place();
  operands.b = static_cast<const std::int8_t*>(operands.b) + first * side;
  operands.c = operands.d = static_cast<std::int32_t*>(operands.d) + first * side;
  lt_problem problem(part);
  return problem.multiply_by_first(on.lt, operands, on.workspace, on.workspace_bytes);
}

product_result multiply_many_columns(const workbench& on, std::int64_t side) {
  chosen_product p = wide_product(side);
  return p.by([&] { return multiply_columns(on, p, 0, many_columns); });
}

product_result multiply_many_columns_in_two_parts(const workbench& on, std::int64_t side) {
  chosen_product p = wide_product(side);
  return p.by([&] {
    if (const cublasStatus_t status = multiply_columns(on, p, 0, most_columns)) return status;
    return multiply_columns(on, p, most_columns, many_columns - most_columns);
  });
}

argument_check::product two_products(std::int64_t side) {
  auto p = tn({side, side, side});
  p.batch = 2;
  return p;
}

product_result multiply_batch(const workbench& on, std::int64_t side) {
  checked_product p(two_products(side));
  return p.by_lt(on.lt, on.workspace, on.workspace_bytes);
}

product_result multiply_one_at_a_time(const workbench& on, std::int64_t side) {
  checked_product p(two_products(side));
  auto one = p.described();
  one.batch = 1;
  lt_problem problem(one);
  return p.by([&] {
    auto status = CUBLAS_STATUS_SUCCESS;
    for (std::int64_t i = 0; i < p.described().batch && status == CUBLAS_STATUS_SUCCESS; ++i) {
      auto* const c = static_cast<std::int32_t*>(p.c.data()) + i * one.c.stride;
      status = problem.multiply_by_first(
          on.lt,
          {p.alpha(), static_cast<const std::int8_t*>(p.a.data()) + i * one.a.stride,
           static_cast<const std::int8_t*>(p.b.data()) + i * one.b.stride, p.beta(), c, c},
          on.workspace, on.workspace_bytes);
    }
    return status;
  });
}

void observe_sides(const char* words, const workbench& on,
                   product_result (*multiply)(const workbench&, std::int64_t)) {
  for (const std::int64_t side : sides)
    observe_call(product_named(of_side(words, side)), [&] { return multiply(on, side); });
}

// ---- arms ----

void control(trial& t) {
  const workbench on = new_workbench(t);
  for (const std::int64_t side : sides) multiply_by_both(on, of_side("TN", side), tn({side, side, side}));
}

void tiled_orders(trial& t) {
  multiply_tiles(new_workbench(t));
}

void odd_extents(trial& t) {
  const workbench on = new_workbench(t);
  multiply_odd_extents(on);
  multiply_by_both(on, "8 by 8 by 6, TN", tn({8, 8, 6}));
  multiply_by_both(on, "6 by 8 by 8, NN", int8(CUBLAS_OP_N, {6, 8, 8}));
  multiply_by_both(on, "6 by 8 by 8, TN", tn({6, 8, 8}));
  multiply_by_both(on, "8 by 7 by 8, TN", tn({8, 7, 8}));
}

void many_columns_at_once(trial& t) {
  observe_sides("65540 columns", new_workbench(t), multiply_many_columns);
}

void batch(trial& t) {
  observe_sides("a batch of two", new_workbench(t), multiply_batch);
}

void column_order(trial& t) {
  const workbench on = new_workbench(t);
  multiply_tiles(on);
  t.apply("column order, TN");
  multiply_by_both(on, "TN", tn({edge, edge, edge}));
}

void pad(trial& t, std::int64_t to) {
  const workbench on = new_workbench(t);
  multiply_odd_extents(on);
  t.apply(fmt::format("zeros up to multiples of {}", to));
  const std::int64_t eight = std::max<std::int64_t>(8, to);
  multiply_padded_by_gemm_ex(on, {2, 8, 3}, {to, eight, to});
  multiply_padded_by_lt(on, {8, 8, 3}, {eight, eight, to});
}

void split_columns(trial& t) {
  const workbench on = new_workbench(t);
  observe_sides("65540 columns", on, multiply_many_columns);
  t.apply("65536 columns, then the rest");
  observe_sides("65540 columns in two parts", on, multiply_many_columns_in_two_parts);
}

void one_at_a_time(trial& t) {
  const workbench on = new_workbench(t);
  observe_sides("a batch of two", on, multiply_batch);
  t.apply("a product at a time");
  observe_sides("two products, one at a time", on, multiply_one_at_a_time);
}

void int8_products(failure_case& c) {
  c.control("column order, TN, whole multiples of 4 and of 16", control);

  c.fault("tiled_orders", "COL32 with COL4_4R2_8C and with COL32_2R_4R4", tiled_orders);
  c.fault("odd_extents", "extents and leading dimensions that are no multiples of 4", odd_extents);
  c.fault("many_columns", "65540 columns by cuBLASLt", many_columns_at_once);
  c.fault("batch", "a batch of two by cuBLASLt", batch);

  c.remedy("column_order", "column order and TN in place of tiled orders", column_order);
  c.remedy("pad_to_4", "zeros up to multiples of 4", [](trial& t) { pad(t, 4); });
  c.remedy("pad_to_16", "zeros up to multiples of 16", [](trial& t) { pad(t, 16); });
  c.remedy("split_columns", "65536 columns at most at a time", split_columns);
  c.remedy("one_at_a_time", "a product at a time in place of a batch", one_at_a_time);
  c.in_tier = {"control", "tiled_orders", "batch", "pad_to_16", "one_at_a_time"};
  c.share_process();
}

const register_case here("types.int8",
                         "products of INT8: tiled orders, odd extents, many columns and batches",
                         {"F-NS-05", "F-NS-06", "RN-01"}, int8_products);

}  // namespace
}  // namespace cufault
