// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A product with one wrong argument: what is refused, with which status and which parameter blamed; what is
//              accepted and computes something else; what ends the process or damages the context.
// Why          cuBLAS checks on the host what needs no look at memory. Pointers, strides and what lies behind them it
//              cannot check.
// Documented   cuBLAS library, cublas<t>gemm and the functions after it: their tables of return values. Reported under
//              many names, the leading dimension first: tensorflow#25761, dbcsr#28, gorgonia#34; fast.cu#14.
// What helps   Not measured here: this characterises. Remedies for single mistakes have cases of their own.
#include "harness/argument_table.hpp"

#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <cuComplex.h>

#include <string>
#include <type_traits>
#include <vector>

namespace cufault {
namespace {

using namespace argument_table;

// No two extents are alike, so that a leading dimension one too small for one operand is not right for another.
constexpr int m = 8, n = 12, k = 16, ld = 16;
constexpr long long stride = 16 * 16;
constexpr int batch = 2;

template <class T>
constexpr T number(float x) {
  if constexpr (std::is_same_v<T, cuComplex> || std::is_same_v<T, cuDoubleComplex>)
    return {x, 0};
  else if constexpr (std::is_same_v<T, __half>)
    return __half_raw{static_cast<unsigned short>(x == 1 ? 0x3c00 : 0)};
  else
    return static_cast<T>(x);
}
template <class T>
const T one = number<T>(1);
template <class T>
const T zero = number<T>(0);

/// Names of the parameters of cublas<t>gemm, in order; with the leading dimensions that N, N or T, T ask for.
std::vector<argument> gemm_arguments(bool transposed) {
  return {{"handle", role::handle},
          {"transa", role::enumeration},
          {"transb", role::enumeration},
          {"m", role::size},
          {"n", role::size},
          {"k", role::size},
          {"alpha", role::scalar},
          {"A", role::input},
          {"lda", role::leading_dimension, transposed ? k : m},
          {"B", role::input},
          {"ldb", role::leading_dimension, transposed ? n : k},
          {"beta", role::scalar},
          {"C", role::output},
          {"ldc", role::leading_dimension, m}};
}

template <class T, class F>
row_maker gemm(const std::string& name, F f, bool transposed = false) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const auto op = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    return rows_of(transposed ? name + " TT" : name, f, gemm_arguments(transposed), b, how_deep, handle, op,
                   op, m, n, k, &one<T>, b.device(0), ld, b.device(1), ld, &zero<T>, b.device(2), ld);
  };
}

template <class T, class F>
row_maker strided(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const auto named = [](const char* of) { return argument{std::string("stride") + of, role::stride}; };
    auto names = gemm_arguments(false);
    names.insert(names.begin() + 9, named("A"));
    names.insert(names.begin() + 12, named("B"));
    names.push_back(named("C"));
    names.push_back({"batchCount", role::size});
    return rows_of(name, f, names, b, how_deep, handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one<T>,
                   b.device(0), ld, stride, b.device(1), ld, stride, &zero<T>, b.device(2), ld, stride,
                   batch);
  };
}

template <class F>
row_maker gemm_ex(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    auto names = gemm_arguments(false);
    names.insert(names.begin() + 8, {"Atype", role::enumeration});
    names.insert(names.begin() + 11, {"Btype", role::enumeration});
    names.insert(names.begin() + 15, {"Ctype", role::enumeration});
    names.push_back({"computeType", role::enumeration});
    names.push_back({"algo", role::enumeration});
    return rows_of(name, f, names, b, how_deep, handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one<float>,
                   b.device(0), CUDA_R_16F, ld, b.device(1), CUDA_R_16F, ld, &zero<float>, b.device(2),
                   CUDA_R_16F, ld, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  };
}

template <class F>
row_maker strided_ex(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle},
                                      {"transa", role::enumeration},
                                      {"transb", role::enumeration},
                                      {"m", role::size},
                                      {"n", role::size},
                                      {"k", role::size},
                                      {"alpha", role::scalar},
                                      {"A", role::input},
                                      {"Atype", role::enumeration},
                                      {"lda", role::leading_dimension, m},
                                      {"strideA", role::stride},
                                      {"B", role::input},
                                      {"Btype", role::enumeration},
                                      {"ldb", role::leading_dimension, k},
                                      {"strideB", role::stride},
                                      {"beta", role::scalar},
                                      {"C", role::output},
                                      {"Ctype", role::enumeration},
                                      {"ldc", role::leading_dimension, m},
                                      {"strideC", role::stride},
                                      {"batchCount", role::size},
                                      {"computeType", role::enumeration},
                                      {"algo", role::enumeration}};
    return rows_of(name, f, names, b, how_deep, handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one<float>,
                   b.device(0), CUDA_R_16F, ld, stride, b.device(1), CUDA_R_16F, ld, stride, &zero<float>,
                   b.device(2), CUDA_R_16F, ld, stride, batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  };
}

