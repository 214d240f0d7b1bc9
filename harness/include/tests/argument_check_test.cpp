// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "cufault/argument_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

std::size_t problems_in_cxx17(const cufault::argument_check::product& p);

namespace cufault::argument_check {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t int_max = std::numeric_limits<std::int32_t>::max();

/// Inaccessible memory: reading through a pointer into it ends the process.
const void* untouchable(std::size_t at = 0) {
  static char* const base = [] {
    void* p = mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(p, MAP_FAILED);
    return static_cast<char*>(p);
  }();
  return base + at;
}

/// Stores any number in an enumeration; loading it as the enumeration would be undefined behaviour.
template <class E>
void set(E& e, std::int64_t to) {
  const int number = static_cast<int>(to);
  std::memcpy(&e, &number, sizeof e);
}

/// 8 by 12 from k = 16: different extents, smallest leading dimensions.
product valid(cublasOperation_t a_op = CUBLAS_OP_N, cublasOperation_t b_op = CUBLAS_OP_N) {
  product p;
  p.a_op = a_op;
  p.b_op = b_op;
  p.m = 8;
  p.n = 12;
  p.k = 16;
  p.a = {untouchable(0), CUDA_R_32F, a_op == CUBLAS_OP_N ? p.m : p.k, 0};
  p.b = {untouchable(1 << 12), CUDA_R_32F, b_op == CUBLAS_OP_N ? p.k : p.n, 0};
  p.c = {untouchable(1 << 13), CUDA_R_32F, p.m, 0};
  p.alpha = untouchable(1 << 14);
  p.beta = untouchable((1 << 14) + 16);
  return p;
}

product valid_batch() {
  product p = valid();
  p.batch = 3;
  p.a.stride = p.m * p.k;
  p.b.stride = p.k * p.n;
  p.c.stride = p.m * p.n;
  return p;
}

void set_types(product& p, cudaDataType ab, cudaDataType c, cublasComputeType_t compute,
               cudaDataType scalar) {
  p.a.type = p.b.type = ab;
  p.c.type = c;
  p.compute = compute;
  p.scalar = scalar;
}

product valid_fp8() {
  product p = valid(CUBLAS_OP_T, CUBLAS_OP_N);
  p.function = entry::cublas_lt;
  p.m = p.n = 32;
  p.k = 64;
  p.a.leading_dimension = p.b.leading_dimension = 64;
  p.c.leading_dimension = 32;
  set_types(p, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  return p;
}

product valid_int8() {
  product p = valid();
  set_types(p, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I);
  return p;
}

/// What a test compares: "refused lda".
std::vector<std::string> brief(const product& p) {
  const char* const names[]{"refused ", "unsupported ", "silent ", "caution "};
  std::vector<std::string> all;
  for (const problem& each : check(p)) {
    EXPECT_THAT(each.text, Not(HasSubstr("\n")));
    EXPECT_GT(each.text.size(), 20U);
    all.push_back(names[static_cast<int>(each.what)] + each.argument);
  }
  return all;
}

/// Problems after exactly one change of a valid product.
template <class F>
std::vector<std::string> changed(product p, F change) {
  EXPECT_THAT(brief(p), IsEmpty());
  change(p);
  return brief(p);
}

std::string first_text(const product& p) {
  const auto all = check(p);
  return all.empty() ? "" : all.front().text;
}

TEST(argument_check, finds_nothing_in_valid_products) {
  for (const auto a : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C})
    for (const auto b : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) EXPECT_THAT(brief(valid(a, b)), IsEmpty());
  EXPECT_THAT(brief(valid_batch()), IsEmpty());
  EXPECT_THAT(brief(valid_fp8()), IsEmpty());
  EXPECT_THAT(brief(valid_int8()), IsEmpty());
  EXPECT_EQ(problems_in_cxx17(valid()), 0U);
}

TEST(argument_check, knows_the_operations) {
  EXPECT_THAT(changed(valid(), [](product& p) { set(p.a_op, 99); }), ElementsAre("refused transa"));
  EXPECT_THAT(changed(valid(), [](product& p) { set(p.b_op, -1); }), ElementsAre("refused transb"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.b_op = CUBLAS_OP_CONJG; }), ElementsAre("refused transb"));
}

