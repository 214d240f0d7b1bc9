// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Products by a cuBLAS handle: one, batches of them, and cublasXt.
#include "cases/operations/operations.hpp"
#include "kernels/product.hpp"

#include <cublasXt.h>

#include <cmath>

namespace cufault::operations {
namespace {

/// cublasSgemm and its like; the template arguments are the types of elements and extents.
template <class Extent, class Element>
checked_call::call by(cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, Extent,
                                             Extent, Extent, const Element*, const Element*, Extent,
                                             const Element*, Extent, const Element*, Element*, Extent)) {
  return [gemm](cublasHandle_t handle, checked_product& p) {
    const argument_check::product& d = p.described();
    const auto extent = [](std::int64_t x) { return static_cast<Extent>(x); };
    const auto elements = [](const void* of) { return static_cast<const Element*>(of); };
    return gemm(handle, d.a_op, d.b_op, extent(d.m), extent(d.n), extent(d.k), elements(d.alpha),
                elements(p.a.data()), extent(d.a.leading_dimension), elements(p.b.data()),
                extent(d.b.leading_dimension), elements(d.beta), static_cast<Element*>(p.c.data()),
                extent(d.c.leading_dimension));
  };
}

/// cublasGemmEx, or its strided batch.
cublasStatus_t by_gemm_ex(cublasHandle_t handle, checked_product& p) {
  return gemm_ex(handle, p.described(), p.c.data());
}

/// cublasSgemm with extents too large for the host: the device makes and checks the numbers (kernels/product.hpp).
class sgemm_operation final : public by_handle {
 public:
  explicit sgemm_operation(const product_extents& extents) : extents_(extents) {}
  void prepare() override { CUFAULT_REQUIRE(prepare_product(extents_, block_.get(), fresh_seed(), &on_)); }
  status_record make() override { return record_of(cufault::sgemm(handle(), extents_, on_)); }
  product_result check() override { return checked({}, extents_, block_.get()); }
  [[nodiscard]] void* operand() const override { return block_.get(); }

 private:
  product_extents extents_;
  owned_memory block_ = new_memory(product_bytes(extents_));
  product_operands on_{};
};

make_operation fresh_sgemm(int m, int n, int k) {
  return [=] { return std::make_unique<sgemm_operation>(product_extents{.m = m, .n = n, .k = k}); };
}

/// cublasSgemm of 96 x 80 x 112. Its operands are static device memory.
class sgemm_on_static_memory final : public by_handle {
 public:
  void prepare() override { CUFAULT_REQUIRE(prepare_product(fresh_seed(), &on_)); }
  status_record make() override { return record_of(cufault::sgemm(handle(), on_)); }
  product_result check() override { return checked({}); }

 private:
  product_operands on_{};
};

/// Several products by a call that takes arrays of pointers to their operands in device memory.
class batched_product final : public by_handle {
 public:
  static constexpr int count = 3;
  using call = cublasStatus_t (*)(cublasHandle_t, const batched_product&);
  batched_product(const argument_check::product& one, call made) : products_(some(one)), made_(made) {
    const argument_check::product& d = products_.described();
    std::vector<std::byte*> all;
    const auto add = [&](const guarded_array& from, const argument_check::matrix& of) {
      const std::int64_t bytes = of.stride * argument_check::detail::element_size(of.type);
      for (int i = 0; i < count; ++i) all.push_back(static_cast<std::byte*>(from.data()) + i * bytes);
    };
    add(products_.a, d.a);
    add(products_.b, d.b);
    add(products_.c, d.c);
    pointers_ = new_memory(all.size() * sizeof(void*));
    CUFAULT_REQUIRE(cudaMemcpy(pointers_.get(), all.data(), all.size() * sizeof(void*), cudaMemcpyDefault));
  }
  void prepare() override { products_.reset(); }
  status_record make() override { return record_of(made_(handle(), *this)); }
  product_result check() override { return products_.finish(CUBLAS_STATUS_SUCCESS); }

  [[nodiscard]] const argument_check::product& described() const { return products_.described(); }
  /// Array of operand 0, 1 or 2.
  template <class Element = float>
  [[nodiscard]] Element** pointers(int operand) const {
    return static_cast<Element**>(pointers_.get()) + operand * count;
  }

