// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A product with one wrong argument. Recorded: which are refused, with which status and blamed parameter; which are accepted
//              and compute something else; which end the process or damage the context.
// Why          cuBLAS checks on the host a part of what needs no look at memory. On H200, driver 580.159.04, cuBLAS 13.1.0, a leading
//              dimension, extent or operation that is wrong by itself is always refused. A stride never is, even if results overlap or lie
//              before C. A null alpha or beta is refused by cublas<t>gemm, but ends the process in cublasGemmEx and strided batches; one in
//              device memory always ends it. A negative batch count is refused by cublas<t>gemmStridedBatched; cublasGemmStridedBatchedEx
//              fails to execute, or, with transposed operands, succeeds and writes C. Null matrices are refused. With host memory, or
//              extents or strides beyond the memory, the kernel fails: after CUBLAS_STATUS_SUCCESS or with CUBLAS_STATUS_EXECUTION_FAILED,
//              in cublasZgemm CUBLAS_STATUS_INTERNAL_ERROR. Freed memory is accepted. An address not aligned to its element is not
//              supported, but makes the kernel of strided batches in single precision fail.
// Documented   cuBLAS library, cublas<t>gemm and the functions after it: their tables of return values name CUBLAS_STATUS_INVALID_VALUE for
//              extents and batch counts below zero, for operations and leading dimensions, and, for cublas<t>gemm at least, for a null
//              alpha or beta. Reported under many names, the leading dimension first: tensorflow#25761, dbcsr#28, gorgonia#34; fast.cu#14.
// What helps   Not measured here: the case only characterises. Cases of their own have remedies for single mistakes.
#include "cases/arguments/gemm_arguments.hpp"
#include "cases/arguments/numbers.hpp"
#include "harness/kit/argument_table.hpp"

#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <cuComplex.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace argument_table;

constexpr long long stride = 16 * 16;
constexpr int batch = 2;

/// The valid call from which rows differ.
enum class base {
  plain,       ///< two operands as they are, and a beta of 0
  transposed,  ///< both transposed
  adding       ///< a beta of 1: C is read
};
std::string with(const std::string& function, base from) {
  return function + (from == base::transposed ? " TT" : from == base::adding ? " with a beta of 1" : "");
}
cublasOperation_t operation(base from) {
  return from == base::transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}
template <class T>
const T* beta(base from) {
  return from == base::adding ? &one<T> : &zero<T>;
}

/// What argument_check must know of cublas<t>gemm beside its arguments; `I` is the integer type of extents.
template <class T, class I>
argument_check::product typed() {
  argument_check::product p;
  if constexpr (std::is_same_v<I, std::int64_t>) p.function = argument_check::entry::cublas_64;
  const auto set = [&](cudaDataType type, cublasComputeType_t compute) {
    p.a.type = p.b.type = p.c.type = p.scalar = type;
    p.compute = compute;
  };
  if constexpr (std::is_same_v<T, float>) set(CUDA_R_32F, CUBLAS_COMPUTE_32F);
  if constexpr (std::is_same_v<T, double>) set(CUDA_R_64F, CUBLAS_COMPUTE_64F);
  if constexpr (std::is_same_v<T, cuComplex>) set(CUDA_C_32F, CUBLAS_COMPUTE_32F);
  if constexpr (std::is_same_v<T, cuDoubleComplex>) set(CUDA_C_64F, CUBLAS_COMPUTE_64F);
  if constexpr (std::is_same_v<T, __half>) set(CUDA_R_16F, CUBLAS_COMPUTE_16F);
  return p;
}

// Integer type of the extents: the fourth parameter of each function here.
template <class H, class Op, class I, class... A>
I extent_of(cublasStatus_t (*)(H, Op, Op, I, A...));
template <class F>
using extent = decltype(extent_of(std::declval<F>()));

/// Written memory cannot test argument_check in some rows: a product that adds nothing leaves C unchanged, and an operand in the place of C
/// only changes numbers. These lose their description.
std::vector<row> drop_untestable_descriptions(std::vector<row> rows, base from) {
  for (row& r : rows) {
    const bool adds_nothing =
        (r.argument == "alpha" && r.change != "null") || (r.argument == "k" && r.change == "of 0");
    const bool in_place = r.change == "that of C" || (r.argument == "C" && r.change.starts_with("that of"));
    if (in_place || (from == base::adding && adds_nothing)) r.described.reset();
  }
  return rows;
}

