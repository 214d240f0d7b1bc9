// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The oracle for products of any type, on a GPU and without cuBLAS: accepts right numbers, and fires.
#include "harness/kit/checked_product.hpp"

#include "kernels/tests/gpu_main.hpp"

#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

argument_check::product described() {
  argument_check::product p;
  p.m = 3, p.n = 2, p.k = 5, p.batch = 2;
  p.a.type = p.b.type = CUDA_R_16F;
  p.c.type = CUDA_R_16BF;
  p.c.leading_dimension = 4;
  p.c.stride = 10;
  return p;
}

/// Right elements of C, wrong ones, and its gaps.
class checked : public testing::Test {
 protected:
  static void write(void* to, cudaDataType type, const std::vector<double>& numbers) {
    const auto bytes = encoded(type, numbers);
    EXPECT_EQ(cudaMemcpy(to, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  void write_c(std::size_t index, double number) {
    write(static_cast<std::byte*>(on.c.data()) + 2 * index, CUDA_R_16BF, {number});
  }
  /// Works like a correct library.
  cublasStatus_t multiply() {
    const auto c = multiplied(on.described(), 1, on.a.get(), on.b.get(), 0, on.c.get());
    for (std::size_t i = 0; i < c.size(); ++i)
      if (c[i] == c[i]) write_c(i, c[i]);  // not in a gap of C
    return CUBLAS_STATUS_SUCCESS;
  }
  checked_product on{described()};
};

TEST_F(checked, is_right_where_every_number_is) {
  EXPECT_TRUE(on.by([&] { return multiply(); }).ok());
  EXPECT_THAT(on.wrong(), IsEmpty());
}

TEST_F(checked, says_which_call_could_not_read_it) {
  const auto seen = on.by([&] {
    const auto status = multiply();
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    return status;
  });
  EXPECT_FALSE(seen.ok());
  EXPECT_STREQ(seen.waited_in, "cudaMemcpy");
  EXPECT_NE(seen.waited, cudaSuccess);
}

TEST_F(checked, is_wrong_where_nothing_was_written) {
  EXPECT_FALSE(on.by([] { return CUBLAS_STATUS_SUCCESS; }).ok());
  EXPECT_THAT(on.wrong(), ElementsAre(0, 1, 2, 4, 5, 6, 10, 11, 12, 14, 15, 16));
}

TEST_F(checked, is_wrong_by_one_element) {
  const auto result = on.by([&] {
    const cublasStatus_t status = multiply();
    write_c(5, 99);
    return status;
  });
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(on.wrong(), ElementsAre(5));
}

TEST_F(checked, is_wrong_where_a_gap_was_written) {
  const auto result = on.by([&] {
    const cublasStatus_t status = multiply();
    write_c(3, 0);
    return status;
  });
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(on.wrong(), ElementsAre(3));
}

TEST_F(checked, is_wrong_where_a_gap_was_written_with_nan) {
  on.by([&] {
    const cublasStatus_t status = multiply();
    write_c(3, std::numeric_limits<double>::quiet_NaN());  // other bits than the poison's
    return status;
  });
  EXPECT_THAT(on.wrong(), ElementsAre(3));
}

TEST_F(checked, is_wrong_where_a_guard_was_written) {
  const auto result = on.by([&] {
    const cublasStatus_t status = multiply();
    write_c(on.c.size(), 0);
    return status;
  });
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(on.wrong(), IsEmpty());
}

TEST_F(checked, keeps_a_status) {
  const auto result = on.by([] { return CUBLAS_STATUS_NOT_SUPPORTED; });
  EXPECT_EQ(result.status, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_FALSE(result.ok());
}

TEST(guarded_array, knows_what_was_written_and_how_far_off_it_lies) {
  guarded_array array(CUDA_R_32F, 4, 8);
  array.put(std::vector{1.0, 2.0, 3.0, 4.0});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 256, 8U);
  EXPECT_THAT(array.written(), IsEmpty());
  EXPECT_TRUE(array.guards_intact());
  ASSERT_EQ(cudaMemset(static_cast<float*>(array.data()) + 2, 0, sizeof(float)), cudaSuccess);
  EXPECT_THAT(array.written(), ElementsAre(2));
  EXPECT_THAT(array.get(), ElementsAre(1, 2, 0, 4));
  EXPECT_TRUE(array.guards_intact());
  ASSERT_EQ(cudaMemset(static_cast<float*>(array.data()) - 1, 0, 1), cudaSuccess);
  EXPECT_FALSE(array.guards_intact());
}

}  // namespace
}  // namespace cufault

int main(int argc, char** argv) {
  return cufault::gpu_main(argc, argv);
}