 private:
  static argument_check::product some(argument_check::product p) {
    p.batch = count;
    return p;
  }
  checked_product products_;
  call made_;
  owned_memory pointers_;
};

make_operation fresh_batch(const argument_check::product& one, batched_product::call made) {
  return [=] { return std::make_unique<batched_product>(one, made); };
}

/// Extents as 32-bit integers.
struct extents {
  explicit extents(const argument_check::product& d)
      : m(static_cast<int>(d.m)),
        n(static_cast<int>(d.n)),
        k(static_cast<int>(d.k)),
        lda(static_cast<int>(d.a.leading_dimension)),
        ldb(static_cast<int>(d.b.leading_dimension)),
        ldc(static_cast<int>(d.c.leading_dimension)) {}
  int m, n, k, lda, ldb, ldc;
};

cublasStatus_t by_gemm_batched(cublasHandle_t handle, const batched_product& p) {
  const argument_check::product& d = p.described();
  const extents x(d);
  return cublasSgemmBatched(handle, d.a_op, d.b_op, x.m, x.n, x.k, &one, p.pointers(0), x.lda, p.pointers(1),
                            x.ldb, &zero, p.pointers(2), x.ldc, p.count);
}

cublasStatus_t by_gemm_batched_ex(cublasHandle_t handle, const batched_product& p) {
  const argument_check::product& d = p.described();
  const extents x(d);
  return cublasGemmBatchedEx(handle, d.a_op, d.b_op, x.m, x.n, x.k, d.alpha, p.pointers<const void>(0),
                             d.a.type, x.lda, p.pointers<const void>(1), d.b.type, x.ldb, d.beta,
                             p.pointers<void>(2), d.c.type, x.ldc, p.count, d.compute, CUBLAS_GEMM_DEFAULT);
}

#if CUBLAS_VER_MAJOR > 12 || (CUBLAS_VER_MAJOR == 12 && CUBLAS_VER_MINOR >= 4)
cublasStatus_t by_gemm_grouped(cublasHandle_t handle, const batched_product& p) {
  const argument_check::product& d = p.described();
  const extents x(d);
  const int size = p.count;
  return cublasSgemmGroupedBatched(handle, &d.a_op, &d.b_op, &x.m, &x.n, &x.k, &one, p.pointers(0), &x.lda,
                                   p.pointers(1), &x.ldb, &zero, p.pointers(2), &x.ldc, 1, &size);
}
const make_operation fresh_groups = fresh_batch(usual_product(), by_gemm_grouped);
#else
const make_operation fresh_groups = []() -> std::unique_ptr<operation> {
  throw not_provoked("built with a CUDA before 12.4, whose headers have no cublasSgemmGroupedBatched");
};
#endif

/// Uses only the trial's device. Operands are in host memory; it makes its own streams and device memory. The first call uses an unused
/// handle.
class xt_sgemm final : public without_handle {
 public:
  xt_sgemm() {
    cublasXtHandle_t made = nullptr;
    CUFAULT_REQUIRE(cublasXtCreate(&made));
    handle_.reset(made);
    int device = 0;
    CUFAULT_REQUIRE(cudaGetDevice(&device));
    CUFAULT_REQUIRE(cublasXtDeviceSelect(made, 1, &device));
  }
  void prepare() override {
    const auto a = small_numbers(std::size_t{m} * k, fresh_seed()),
               b = small_numbers(std::size_t{k} * n, fresh_seed());
    a_.assign(a.begin(), a.end());
    b_.assign(b.begin(), b.end());
    c_.assign(std::size_t{m} * n, NAN);
    expected_ = product_of(a, b, m, n, k);
  }
  status_record make() override {
    return record_of(cublasXtSgemm(handle_.get(), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a_.data(), m,
                                   b_.data(), k, &zero, c_.data(), m));
  }
  product_result check() override {
    product_result result{.waited = cudaDeviceSynchronize()};
    result.right = std::equal(c_.begin(), c_.end(), expected_.begin(), expected_.end());
    return result;
  }