template <class T, class F>
row_maker gemm(const std::string& name, F f, base from = base::plain) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const auto op = operation(from);
    return drop_untestable_descriptions(
        described_rows_of(typed<T, extent<F>>(), with(name, from), f, gemm_arguments(op), b, how_deep, handle,
                          op, op, m, n, k, &one<T>, b.device(0), ld, b.device(1), ld, beta<T>(from),
                          b.device(2), ld),
        from);
  };
}

template <class T, class F>
row_maker strided(const std::string& name, F f, base from = base::plain) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const auto op = operation(from);
    return drop_untestable_descriptions(
        described_rows_of(typed<T, extent<F>>(), with(name, from), f, gemm_arguments(op, {.strided = true}),
                          b, how_deep, handle, op, op, m, n, k, &one<T>, b.device(0), ld, stride, b.device(1),
                          ld, stride, beta<T>(from), b.device(2), ld, stride, batch),
        from);
  };
}

// Half-precision data, computed and scaled in single precision.
template <class F>
row_maker gemm_ex(const std::string& name, F f, base from = base::plain) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const auto op = operation(from);
    return drop_untestable_descriptions(
        described_rows_of(typed<float, extent<F>>(), with(name, from), f, gemm_arguments(op, {.typed = true}),
                          b, how_deep, handle, op, op, m, n, k, &one<float>, b.device(0), CUDA_R_16F, ld,
                          b.device(1), CUDA_R_16F, ld, beta<float>(from), b.device(2), CUDA_R_16F, ld,
                          CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        from);
  };
}

template <class F>
row_maker strided_ex(const std::string& name, F f, base from = base::plain) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const auto op = operation(from);
    return drop_untestable_descriptions(
        described_rows_of(typed<float, extent<F>>(), with(name, from), f,
                          gemm_arguments(op, {.typed = true, .strided = true}), b, how_deep, handle, op, op,
                          m, n, k, &one<float>, b.device(0), CUDA_R_16F, ld, stride, b.device(1), CUDA_R_16F,
                          ld, stride, beta<float>(from), b.device(2), CUDA_R_16F, ld, stride, batch,
                          CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        from);
  };
}

// cublas_v2.h overloads these for the older compute types.
using gemm_ex_function = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                            int, const void*, const void*, cudaDataType, int, const void*,
                                            cudaDataType, int, const void*, void*, cudaDataType, int,
                                            cublasComputeType_t, cublasGemmAlgo_t);
using strided_ex_function = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                               int, const void*, const void*, cudaDataType, int,
                                               long long int, const void*, cudaDataType, int, long long int,
                                               const void*, void*, cudaDataType, int, long long int, int,
                                               cublasComputeType_t, cublasGemmAlgo_t);

/// The table of one type of cublas<t>gemm that is checked on the host: both integer widths, several valid calls.
template <class T, class F, class W>
std::vector<row_maker> both_widths(const std::string& name, F f, W wide) {
  return {gemm<T>(name, f), gemm<T>(name, f, base::transposed), gemm<T>(name + "_64", wide)};
}

template <class T, class F, class W>
std::vector<row_maker> both_widths_strided(const std::string& name, F f, W wide) {
  return {strided<T>(name, f), strided<T>(name + "_64", wide)};
}

std::vector<row_maker> joined(std::initializer_list<std::vector<row_maker>> parts) {
  std::vector<row_maker> all;
  for (const auto& each : parts) all.insert(all.end(), each.begin(), each.end());
  return all;
}

