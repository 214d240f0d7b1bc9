// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Copies by cuBLAS between host and device. With pageable memory the call waits for the copy.
#include "cases/operations/operations.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cufault::operations {
namespace {

constexpr int rows = 96, columns = 80;
constexpr std::size_t count = std::size_t{rows} * columns, bytes = count * sizeof(float);

class set_matrix final : public by_handle {
 public:
  set_matrix() { std::iota(from_.begin(), from_.end(), 1.0F); }
  void prepare() override { CUFAULT_REQUIRE(cudaMemset(on_device_.get(), 0xff, bytes)); }
  status_record make() override {
    return record_of(
        cublasSetMatrix(rows, columns, sizeof(float), from_.data(), rows, on_device_.get(), rows));
  }
  product_result check() override {
    std::vector<float> back(from_.size());
    product_result result{.waited = cudaMemcpy(back.data(), on_device_.get(), bytes, cudaMemcpyDefault)};
    result.right = back == from_;
    return result;
  }

 private:
  std::vector<float> from_ = std::vector<float>(count);
  owned_memory on_device_ = new_memory(bytes);
};

class get_matrix final : public by_handle {
 public:
  get_matrix() { std::iota(from_.begin(), from_.end(), 1.0F); }
  void prepare() override {
    CUFAULT_REQUIRE(cudaMemcpy(on_device_.get(), from_.data(), bytes, cudaMemcpyDefault));
    std::fill(to_.begin(), to_.end(), -1.0F);
  }
  status_record make() override {
    return record_of(cublasGetMatrix(rows, columns, sizeof(float), on_device_.get(), rows, to_.data(), rows));
  }
  product_result check() override {
    product_result result{.waited = cudaDeviceSynchronize()};
    result.right = to_ == from_;
    return result;
  }

 private:
  std::vector<float> from_ = std::vector<float>(count);
  std::vector<float> to_ = std::vector<float>(count);
  owned_memory on_device_ = new_memory(bytes);
};

/// From pinned memory, on its own stream.
class set_matrix_async final : public by_handle {
 public:
  void prepare() override {
    expected_ = small_numbers(count, fresh_seed());
    from_.put(expected_);
    to_.poison();
    CUFAULT_REQUIRE(cudaDeviceSynchronize());  // its stream does not wait for the legacy one
  }
  status_record make() override {
    return record_of(cublasSetMatrixAsync(rows, columns, sizeof(float), from_.data(), rows, to_.data(), rows,
                                          stream_.get()));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, to_, expected_); }

 private:
  owned_stream stream_ = new_stream();
  pinned_array from_{count};
  guarded_array to_{CUDA_R_32F, count};
  numbers expected_;
};

/// To pinned memory, on its own stream.
class get_matrix_async final : public by_handle {
 public:
  void prepare() override {
    expected_ = small_numbers(count, fresh_seed());
    from_.put(expected_);
    to_.put(numbers(count, -99));
    CUFAULT_REQUIRE(cudaDeviceSynchronize());  // its stream does not wait for the legacy one
  }
  status_record make() override {
    return record_of(cublasGetMatrixAsync(rows, columns, sizeof(float), from_.data(), rows, to_.data(), rows,
                                          stream_.get()));
  }
  product_result check() override {
    return proved(CUBLAS_STATUS_SUCCESS, [&] { return to_.holds(expected_) && from_.guards_intact(); });
  }

 private:
  owned_stream stream_ = new_stream();
  guarded_array from_{CUDA_R_32F, count};
  pinned_array to_{count};
  numbers expected_;
};

/// Copies every second element.
class set_vector final : public by_handle {
 public:
  void prepare() override {
    expected_ = small_numbers(count, fresh_seed());
    for (std::size_t i = 0; i < count; ++i) from_[2 * i] = static_cast<float>(expected_[i]);
    to_.poison();
  }
  status_record make() override {
    return record_of(cublasSetVector(count, sizeof(float), from_.data(), 2, to_.data(), 1));
  }
  product_result check() override { return compared(CUBLAS_STATUS_SUCCESS, to_, expected_); }

 private:
  std::vector<float> from_ = std::vector<float>(2 * count, -99.0F);
  guarded_array to_{CUDA_R_32F, count};
  numbers expected_;
};

/// Copies to every second element.
class get_vector final : public by_handle {
 public:
  void prepare() override {
    const auto numbers = small_numbers(count, fresh_seed());
    from_.put(numbers);
    std::fill(to_.begin(), to_.end(), -99.0F);
    expected_ = to_;
    for (std::size_t i = 0; i < count; ++i) expected_[2 * i] = static_cast<float>(numbers[i]);
  }
  status_record make() override {
    return record_of(cublasGetVector(count, sizeof(float), from_.data(), 1, to_.data(), 2));
  }
  product_result check() override { return {.waited = cudaDeviceSynchronize(), .right = to_ == expected_}; }

 private:
  guarded_array from_{CUDA_R_32F, count};
  std::vector<float> to_ = std::vector<float>(2 * count), expected_;
};

const register_operations here{
    {.name = "set_matrix", .step = {"cublasSetMatrix"}, .fresh = fresh<set_matrix>},
    {.name = "get_matrix", .step = {"cublasGetMatrix"}, .fresh = fresh<get_matrix>},
    {.name = "set_matrix_async", .step = {"cublasSetMatrixAsync"}, .fresh = fresh<set_matrix_async>},
    {.name = "get_matrix_async", .step = {"cublasGetMatrixAsync"}, .fresh = fresh<get_matrix_async>},
    {.name = "set_vector", .step = {"cublasSetVector"}, .fresh = fresh<set_vector>},
    {.name = "get_vector", .step = {"cublasGetVector"}, .fresh = fresh<get_vector>}};

}  // namespace
}  // namespace cufault::operations