TEST(argument_check, refuses_negative_extents_and_takes_zero) {
  EXPECT_THAT(changed(valid(), [](product& p) { p.m = -1; }), ElementsAre("refused m"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.n = -1; }), ElementsAre("refused n"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.k = -1; }), ElementsAre("refused k"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.batch = -1; }), ElementsAre("refused batchCount"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.m = 0; }), IsEmpty());
  EXPECT_THAT(changed(valid(), [](product& p) { p.n = 0; }), IsEmpty());
  EXPECT_THAT(changed(valid(), [](product& p) { p.k = 0; }), IsEmpty());
  EXPECT_THAT(changed(valid(), [](product& p) { p.batch = 0; }), IsEmpty());
}

TEST(argument_check, wants_leading_dimensions_of_the_rows_as_stored) {
  for (const auto a : {CUBLAS_OP_N, CUBLAS_OP_T})
    for (const auto b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      const product p = valid(a, b);
      EXPECT_THAT(changed(p, [](product& q) { --q.a.leading_dimension; }), ElementsAre("refused lda"));
      EXPECT_THAT(changed(p, [](product& q) { --q.b.leading_dimension; }), ElementsAre("refused ldb"));
      EXPECT_THAT(changed(p, [](product& q) { --q.c.leading_dimension; }), ElementsAre("refused ldc"));
      EXPECT_THAT(changed(p, [](product& q) { q.a.leading_dimension += 5; }), IsEmpty());
    }
  // An empty matrix also needs one.
  product p = valid();
  p.m = p.n = p.k = 0;
  EXPECT_THAT(changed(p, [](product& q) { q.c.leading_dimension = 0; }), ElementsAre("refused ldc"));
  EXPECT_THAT(changed(p, [](product& q) { q.c.leading_dimension = 1; }), IsEmpty());
}

TEST(argument_check, wants_pointers_where_there_are_elements) {
  EXPECT_THAT(changed(valid(), [](product& p) { p.a.data = nullptr; }), ElementsAre("refused A"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.b.data = nullptr; }), ElementsAre("refused B"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.c.data = nullptr; }), ElementsAre("refused C"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.k = 0, p.a.data = p.b.data = nullptr; }), IsEmpty());
  EXPECT_THAT(changed(valid(), [](product& p) { p.m = 0, p.a.data = p.b.data = p.c.data = nullptr; }),
              IsEmpty());
}

TEST(argument_check, wants_scalars) {
  EXPECT_THAT(changed(valid(), [](product& p) { p.alpha = nullptr; }), ElementsAre("refused alpha"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.beta = nullptr; }), ElementsAre("refused beta"));
}

