// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The oracle of every checked product, on a GPU: that it accepts a right product, and that it fires.
#include "kernels/product.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>

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

}  // namespace
}  // namespace cufault

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  if (const cudaError_t e = cudaGetDeviceCount(&devices); e != cudaSuccess || devices == 0) {
    std::printf("skipped: no usable GPU (%s)\n", e == cudaSuccess ? "none found" : cudaGetErrorString(e));
    return 77;
  }
  return RUN_ALL_TESTS();
}
