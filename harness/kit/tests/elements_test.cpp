// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/elements.hpp"

#include "harness/kit/products.hpp"
#include "harness/trial/trial.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class element : public testing::TestWithParam<cudaDataType> {};

TEST_P(element, keeps_small_whole_numbers) {
  std::vector<double> numbers;
  for (int i = -8; i <= 8; ++i) numbers.push_back(i);
  const auto bytes = encoded(GetParam(), numbers);
  EXPECT_EQ(bytes.size(), numbers.size() * argument_check::detail::element_size(GetParam()));
  EXPECT_EQ(decoded(GetParam(), bytes), numbers);
}

INSTANTIATE_TEST_SUITE_P(of_every_type, element,
                         testing::Values(CUDA_R_8I, CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16F, CUDA_R_16BF,
                                         CUDA_R_32F, CUDA_R_32I, CUDA_R_64F, CUDA_C_8I, CUDA_C_32F,
                                         CUDA_C_64F));

TEST(elements, are_not_a_number_where_a_kernel_wrote_none) {
  const std::vector<std::byte> poison(8, std::byte{0xff});
  for (const auto type : {CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, CUDA_R_64F})
    for (const double x : decoded(type, poison)) EXPECT_TRUE(std::isnan(x)) << type;
}

TEST(elements, with_an_imaginary_part_are_not_a_number) {
  const std::vector<float> parts{3, 0, 3, 1};
  const auto* bytes = reinterpret_cast<const std::byte*>(parts.data());
  EXPECT_THAT(decoded(CUDA_C_32F, {bytes, parts.size() * sizeof(float)}),
              ElementsAre(3, testing::NanSensitiveDoubleEq(nan)));
}

TEST(elements, of_unknown_types_are_refused) {
  EXPECT_THROW(encoded(static_cast<cudaDataType>(CUDA_R_16U), std::vector{1.0}), setup_failed);
}

TEST(small_numbers, are_whole_reproducible_and_of_every_kind) {
  const auto numbers = small_numbers(1000, 7);
  EXPECT_EQ(numbers, small_numbers(1000, 7));
  EXPECT_NE(numbers, small_numbers(1000, 8));
  for (const double each : {-2.0, -1.0, 0.0, 1.0, 2.0}) EXPECT_THAT(numbers, testing::Contains(each));
  EXPECT_THAT(numbers, testing::Each(testing::AnyOf(-2.0, -1.0, 0.0, 1.0, 2.0)));
}

argument_check::product described(std::int64_t m, std::int64_t n, std::int64_t k) {
  argument_check::product p;
  p.m = m, p.n = n, p.k = k;
  p.a.leading_dimension = m, p.b.leading_dimension = k, p.c.leading_dimension = m;
  return p;
}

TEST(multiplied, is_the_product_in_column_order) {
  const std::vector<double> a{1, 2, 3, 4, 5, 6};  // 2 by 3: 1 3 5 / 2 4 6
  const std::vector<double> b{1, 0, 2};
  EXPECT_THAT(multiplied(described(2, 1, 3), 1, a, b, 0, {nan, nan}), ElementsAre(11, 14));
}

TEST(multiplied, turns_its_operands) {
  auto p = described(2, 2, 3);
  p.a_op = CUBLAS_OP_T, p.b_op = CUBLAS_OP_C;
  p.a.leading_dimension = 3, p.b.leading_dimension = 2;
  const std::vector<double> a{1, 2, 3, 4, 5, 6};  // rows of op(A): 1 2 3 and 4 5 6
  const std::vector<double> b{1, 2, 0, 0, 0, 1};  // columns of op(B): 1 0 0 and 2 0 1
  EXPECT_THAT(multiplied(p, 1, a, b, 0, std::vector<double>(4)), ElementsAre(1, 4, 5, 14));
}

TEST(multiplied, leaves_what_c_does_not_cover) {
  auto p = described(1, 2, 1);
  p.c.leading_dimension = 3;
  EXPECT_THAT(multiplied(p, 2, std::vector{5.0}, std::vector{1.0, 3.0}, -1, {7, 8, 9, 10, 11}),
              ElementsAre(3, 8, 9, 20, 11));
}

TEST(multiplied, goes_from_matrix_to_matrix_by_its_strides) {
  auto p = described(1, 1, 1);
  p.batch = 2;
  p.b.stride = 2, p.c.stride = 1;  // all share A
  EXPECT_THAT(multiplied(p, 1, std::vector{3.0}, std::vector{1.0, 0.0, 2.0}, 0, {0, 0}), ElementsAre(3, 6));
}

TEST(multiplied, says_where_an_array_is_too_short) {
  EXPECT_THROW(multiplied(described(2, 1, 1), 1, std::vector{1.0}, std::vector{1.0}, 0, {0, 0}),
               std::out_of_range);
  EXPECT_THROW(multiplied(described(1, 1, 1), 1, std::vector{1.0}, std::vector{1.0}, 0, {}),
               std::out_of_range);
}

TEST(differing, are_all_that_are_not_the_same) {
  EXPECT_THAT(differing(std::vector{1.0, nan, 3.0}, std::vector{1.0, nan, 3.0}), IsEmpty());
  EXPECT_THAT(differing(std::vector{1.0, nan, 3.0, 4.0}, std::vector{1.0, 2.0, nan}), ElementsAre(1, 2, 3));
}

TEST(runs_of, are_named_by_their_ends) {
  const auto runs = [](std::vector<std::size_t> indices) { return runs_of(indices); };
  EXPECT_THAT(runs({}), IsEmpty());
  EXPECT_THAT(runs({5}), ElementsAre(5, 5));
  EXPECT_THAT(runs({5, 6}), ElementsAre(5, 6));
  EXPECT_THAT(runs({0, 1, 4, 5, 6, 7, 12}), ElementsAre(0, 1, 4, 7, 12, 12));
}

}  // namespace
}  // namespace cufault