 private:
  static constexpr int m = 96, n = 80, k = 64;
  std::unique_ptr<cublasXtContext, destroy_by<cublasXtDestroy>> handle_;
  std::vector<float> a_, b_, c_;
  std::vector<double> expected_;
};

const register_operations here{
    {.name = "sgemm",
     .step = {"cublasSgemm"},
     .fresh = fresh_product(usual_product(), by(cublasSgemm)),
     .has_operand = true,
     .lower_precision = "gemm_ex_half"},
    {.name = "sgemm_64bit",
     .step = {"cublasSgemm_64"},
     .fresh = fresh_product(usual_product(), by(cublasSgemm_64)),
     .has_operand = true},
    // Imaginary parts are 0.
    {.name = "cgemm",
     .step = {"cublasCgemm"},
     .fresh = fresh_product(usual_but([](auto& p) { p.scalar = CUDA_C_32F; }, CUDA_C_32F, CUDA_C_32F),
                            by(cublasCgemm)),
     .has_operand = true},
    // Apart: after a kernel failed (H200, cuBLAS 13.1.0), a cold call returned EXECUTION_FAILED with other operations made ready in the
    // process, and INTERNAL_ERROR alone.
    {.name = "dgemm",
     .step = {"cublasDgemm"},
     .fresh = fresh_product(usual_but([](auto& p) { p.scalar = CUDA_R_64F, p.compute = CUBLAS_COMPUTE_64F; },
                                      CUDA_R_64F, CUDA_R_64F),
                            by(cublasDgemm)),
     .has_operand = true,
     .lower_precision = "sgemm",
     .apart = true},
    {.name = "sgemm_64",
     .step = {"cublasSgemm", "square_64"},
     .summary = "cublasSgemm of 64 x 64 x 64",
     .fresh = fresh_sgemm(64, 64, 64),
     .has_operand = true,
     .representative = true},
    {.name = "sgemm_512",
     .step = {"cublasSgemm", "square_512"},
     .summary = "cublasSgemm of 512 x 512 x 512",
     .fresh = fresh_sgemm(512, 512, 512),
     .has_operand = true,
     .smaller = "sgemm_64"},
    {.name = "sgemm_1024",
     .step = {"cublasSgemm", "square_1024"},
     .summary = "cublasSgemm of 1024 x 1024 x 1024",
     .fresh = fresh_sgemm(1024, 1024, 1024),
     .has_operand = true,
     .smaller = "sgemm_512"},
    {.name = "sgemm_large",
     .step = {"cublasSgemm", "large"},
     .summary = "cublasSgemm of 4096 x 4096 x 512",
     .fresh = fresh_sgemm(4096, 4096, 512),
     .has_operand = true,
     .smaller = "sgemm_1024"},
    // Parts of so long a k are added up in the handle's workspace, whose size the first part may decide.
    {.name = "split_k",
     .step = {"cublasSgemm", "long_k"},
     .summary = "cublasSgemm that splits k",
     .fresh = fresh_sgemm(96, 64, 65536),
     .has_operand = true,
     .smaller = "sgemm_split_k_small"},
    {.name = "sgemm_split_k_small",
     .step = {"cublasSgemm", "split_k"},
     .summary = "cublasSgemm of 96 x 80 x 112, split",
     .fresh = fresh<sgemm_on_static_memory>,
     .smaller = "sgemm_64",
     .lower_precision = "gemm_ex_half",
     .representative = true},
    {.name = "gemm_ex_bfloat16",
     .step = {"cublasGemmEx", "bf16"},
     .summary = "cublasGemmEx in BF16",
     .fresh = fresh_product(usual_product(CUDA_R_16BF, CUDA_R_32F), by_gemm_ex),
     .has_operand = true},
    // Sums in FP32.
    {.name = "gemm_ex_half",
     .step = {"cublasGemmEx", "fp16"},
     .summary = "cublasGemmEx in FP16",
     .fresh = fresh_product(usual_product(CUDA_R_16F, CUDA_R_16F), by_gemm_ex),
     .has_operand = true,
     .representative = true},
    {.name = "gemm_ex_half_to_float",
     .step = {"cublasGemmEx", "fp16_to_fp32"},
     .summary = "cublasGemmEx of FP16 into FP32",
     .fresh = fresh_product(usual_product(CUDA_R_16F, CUDA_R_32F), by_gemm_ex),
     .has_operand = true,
     .lower_precision = "gemm_ex_half"},
    // Whole numbers from -2 to 2 are exact in TF32.
    {.name = "gemm_ex_tf32",
     .step = {"cublasGemmEx", "tf32"},
     .summary = "cublasGemmEx in TF32",
     .fresh = fresh_product(usual_but([](auto& p) { p.compute = CUBLAS_COMPUTE_32F_FAST_TF32; }), by_gemm_ex),
     .has_operand = true,
     .lower_precision = "gemm_ex_half"},
    {.name = "int8",
     .step = {"cublasGemmEx", "int8"},
     .summary = "cublasGemmEx in INT8",
     .fresh = fresh_product(
         usual_but(
             [](auto& p) { p.a_op = CUBLAS_OP_T, p.scalar = CUDA_R_32I, p.compute = CUBLAS_COMPUTE_32I; },
             CUDA_R_8I, CUDA_R_32I),
         by_gemm_ex),
     .has_operand = true},
    {.name = "gemm_strided_batched",
     .step = {"cublasGemmStridedBatchedEx"},
     .fresh = fresh_product(usual_but([](auto& p) { p.batch = 3; }), by_gemm_ex),
     .has_operand = true,
     .lower_precision = "gemm_strided_batched_half"},
    {.name = "gemm_strided_batched_half",
     .step = {"cublasGemmStridedBatchedEx", "fp16"},
     .summary = "cublasGemmStridedBatchedEx in FP16",
     .fresh = fresh_product(usual_but([](auto& p) { p.batch = 3; }, CUDA_R_16F, CUDA_R_16F), by_gemm_ex),
     .has_operand = true},
    {.name = "gemm_batched",
     .step = {"cublasSgemmBatched"},
     .fresh = fresh_batch(usual_product(), by_gemm_batched),
     .lower_precision = "gemm_batched_half"},
    {.name = "gemm_batched_half",
     .step = {"cublasGemmBatchedEx", "fp16"},
     .summary = "cublasGemmBatchedEx in FP16",
     .fresh = fresh_batch(usual_product(CUDA_R_16F, CUDA_R_16F), by_gemm_batched_ex)},
    {.name = "gemm_grouped", .step = {"cublasSgemmGroupedBatched"}, .fresh = fresh_groups},
    {.name = "xt_sgemm",
     .step = {"cublasXtSgemm"},
     .fresh = fresh<xt_sgemm>,
     .handle = own_handle::none,
     .uses_private_stream = true,
     .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