TEST(argument_check, wants_pointers_aligned_to_the_element) {
  const auto off = [](matrix& of, std::size_t by) { of.data = static_cast<const char*>(of.data) + by; };
  EXPECT_THAT(changed(valid(), [&](product& p) { off(p.a, 2); }), ElementsAre("unsupported A"));
  EXPECT_THAT(changed(valid(), [&](product& p) { off(p.c, 1); }), ElementsAre("unsupported C"));
  EXPECT_THAT(changed(valid(), [&](product& p) { off(p.a, 4); }), IsEmpty());
  product halves = valid();
  set_types(halves, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  EXPECT_THAT(changed(halves, [&](product& p) { off(p.b, 2); }), IsEmpty());
  EXPECT_THAT(changed(halves, [&](product& p) { off(p.b, 1); }), ElementsAre("unsupported B"));
  product complex = valid();
  set_types(complex, CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F, CUDA_C_64F);
  EXPECT_THAT(changed(complex, [&](product& p) { off(p.b, 8); }), ElementsAre("unsupported B"));
}

TEST(argument_check, compares_shapes_with_what_the_product_reads) {
  const auto shape = [](matrix& of, std::int64_t rows, std::int64_t columns) {
    of.rows = rows;
    of.columns = columns;
  };
  EXPECT_THAT(changed(valid(), [&](product& p) { shape(p.a, 8, 16), shape(p.b, 16, 12), shape(p.c, 8, 12); }),
              IsEmpty());
  EXPECT_THAT(changed(valid(), [&](product& p) { shape(p.b, 15, 12); }), ElementsAre("silent B"));
  EXPECT_THAT(changed(valid(CUBLAS_OP_T), [&](product& p) { shape(p.a, 16, 8); }), IsEmpty());
  product p = valid();
  shape(p.a, 16, 8);
  EXPECT_THAT(brief(p), ElementsAre("silent A"));
  EXPECT_THAT(first_text(p), HasSubstr("row-major"));
  // cuBLASLt gets the shapes.
  p.function = entry::cublas_lt;
  EXPECT_THAT(brief(p), ElementsAre("refused A"));
}

TEST(argument_check, recognizes_row_major_matrices) {
  // Accepted: m=2 n=4 k=3, with the row lengths as leading dimensions.
  product p = valid();
  p.m = 2, p.n = 4, p.k = 3;
  p.a.leading_dimension = 3;
  p.b.leading_dimension = p.c.leading_dimension = 4;
  EXPECT_THAT(brief(p), ElementsAre("silent lda"));
  EXPECT_THAT(first_text(p), HasSubstr("swapped"));
  // Follows the text's advice.
  product cured = p;
  std::swap(cured.a, cured.b);
  std::swap(cured.m, cured.n);
  EXPECT_THAT(brief(cured), IsEmpty());
  // Padding of one operand is no sign of row order.
  p.c.leading_dimension = 5;
  EXPECT_THAT(brief(p), IsEmpty());
  // Nor is a square operand: m=4 n=5 k=4.
  product square = valid();
  square.m = square.k = square.a.leading_dimension = 4;
  square.n = square.b.leading_dimension = square.c.leading_dimension = 5;
  EXPECT_THAT(brief(square), IsEmpty());
  // Refused, with the same hint: higher than wide.
  product tall = valid();
  tall.m = 20;
  tall.a.leading_dimension = 16;
  tall.c.leading_dimension = 20;
  EXPECT_THAT(brief(tall), ElementsAre("refused lda"));
  EXPECT_THAT(first_text(tall), HasSubstr("row-major"));
}

TEST(argument_check, knows_strides_that_overlap) {
  EXPECT_THAT(changed(valid_batch(), [](product& p) { --p.c.stride; }), ElementsAre("silent strideC"));
  EXPECT_THAT(changed(valid_batch(), [](product& p) { p.c.stride = 0; }), ElementsAre("silent strideC"));
  EXPECT_THAT(changed(valid_batch(), [](product& p) { p.batch = 1, p.c.stride = 0; }), IsEmpty());
  EXPECT_THAT(changed(valid_batch(), [](product& p) { p.a.stride = p.b.stride = 0; }), IsEmpty());
  EXPECT_THAT(changed(valid_batch(), [](product& p) { p.a.stride = 1; }), IsEmpty());
  EXPECT_THAT(changed(valid_batch(), [](product& p) { p.b.stride = -p.b.stride; }),
              ElementsAre("caution strideB"));
  EXPECT_THAT(changed(valid_batch(), [](product& p) { p.c.stride = -1; }),
              ElementsAre("caution strideC", "silent strideC"));
  // Side by side within one leading dimension: the fourth begins at the next column of the first.
  product p = valid_batch();
  p.c.leading_dimension = 3 * p.m;
  p.c.stride = p.m;
  EXPECT_THAT(changed(p, [](product& q) { q.batch = 4; }), ElementsAre("silent strideC"));
}

/// Counts: compares the addresses of all matrices.
bool overlap_counted(std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t stride,
                     std::int64_t batch) {
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < batch; ++i)
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = 0; r < rows; ++r)
        if (!seen.insert(i * stride + c * ld + r).second) return true;
  return false;
}

TEST(argument_check, finds_an_overlap_exactly_where_there_is_one) {
  for (std::int64_t rows = 1; rows < 4; ++rows)
    for (std::int64_t columns = 1; columns < 4; ++columns)
      for (std::int64_t ld = rows; ld < 9; ++ld)
        for (std::int64_t stride = -4; stride < 30; ++stride)
          for (std::int64_t batch = 2; batch < 6; ++batch)
            ASSERT_EQ(detail::overlap(rows, columns, ld, stride, batch),
                      overlap_counted(rows, columns, ld, stride, batch))
                << rows << ' ' << columns << ' ' << ld << ' ' << stride << ' ' << batch;
}

