// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The oracle of every checked product, on a GPU: accepts a right product, and fires.
#include "kernels/product.hpp"

#include "kernels/tests/gpu_main.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace cufault {
namespace {

class product : public testing::Test {
 protected:
  void SetUp() override {
    product_operands operands;
    ASSERT_EQ(prepare_product(20261121, &operands), cudaSuccess);
    ASSERT_EQ(plain_product(), cudaSuccess);
  }
  static product_check check() {
    product_check result;
    EXPECT_EQ(check_product(&result), cudaSuccess);
    return result;
  }
};

TEST_F(product, of_our_own_kernel_is_right) {
  const product_check c = check();
  EXPECT_TRUE(c.right());
  EXPECT_GT(c.largest_error, 0.0) << "random products in single precision are never all exact";
  EXPECT_LE(c.largest_error, 1.0);
}

TEST_F(product, is_wrong_when_one_element_is_off) {
  ASSERT_EQ(damage_element(product_shape::m - 1, product_shape::n - 1, 1.01F), cudaSuccess);
  const product_check c = check();
  EXPECT_EQ(c.wrong_elements, 1U);
  EXPECT_FALSE(c.right());
}

TEST_F(product, is_wrong_when_one_element_is_not_a_number) {
  ASSERT_EQ(damage_element(0, 0, std::numeric_limits<float>::quiet_NaN()), cudaSuccess);
  EXPECT_EQ(check().wrong_elements, 1U);
}

TEST_F(product, is_wrong_when_a_guard_was_overwritten) {
  ASSERT_EQ(damage_guard(0), cudaSuccess);
  const product_check c = check();
  EXPECT_EQ(c.wrong_elements, 0U);
  EXPECT_EQ(c.broken_guards, 1U);
  EXPECT_FALSE(c.right());
}

TEST_F(product, is_wrong_when_nothing_was_written) {
  product_operands operands;
  ASSERT_EQ(prepare_product(1, &operands), cudaSuccess);
  EXPECT_EQ(check().wrong_elements, static_cast<unsigned>(product_shape::m * product_shape::n));
}

/// A product of odd extents in allocated memory, multiplied on the host.
class block_product : public testing::Test {
 protected:
  static constexpr product_extents extents{37, 19, 1025};
  static constexpr int m = extents.m, n = extents.n, k = extents.k, ldc = extents.ldc();

  void SetUp() override {
    ASSERT_EQ(cudaMalloc(&block, product_bytes(extents)), cudaSuccess);
    ASSERT_EQ(prepare_product(extents, block, 20261121, &operands), cudaSuccess);
    const std::vector<float> a = read(operands.a, m * k), b = read(operands.b, k * n);
    for (int column = 0; column < n; ++column) {
      for (int row = 0; row < m; ++row) {
        float sum = 0;
        for (int p = k; p-- > 0;) sum += a[row + p * m] * b[p + column * k];
        write(row + column * ldc, sum);
      }
    }
  }
  void TearDown() override { cudaFree(block); }

  static std::vector<float> read(const float* from, std::size_t count) {
    std::vector<float> values(count);
    EXPECT_EQ(cudaMemcpy(values.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }
  void write(int index, float value) {
    ASSERT_EQ(cudaMemcpy(operands.c + index, &value, sizeof value, cudaMemcpyHostToDevice), cudaSuccess);
  }
  product_check check() {
    product_check result;
    EXPECT_EQ(check_product(extents, block, &result), cudaSuccess);
    return result;
  }

  void* block = nullptr;
  product_operands operands;
};

TEST_F(block_product, of_the_host_is_right) {
  const product_check c = check();
  EXPECT_TRUE(c.right());
  EXPECT_EQ(c.largest_error, 0.0) << "every order of summation is exact";
}

TEST_F(block_product, is_wrong_when_one_element_is_off_by_one) {
  const int last = (m - 1) + (n - 1) * ldc;
  write(last, read(operands.c, last + 1).back() + 1);
  const product_check c = check();
  EXPECT_EQ(c.wrong_elements, 1U);
  EXPECT_EQ(c.broken_guards, 0U);
  EXPECT_FALSE(c.right());
  write(last, read(operands.c, last + 1).back() - 1);
  EXPECT_TRUE(check().right()) << "a check leaves nothing to the next one";
}

TEST_F(block_product, is_wrong_when_any_guard_was_overwritten) {
  for (const int guard : {-1, m, ldc * n}) {
    const float before = read(operands.c + guard, 1).front();
    write(guard, 0);
    const product_check c = check();
    EXPECT_EQ(c.wrong_elements, 0U) << guard;
    EXPECT_EQ(c.broken_guards, 1U) << guard;
    write(guard, before);
  }
}

TEST_F(block_product, is_wrong_when_nothing_was_written) {
  ASSERT_EQ(prepare_product(extents, block, 1, &operands), cudaSuccess);
  EXPECT_EQ(check().wrong_elements, static_cast<unsigned>(m * n));
}

TEST_F(block_product, is_refused_where_sums_would_not_be_exact) {
  EXPECT_NE(prepare_product({1, 1, (1 << 18) + 1}, block, 1, &operands), cudaSuccess);
}

}  // namespace
}  // namespace cufault

int main(int argc, char** argv) {
  return cufault::gpu_main(argc, argv);
}
