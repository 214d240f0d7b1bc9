// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/checked_product.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/operation.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

/// What operations share.
namespace cufault::operations {

/// Destroys its handle.
using owned_handle = std::unique_ptr<cublasContext, destroy_by<cublasDestroy>>;
using owned_lt_handle = std::unique_ptr<cublasLtContext, destroy_by<cublasLtDestroy>>;
using owned_stream = std::unique_ptr<CUstream_st, destroy_by<cudaStreamDestroy>>;
using owned_memory = std::unique_ptr<void, destroy_by<cudaFree>>;

/// A stream that does not wait for the legacy stream.
inline owned_stream new_stream() {
  return owned_stream(cufault::new_stream());
}
inline owned_memory new_memory(std::size_t bytes) {
  void* block = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&block, bytes));
  return owned_memory(block);
}

/// An operation with its own cuBLAS handle.
class by_handle : public operation {
 public:
  product_result multiply() override { return product(handle()); }
  [[nodiscard]] cublasHandle_t handle() const final { return handle_.get(); }

 private:
  owned_handle handle_{new_handle()};
};

/// An operation with its own cuBLASLt handle, and a workspace as in frameworks.
class by_lt_handle : public operation {
 public:
  product_result multiply() override { return lt_product(lt(), workspace(), workspace_bytes); }
  [[nodiscard]] cublasLtHandle_t lt() const final { return lt_.get(); }

 protected:
  static constexpr std::size_t workspace_bytes = workbench::workspace_bytes;
  [[nodiscard]] void* workspace() const { return workspace_.get(); }

 private:
  owned_memory workspace_ = new_memory(workspace_bytes);
  owned_lt_handle lt_{new_lt_handle()};
};

inline product_result product_by_new_handle() {
  cublasHandle_t handle = nullptr;
  product_result result{.status = cublasCreate(&handle)};
  if (result.status != CUBLAS_STATUS_SUCCESS) return result;
  result = product(handle);
  cublasDestroy(handle);
  return result;
}

/// A call without a handle.
class without_handle : public operation {
 public:
  product_result multiply() override { return product_by_new_handle(); }
};

/// Step names of operation::multiply() (operation_type::product) that differ from the usual one.
inline const step_name by_same_lt_handle{"cublasLtMatmul", "first_algorithm_by_same_handle"},
    by_new_lt_handle{"cublasLtMatmul", "first_algorithm_by_new_handle"},
    by_new_handle{"cublasSgemm", "split_k_by_new_handle"};

/// operation_type::fresh of a class with a default constructor.
template <class Operation>
std::unique_ptr<operation> fresh() {
  return std::make_unique<Operation>();
}

// ---- products ----

/// A product with its own operands, computed by any call.
class checked_call final : public by_handle {
 public:
  using call = std::function<cublasStatus_t(cublasHandle_t, checked_product&)>;
  checked_call(const argument_check::product& described, call made) : p_(described), made_(std::move(made)) {}
  void prepare() override { p_.reset(); }
  status_record make() override { return record_of(made_(handle(), p_)); }
  product_result check() override { return p_.finish(CUBLAS_STATUS_SUCCESS); }
  [[nodiscard]] void* operand() const override { return p_.a.allocation(); }

 private:
  checked_product p_;
  call made_;
};

inline make_operation fresh_product(const argument_check::product& described, checked_call::call made) {
  return [described, made = std::move(made)] { return std::make_unique<checked_call>(described, made); };
}

/// Different extents of whole tiles.
inline argument_check::product usual_product(cudaDataType ab = CUDA_R_32F, cudaDataType c = CUDA_R_32F) {
  argument_check::product p;
  p.m = 96, p.n = 80, p.k = 64;
  p.a.type = p.b.type = ab;
  p.c.type = c;
  return p;
}
/// The same, modified by `change`.
template <class Change>
argument_check::product usual_but(Change&& change, cudaDataType ab = CUDA_R_32F,
                                  cudaDataType c = CUDA_R_32F) {
  argument_check::product p = usual_product(ab, c);
  change(p);
  return p;
}

// ---- arrays ----

using numbers = std::vector<double>;
inline constexpr float zero = 0, one = 1, two = 2, three = 3;  // scalars of calls

inline float* floats(const guarded_array& of) {
  return static_cast<float*>(of.data());
}

/// x + factor y, element by element.
inline numbers sum_of(numbers x, double factor, const numbers& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += factor * y[i];
  return x;
}