TEST(argument_check, knows_numbers_that_an_int_cannot_hold) {
  EXPECT_THAT(changed(valid(), [](product& p) { p.a.leading_dimension = int_max + 1; }),
              ElementsAre("refused lda", "caution A"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.n = (std::int64_t{1} << 32) + 12; }),
              ElementsAre("silent n", "caution B", "caution C"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.batch = int_max + 1, p.c.stride = 96; }),
              ElementsAre("refused batchCount"));
  const auto large = [](product& p) { p.m = p.c.leading_dimension = p.a.leading_dimension = int_max / 8; };
  EXPECT_THAT(changed(valid(), large), ElementsAre("caution A", "caution C"));
  EXPECT_THAT(changed(valid(), [&](product& p) { large(p), p.batch = 0; }), IsEmpty());
  product wide = valid();
  wide.function = entry::cublas_64;
  EXPECT_THAT(changed(wide, large), IsEmpty());
  EXPECT_THAT(changed(wide, [](product& p) { p.a.leading_dimension = int_max + 1; }), IsEmpty());
}

TEST(argument_check, knows_the_types_that_go_together) {
  const struct {
    cudaDataType ab, c;
    cublasComputeType_t compute;
    cudaDataType scalar;
  } good[]{
      {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_16F},
      {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F_PEDANTIC, CUDA_R_16F},
      {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
      {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
      {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F},
      {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F},
      {CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F},
      {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I},
      {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F},
      {CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_C_32F},
      {CUDA_C_8I, CUDA_C_32F, CUBLAS_COMPUTE_32F, CUDA_C_32F},
      {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F},
      {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F_PEDANTIC, CUDA_C_64F},
  };
  for (const auto& each : good)
    for (const auto function : {entry::cublas, entry::cublas_64, entry::cublas_lt}) {
      product p = valid();
      p.function = function;
      set_types(p, each.ab, each.c, each.compute, each.scalar);
      EXPECT_THAT(brief(p), IsEmpty());
    }
  EXPECT_THAT(changed(valid(), [](product& p) { p.a.type = CUDA_R_16F; }), ElementsAre("unsupported Atype"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.compute = CUBLAS_COMPUTE_64F; }),
              ElementsAre("unsupported Atype"));
  EXPECT_THAT(changed(valid(), [](product& p) { set(p.c.type, 99); }), ElementsAre("refused Ctype"));
  EXPECT_THAT(changed(valid(), [](product& p) { set(p.compute, 99); }),
              ElementsAre("unsupported computeType"));
  // BF16 into FP16, and 16-bit computing of BF16.
  product p = valid();
  set_types(p, CUDA_R_16BF, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  EXPECT_THAT(brief(p), ElementsAre("unsupported Atype"));
  set_types(p, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_16F, CUDA_R_16F);
  EXPECT_THAT(brief(p), ElementsAre("unsupported Atype"));
  // 8-bit integers into 8 bits: cuBLASLt only.
  product lt = valid_int8();
  set_types(lt, CUDA_R_8I, CUDA_R_8I, CUBLAS_COMPUTE_32I, CUDA_R_32F);
  EXPECT_THAT(brief(lt), ElementsAre("unsupported Atype"));
  lt.function = entry::cublas_lt;
  EXPECT_THAT(brief(lt), IsEmpty());
  // A unlike B: cuBLASLt refuses it if A and C have one type, else it is not supported.
  for (const auto& [c, said] : {std::pair{CUDA_R_32F, "refused Btype"},
                                {CUDA_R_16F, "refused Btype"},
                                {CUDA_R_16BF, "unsupported Atype"},
                                {CUDA_R_64F, "unsupported Atype"}}) {
    product unlike = valid();
    set_types(unlike, CUDA_R_16F, c, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    unlike.b.type = CUDA_R_32F;
    EXPECT_THAT(brief(unlike), ElementsAre("unsupported Atype"));
    unlike.function = entry::cublas_lt;
    EXPECT_THAT(brief(unlike), ElementsAre(said));
  }
  // FP8 by cuBLAS: two types are not supported, one is refused.
  product narrow = valid();
  set_types(narrow, CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  EXPECT_THAT(brief(narrow), ElementsAre("refused Atype"));
  narrow.b.type = CUDA_R_8F_E5M2;
  EXPECT_THAT(brief(narrow), ElementsAre("unsupported Atype"));
  // Planar complex is not described here; a number without a type is refused.
  set_types(lt, CUDA_C_16F, CUDA_C_16F, CUBLAS_COMPUTE_32F, CUDA_C_32F);
  EXPECT_THAT(brief(lt), IsEmpty());
  EXPECT_THAT(changed(lt, [](product& q) { set(q.a.type, 60), set(q.b.type, 60), set(q.c.type, 60); }),
              ElementsAre("unsupported Atype"));
}

TEST(argument_check, knows_which_scalars_a_compute_type_reads) {
  product halves = valid();
  set_types(halves, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_16F);
  EXPECT_THAT(changed(halves, [](product& p) { p.scalar = CUDA_R_32F; }), ElementsAre("silent alpha"));
  EXPECT_THAT(changed(valid_int8(), [](product& p) { p.scalar = CUDA_R_32F; }), ElementsAre("silent alpha"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.scalar = CUDA_R_64F; }), ElementsAre("silent alpha"));
}

TEST(argument_check, knows_the_rules_for_8_bit_integers) {
  EXPECT_THAT(changed(valid_int8(), [](product& p) { p.a.leading_dimension = 9; }),
              ElementsAre("unsupported lda"));
  EXPECT_THAT(changed(valid_int8(), [](product& p) { p.b.leading_dimension = 18; }),
              ElementsAre("unsupported ldb"));
  EXPECT_THAT(changed(valid_int8(), [](product& p) { p.a.data = untouchable(2); }),
              ElementsAre("unsupported A"));
  EXPECT_THAT(changed(valid_int8(), [](product& p) { p.k = 14; }), ElementsAre("caution k"));
  EXPECT_THAT(changed(valid_int8(), [](product& p) { p.m = 6; }), ElementsAre("caution m"));
  EXPECT_THAT(changed(valid_int8(), [](product& p) { p.n = 13; }), IsEmpty());
  EXPECT_THAT(changed(valid(), [](product& p) { p.k = 14; }), IsEmpty());
}

TEST(argument_check, knows_the_rules_for_fp8) {
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.function = entry::cublas; }),
              ElementsAre("refused Atype"));
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.a_op = CUBLAS_OP_N; }),
              ElementsAre("unsupported transa"));
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.b_op = CUBLAS_OP_T; }),
              ElementsAre("unsupported transb"));
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.a_op = CUBLAS_OP_N, p.compute_capability = 100; }),
              IsEmpty());
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.a_op = CUBLAS_OP_N, p.compute_capability = 120; }),
              ElementsAre("unsupported transa"));
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.compute_capability = 86; }),
              ElementsAre("unsupported Atype"));
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.k = 63; }),
              ElementsAre("unsupported A", "unsupported B"));
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.m = 31; }), ElementsAre("unsupported C"));
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.n = 31; }), IsEmpty());
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.b.leading_dimension = 72; }),
              ElementsAre("unsupported ldb"));
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.a.data = untouchable(8); }),
              ElementsAre("unsupported A"));
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.a.type = CUDA_R_8F_E5M2; }), IsEmpty());
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.a.type = p.b.type = CUDA_R_8F_E5M2; }),
              ElementsAre("unsupported Atype"));
  EXPECT_THAT(changed(valid_fp8(), [](product& p) { p.c.type = CUDA_R_8F_E4M3; }),
              ElementsAre("unsupported Atype"));
}

