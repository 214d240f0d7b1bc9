// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/checked_product.hpp"
#include "harness/lt_problem.hpp"
#include "harness/sweep.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <functional>
#include <memory>
#include <utility>

/// What swept operations share.
namespace cufault::sweeping {

/// By a handle of its own.
class by_handle : public operation {
 public:
  ~by_handle() override { cublasDestroy(handle_); }
  product_result multiply() override { return product(handle_); }

 protected:
  cublasHandle_t handle_ = new_handle();
};

/// By a cuBLASLt handle of its own, and a workspace as frameworks have it.
class by_light_handle : public operation {
 public:
  by_light_handle() { require(cudaMalloc(&workspace_, workspace_bytes)); }
  ~by_light_handle() override {
    cublasLtDestroy(light_);
    cudaFree(workspace_);
  }
  product_result multiply() override { return lt_product(light_, workspace_, workspace_bytes); }

 protected:
  static constexpr std::size_t workspace_bytes = workbench::workspace_bytes;
  cublasLtHandle_t light_ = new_lt_handle();
  void* workspace_ = nullptr;
};

/// A product with operands of its own, by whatever call computes it.
class checked_call final : public by_handle {
 public:
  using call = std::function<cublasStatus_t(cublasHandle_t, checked_product&)>;
  checked_call(const argument_check::product& described, call made) : p_(described), made_(std::move(made)) {}
  void prepare() override { p_.reset(); }
  status_record make() override { return record_of(made_(handle_, p_)); }
  product_result check() override { return p_.finish(CUBLAS_STATUS_SUCCESS); }

 private:
  checked_product p_;
  call made_;
};

/// cublasLtMatmul by the heuristic's first algorithm, which is asked for before.
class light_product final : public by_light_handle {
 public:
  explicit light_product(const argument_check::product& described) : p_(described) {
    require(problem_.heuristic(light_, workspace_bytes, nullptr, 1));
    if (problem_.results().empty()) throw not_provoked("the heuristic knows no algorithm for this product");
  }
  void prepare() override { p_.reset(); }
  status_record make() override {
    return record_of(problem_.multiply(light_, p_.operands(), &problem_.results().front().algo, workspace_,
                                       workspace_bytes));
  }
  product_result check() override { return p_.finish(CUBLAS_STATUS_SUCCESS); }

 private:
  checked_product p_;
  lt_problem problem_{p_.described()};
};

/// cublasGemmEx.
inline cublasStatus_t by_gemm_ex(cublasHandle_t handle, checked_product& p) {
  return gemm_ex(handle, p.described(), p.c.data());
}

/// Extents of which no two are alike, and whole tiles.
inline argument_check::product usual_product(cudaDataType ab = CUDA_R_32F, cudaDataType c = CUDA_R_32F) {
  argument_check::product p;
  p.m = 96, p.n = 80, p.k = 64;
  p.a.type = p.b.type = ab;
  p.c.type = c;
  return p;
}

/// The case sweep.NAME of what makes the operation; for one with more to say there is sweep_case().
inline failure_case sweep_of(const char* name, const char* summary, make_operation fresh) {
  return sweep_case({.name = name, .summary = summary, .fresh = std::move(fresh)});
}
inline failure_case sweep_of_call(const char* name, const char* summary,
                                  const argument_check::product& described, checked_call::call made) {
  return sweep_of(name, summary, [described, made = std::move(made)] {
    return std::make_unique<checked_call>(described, made);
  });
}

}  // namespace cufault::sweeping