failure_case gemm_table() {
  constexpr auto turned = base::transposed, adding = base::adding;
  const auto ex = static_cast<gemm_ex_function>(cublasGemmEx);
  const auto in_batches_ex = static_cast<strided_ex_function>(cublasGemmStridedBatchedEx);
  table_case c("arguments.gemm", "products with one argument changed", {"S3-3", "S3-8"});
  c.everything("sgemm", "cublasSgemm, every change", {gemm<float>("cublasSgemm", cublasSgemm)});
  c.on_the_host(
      "sgemm_transposed", "cublasSgemm of two transposed operands, and with a beta of 1",
      {gemm<float>("cublasSgemm", cublasSgemm, turned), gemm<float>("cublasSgemm", cublasSgemm, adding)});
  c.on_the_host("sgemm_64", "cublasSgemm_64", {gemm<float>("cublasSgemm_64", cublasSgemm_64)});
  c.everything("sgemm_64_memory", "cublasSgemm_64, every change",
               {gemm<float>("cublasSgemm_64", cublasSgemm_64)});
  c.on_the_host("other_types", "the same of double, complex and half",
                joined({both_widths<double>("cublasDgemm", cublasDgemm, cublasDgemm_64),
                        both_widths<cuComplex>("cublasCgemm", cublasCgemm, cublasCgemm_64),
                        both_widths<cuDoubleComplex>("cublasZgemm", cublasZgemm, cublasZgemm_64),
                        both_widths<__half>("cublasHgemm", cublasHgemm, cublasHgemm_64)}));
  c.everything("dgemm", "cublasDgemm, every change", {gemm<double>("cublasDgemm", cublasDgemm)});
  c.everything("cgemm", "cublasCgemm, every change", {gemm<cuComplex>("cublasCgemm", cublasCgemm)});
  c.everything("zgemm", "cublasZgemm, every change", {gemm<cuDoubleComplex>("cublasZgemm", cublasZgemm)});
  c.everything("hgemm", "cublasHgemm, every change", {gemm<__half>("cublasHgemm", cublasHgemm)});
  c.everything("gemm_ex", "cublasGemmEx of half, every change", {gemm_ex("cublasGemmEx", ex)});
  c.on_the_host("gemm_ex_64", "cublasGemmEx_64, and cublasGemmEx of two transposed operands",
                {gemm_ex("cublasGemmEx_64", cublasGemmEx_64), gemm_ex("cublasGemmEx", ex, turned)});
  c.everything("strided", "cublasSgemmStridedBatched, every change",
               {strided<float>("cublasSgemmStridedBatched", cublasSgemmStridedBatched)});
  c.on_the_host(
      "strided_types", "strided batches of the other types",
      joined({{strided<float>("cublasSgemmStridedBatched", cublasSgemmStridedBatched, turned),
               strided<float>("cublasSgemmStridedBatched_64", cublasSgemmStridedBatched_64)},
              both_widths_strided<double>("cublasDgemmStridedBatched", cublasDgemmStridedBatched,
                                          cublasDgemmStridedBatched_64),
              both_widths_strided<cuComplex>("cublasCgemmStridedBatched", cublasCgemmStridedBatched,
                                             cublasCgemmStridedBatched_64),
              both_widths_strided<cuDoubleComplex>("cublasZgemmStridedBatched", cublasZgemmStridedBatched,
                                                   cublasZgemmStridedBatched_64),
              both_widths_strided<__half>("cublasHgemmStridedBatched", cublasHgemmStridedBatched,
                                          cublasHgemmStridedBatched_64)}));
  // The only part with shapes, types and strides, and with all changes of them.
  c.everything("strided_ex", "cublasGemmStridedBatchedEx of half, every change",
               {strided_ex("cublasGemmStridedBatchedEx", in_batches_ex)})
      .claims = {"S3-3", "S3-8", "S3-17"};
  c.on_the_host("strided_ex_64",
                "cublasGemmStridedBatchedEx_64, and cublasGemmStridedBatchedEx of two transposed operands",
                {strided_ex("cublasGemmStridedBatchedEx_64", cublasGemmStridedBatchedEx_64),
                 strided_ex("cublasGemmStridedBatchedEx", in_batches_ex, turned)});
  c.failures = {"F-ARG-01", "F-ARG-03", "F-ARG-08", "F-ARG-12"};
  c.in_tier = {"control", "sgemm_transposed"};
  return c;  // NOLINT(cppcoreguidelines-slicing): what it adds builds arms
}

const register_case here{gemm_table()};

}  // namespace
}  // namespace cufault