/// Column-major A B of extents m x n x k, on the host.
inline numbers product_of(std::span<const double> a, std::span<const double> b, int m, int n, int k) {
  argument_check::product p;
  p.m = m, p.n = n, p.k = k;
  p.a.leading_dimension = m, p.b.leading_dimension = k, p.c.leading_dimension = m;
  return multiplied(p, 1, a, b, 0, numbers(static_cast<std::size_t>(m) * static_cast<std::size_t>(n)));
}

/// Floats in pinned host memory, for asynchronous copies.
class pinned_array {
 public:
  explicit pinned_array(std::size_t count) : count_(count) {
    void* block = nullptr;
    CUFAULT_REQUIRE(cudaHostAlloc(&block, count * sizeof(float), cudaHostAllocDefault));
    block_.reset(static_cast<float*>(block));
  }
  [[nodiscard]] float* data() const { return block_.get(); }
  void put(const numbers& all) {
    std::transform(all.begin(), all.end(), data(), [](double x) { return static_cast<float>(x); });
  }
  [[nodiscard]] bool holds(const numbers& all) const {
    return std::equal(all.begin(), all.end(), data(), data() + count_,
                      [](double x, float y) { return static_cast<float>(x) == y; });
  }

 private:
  std::size_t count_;
  std::unique_ptr<float, destroy_by<cudaFreeHost>> block_;
};

// ---- routines ----

/// A routine by a cuBLAS handle on float arrays in device memory: the inputs, then the output.
struct routine {
  struct arrays {
    std::vector<float*> all;  ///< array by array, each as often as the batch has it
    float** pointers = nullptr;
    std::size_t batch = 1;
    void* scratch = nullptr;
    float* operator[](std::size_t array) const { return all[array * batch]; }
    /// Addresses of the batch's arrays, in device memory.
    [[nodiscard]] float** pointers_to(std::size_t array) const { return pointers + array * batch; }
  };
  std::vector<std::size_t> inputs;  ///< elements of each
  std::size_t output = 0;           ///< elements; 0: the last input is overwritten
  cublasStatus_t (*call)(cublasHandle_t handle, const arrays& on);
  /// Gets new numbers for the inputs, which it may change. Returns the expected contents of the output, or of the last input.
  numbers (*reference)(std::vector<numbers>& inputs);
  std::size_t batch = 1;    ///< so many of each array
  std::size_t scratch = 0;  ///< bytes of device memory for what else a routine of a batch writes
  std::unique_ptr<operation> operator()() const;  ///< as operation_type::fresh
};

class routine_operation final : public by_handle {
 public:
  explicit routine_operation(const routine& of) : of_(of) {
    std::vector<std::size_t> sizes = of_.inputs;
    if (of_.output > 0) sizes.push_back(of_.output);
    arrays_.reserve(sizes.size() * of_.batch);
    for (const std::size_t size : sizes)
      for (std::size_t i = 0; i < of_.batch; ++i)
        on_.all.push_back(floats(arrays_.emplace_back(CUDA_R_32F, size)));
    on_.batch = of_.batch;
    if (of_.batch == 1) return;
    const std::size_t bytes = on_.all.size() * sizeof(float*);
    pointers_ = new_memory(bytes);
    on_.pointers = static_cast<float**>(pointers_.get());
    if (of_.scratch > 0) scratch_ = new_memory(of_.scratch);
    on_.scratch = scratch_.get();
    CUFAULT_REQUIRE(cudaMemcpy(pointers_.get(), on_.all.data(), bytes, cudaMemcpyDefault));
  }
  void prepare() override {
    expected_.clear();
    for (std::size_t i = 0; i < of_.batch; ++i) {
      std::vector<numbers> inputs;
      for (const std::size_t size : of_.inputs) inputs.push_back(small_numbers(size, fresh_seed()));
      expected_.push_back(of_.reference(inputs));
      for (std::size_t array = 0; array < inputs.size(); ++array)
        arrays_[array * of_.batch + i].put(inputs[array]);
      if (of_.output > 0) arrays_[inputs.size() * of_.batch + i].poison();
    }
  }
  status_record make() override { return record_of(of_.call(handle(), on_)); }
  product_result check() override {
    product_result result;
    for (std::size_t i = 0; i < of_.batch && (i == 0 || result.ok()); ++i)
      result = compared(CUBLAS_STATUS_SUCCESS, arrays_[arrays_.size() - of_.batch + i], expected_[i]);
    return result;
  }

 private:
  routine of_;
  std::vector<guarded_array> arrays_;
  owned_memory pointers_, scratch_;
  routine::arrays on_;
  std::vector<numbers> expected_;
};

inline std::unique_ptr<operation> routine::operator()() const {
  return std::make_unique<routine_operation>(*this);
}

}  // namespace cufault::operations
