// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/checked_product.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/operation.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <functional>
#include <memory>
#include <utility>

/// What operations share.
namespace cufault::operations {

/// What gives itself back.
using owned_handle = std::unique_ptr<cublasContext, destroy_by<cublasDestroy>>;
using owned_lt_handle = std::unique_ptr<cublasLtContext, destroy_by<cublasLtDestroy>>;
using owned_stream = std::unique_ptr<CUstream_st, destroy_by<cudaStreamDestroy>>;
using owned_memory = std::unique_ptr<void, destroy_by<cudaFree>>;

/// Does not wait for the legacy stream.
inline owned_stream new_stream() {
  cudaStream_t stream = nullptr;
  CUFAULT_REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return owned_stream(stream);
}
inline owned_memory new_memory(std::size_t bytes) {
  void* block = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&block, bytes));
  return owned_memory(block);
}

/// By a handle of its own.
class by_handle : public operation {
 public:
  product_result multiply() override { return product(handle()); }
  [[nodiscard]] cublasHandle_t handle() const final { return handle_.get(); }

 private:
  owned_handle handle_{new_handle()};
};

/// By a cuBLASLt handle of its own, and a workspace as frameworks have it.
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

/// A call that takes no handle.
class without_handle : public operation {
 public:
  product_result multiply() override { return product_by_new_handle(); }
};

/// What operation::multiply() is called as a step (operation_type::product), where it is not the usual.
inline const step_name by_same_lt_handle{"cublasLtMatmul", "first_algorithm_by_same_handle"},
    by_new_lt_handle{"cublasLtMatmul", "first_algorithm_by_new_handle"},
    by_new_handle{"cublasSgemm", "split_k_by_new_handle"};

/// operation_type::fresh of a class that is made of nothing.
template <class Operation>
std::unique_ptr<operation> fresh() {
  return std::make_unique<Operation>();
}

// ---- products ----

/// A product with operands of its own, by whatever call computes it.
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

/// cublasGemmEx, or its strided batch.
inline cublasStatus_t by_gemm_ex(cublasHandle_t handle, checked_product& p) {
  return gemm_ex(handle, p.described(), p.c.data());
}

/// cublasLtMatmul by the heuristic's first algorithm for the workspace, which is asked for before.
class lt_matmul_operation final : public by_lt_handle {
 public:
  explicit lt_matmul_operation(const argument_check::product& described, bool with_workspace = true)
      : p_(described), given_bytes_(with_workspace ? workspace_bytes : 0) {
    CUFAULT_REQUIRE(problem_.heuristic(lt(), given_bytes_, nullptr, 1));
    if (problem_.results().empty()) throw not_provoked("the heuristic knows no algorithm for this product");
  }
  void prepare() override { p_.reset(); }
  status_record make() override {
    return record_of(problem_.multiply(lt(), p_.operands(), &problem_.results().front().algo,
                                       given_bytes_ > 0 ? workspace() : nullptr, given_bytes_));
  }
  product_result check() override { return p_.finish(CUBLAS_STATUS_SUCCESS); }
  [[nodiscard]] void* operand() const override { return p_.a.allocation(); }

 private:
  checked_product p_;
  lt_problem problem_{p_.described()};
  std::size_t given_bytes_;
};

/// Extents of which no two are alike, and whole tiles.
inline argument_check::product usual_product(cudaDataType ab = CUDA_R_32F, cudaDataType c = CUDA_R_32F) {
  argument_check::product p;
  p.m = 96, p.n = 80, p.k = 64;
  p.a.type = p.b.type = ab;
  p.c.type = c;
  return p;
}

/// cublasSgemm of extents for which the host would compute too long: numbers are made and checked on the device (kernels/product.hpp).
class sgemm_operation final : public by_handle {
 public:
  explicit sgemm_operation(const product_extents& extents) : extents_(extents) {}
  void prepare() override { CUFAULT_REQUIRE(prepare_product(extents_, block_.get(), fresh_seed(), &on_)); }
  status_record make() override {
    const auto& [m, n, k] = extents_;
    const float one = 1, zero = 0;
    return record_of(cublasSgemm(handle(), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, on_.a, m, on_.b, k, &zero,
                                 on_.c, extents_.ldc()));
  }
  product_result check() override {
    product_result result{.waited = cudaDeviceSynchronize()};
    product_check found;
    if (result.waited == cudaSuccess) result.waited = check_product(extents_, block_.get(), &found);
    result.right = result.waited == cudaSuccess && found.right();
    return result;
  }
  [[nodiscard]] void* operand() const override { return block_.get(); }

 private:
  product_extents extents_;
  owned_memory block_ = new_memory(product_bytes(extents_));
  product_operands on_{};
};

inline make_operation fresh_sgemm(int m, int n, int k) {
  return [=] { return std::make_unique<sgemm_operation>(product_extents{.m = m, .n = n, .k = k}); };
}

// ---- arrays ----

inline float* floats(const guarded_array& of) {
  return static_cast<float*>(of.data());
}

/// Column-major A B of extents m x n x k, on the host.
inline std::vector<double> product_of(std::span<const double> a, std::span<const double> b, int m, int n,
                                      int k) {
  argument_check::product p;
  p.m = m, p.n = n, p.k = k;
  p.a.leading_dimension = m, p.b.leading_dimension = k, p.c.leading_dimension = m;
  return multiplied(p, 1, a, b, 0,
                    std::vector<double>(static_cast<std::size_t>(m) * static_cast<std::size_t>(n)));
}

}  // namespace cufault::operations