TEST(argument_check, knows_a_result_over_an_operand) {
  EXPECT_THAT(changed(valid(), [](product& p) { p.c.data = p.a.data; }), ElementsAre("silent C"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.c.data = p.b.data; }), ElementsAre("silent C"));
  EXPECT_THAT(changed(valid(), [](product& p) { p.b.data = p.a.data; }), IsEmpty());
  EXPECT_THAT(changed(valid(), [](product& p) { p.k = 0, p.c.data = p.a.data; }), IsEmpty());
}

class random_products : public testing::TestWithParam<unsigned> {
 protected:
  std::mt19937_64 source_{GetParam()};  // NOLINT: the same in every run
  std::int64_t in(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(source_);
  }
};

TEST_P(random_products, that_are_valid_have_no_problems) {
  const cublasOperation_t ops[]{CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  for (int i = 0; i < 20000; ++i) {
    product p = valid();
    p.function = static_cast<entry>(in(0, 2));
    p.a_op = ops[in(0, 2)];
    p.b_op = ops[in(0, 2)];
    const int least = p.function == entry::cublas_lt ? 1 : 0;
    p.m = in(least, 999), p.n = in(least, 999), p.k = in(0, 999), p.batch = in(least, 9);
    const auto shape = [&](matrix& of, bool turned, std::int64_t rows, std::int64_t columns) {
      if (turned) std::swap(rows, columns);
      of.leading_dimension = std::max<std::int64_t>(1, rows) + in(0, 9);
      if (in(0, 1) == 1) of.rows = rows, of.columns = columns;
      of.stride = std::max<std::int64_t>(0, columns) * of.leading_dimension + in(0, 99);
      // A type for which any address here is aligned.
      of.type = p.a.type;
    };
    switch (in(0, 2)) {
      case 0:
        break;
      case 1:
        set_types(p, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F);
        break;
      default:
        set_types(p, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    }
    shape(p.a, p.a_op != CUBLAS_OP_N, p.m, p.k);
    shape(p.b, p.b_op != CUBLAS_OP_N, p.k, p.n);
    shape(p.c, false, p.m, p.n);
    if (in(0, 3) == 0) p.a.stride = 0;
    ASSERT_THAT(brief(p), IsEmpty()) << "product " << i << " of seed " << GetParam();
  }
}

TEST_P(random_products, of_any_numbers_are_never_read_through) {
  const std::int64_t edges[]{0,
                             1,
                             -1,
                             2,
                             3,
                             16,
                             65536,
                             int_max,
                             int_max + 1,
                             -int_max - 1,
                             std::int64_t{1} << 32,
                             std::int64_t{1} << 62,
                             std::numeric_limits<std::int64_t>::max(),
                             std::numeric_limits<std::int64_t>::min()};
  const auto number = [&] {
    switch (in(0, 3)) {
      case 0:
        return in(-9, 99);
      case 1:
        return static_cast<std::int64_t>(source_());
      default:
        return edges[in(0, std::size(edges) - 1)];
    }
  };
  // NOLINTNEXTLINE(performance-no-int-to-ptr): any address
  const auto address = [&] { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(number())); };
  for (int i = 0; i < 20000; ++i) {
    product p;
    const auto any = [&](matrix& of) {
      of = {address(), CUDA_R_32F, number(), number(), number(), number()};
      set(of.type, in(-2, 40));
    };
    p.function = static_cast<entry>(in(0, 2));
    set(p.a_op, in(-1, 4));
    set(p.b_op, in(-1, 4));
    p.m = number(), p.n = number(), p.k = number(), p.batch = number();
    any(p.a), any(p.b), any(p.c);
    p.alpha = address(), p.beta = address();
    set(p.scalar, in(-2, 40));
    set(p.compute, in(60, 90));
    p.compute_capability = static_cast<int>(in(-1, 130));
    // brief() checks each text; a read through an address kills the process.
    const auto found = brief(p);
    EXPECT_EQ(brief(p), found) << "the same product was judged twice, product " << i << " of seed "
                               << GetParam();
    const auto refused = [&](const char* argument) {
      return std::find(found.begin(), found.end(), std::string("refused ") + argument) != found.end();
    };
    // cuBLASLt looks at widths before signs.
    if (p.function == entry::cublas_lt) continue;
    EXPECT_TRUE(p.m >= 0 || refused("m"))
        << "m is " << p.m << " in product " << i << " of seed " << GetParam();
    EXPECT_TRUE(p.n >= 0 || refused("n"))
        << "n is " << p.n << " in product " << i << " of seed " << GetParam();
    EXPECT_TRUE(p.k >= 0 || refused("k"))
        << "k is " << p.k << " in product " << i << " of seed " << GetParam();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(argument_check, random_products, testing::Values(1U, 2U, 3U));

}  // namespace
}  // namespace cufault::argument_check