// cublas_v2.h has overloads of these for the compute types of old.
using gemm_ex_function = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                            int, const void*, const void*, cudaDataType, int, const void*,
                                            cudaDataType, int, const void*, void*, cudaDataType, int,
                                            cublasComputeType_t, cublasGemmAlgo_t);
using strided_ex_function = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                               int, const void*, const void*, cudaDataType, int,
                                               long long int, const void*, cudaDataType, int, long long int,
                                               const void*, void*, cudaDataType, int, long long int, int,
                                               cublasComputeType_t, cublasGemmAlgo_t);

failure_case gemm_table() {
  failure_case c;
  c.name = "arguments.gemm";
  c.summary = "products with one argument changed";
  c.failures = {"F-ARG-01", "F-ARG-03", "F-ARG-08", "F-ARG-12"};
  const std::vector<row_maker> whole{gemm<float>("cublasSgemm", cublasSgemm)};
  const std::vector<row_maker> transposed{gemm<float>("cublasSgemm", cublasSgemm, true)};
  const std::vector<row_maker> wide{gemm<float>("cublasSgemm_64", cublasSgemm_64)};
  const std::vector<row_maker> types{gemm<double>("cublasDgemm", cublasDgemm),
                                     gemm<double>("cublasDgemm_64", cublasDgemm_64),
                                     gemm<cuComplex>("cublasCgemm", cublasCgemm),
                                     gemm<cuComplex>("cublasCgemm_64", cublasCgemm_64),
                                     gemm<cuDoubleComplex>("cublasZgemm", cublasZgemm),
                                     gemm<cuDoubleComplex>("cublasZgemm_64", cublasZgemm_64),
                                     gemm<__half>("cublasHgemm", cublasHgemm),
                                     gemm<__half>("cublasHgemm_64", cublasHgemm_64)};
  const std::vector<row_maker> ex{gemm_ex("cublasGemmEx", static_cast<gemm_ex_function>(cublasGemmEx))};
  const std::vector<row_maker> ex_wide{gemm_ex("cublasGemmEx_64", cublasGemmEx_64)};
  const std::vector<row_maker> in_strides{
      strided<float>("cublasSgemmStridedBatched", cublasSgemmStridedBatched)};
  const std::vector<row_maker> in_strides_types{
      strided<float>("cublasSgemmStridedBatched_64", cublasSgemmStridedBatched_64),
      strided<double>("cublasDgemmStridedBatched", cublasDgemmStridedBatched),
      strided<cuComplex>("cublasCgemmStridedBatched", cublasCgemmStridedBatched),
      strided<cuDoubleComplex>("cublasZgemmStridedBatched", cublasZgemmStridedBatched),
      strided<__half>("cublasHgemmStridedBatched", cublasHgemmStridedBatched)};
  const std::vector<row_maker> in_strides_ex{
      strided_ex("cublasGemmStridedBatchedEx", static_cast<strided_ex_function>(cublasGemmStridedBatchedEx)),
      strided_ex("cublasGemmStridedBatchedEx_64", cublasGemmStridedBatchedEx_64)};

  std::vector<row_maker> all;
  const auto add = [&](const char* name, const char* summary, const std::vector<row_maker>& makers,
                       depth how_deep) {
    all.insert(all.end(), makers.begin(), makers.end());
    c.add(name, arm_kind::fault, summary, [=](trial& t) { run(t, makers, how_deep); }).timeout =
        std::chrono::seconds(240);
  };
  // Filled in last: it takes all of them.
  c.add("control", arm_kind::control, "the valid calls", nullptr);
  add("sgemm", "cublasSgemm, every change", whole, depth::everything);
  add("sgemm_transposed", "cublasSgemm of two transposed operands", transposed, depth::checked_on_the_host);
  add("sgemm_64", "cublasSgemm_64", wide, depth::checked_on_the_host);
  add("other_types", "the same of double, complex and half", types, depth::checked_on_the_host);
  add("gemm_ex", "cublasGemmEx of half, every change", ex, depth::everything);
  add("gemm_ex_64", "cublasGemmEx_64", ex_wide, depth::checked_on_the_host);
  add("strided", "cublasSgemmStridedBatched, every change", in_strides, depth::everything);
  add("strided_types", "strided batches of the other types", in_strides_types, depth::checked_on_the_host);
  add("strided_ex", "cublasGemmStridedBatchedEx of half", in_strides_ex, depth::checked_on_the_host);
  c.arms.front().body = [all](trial& t) { run_valid(t, all); };
  c.quick = {"control", "sgemm_64", "sgemm_transposed", "strided_ex"};
  return c;
}

const register_case here{gemm_table()};

}  // namespace
}  // namespace cufault
