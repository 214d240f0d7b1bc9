// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// probe: how many rows eleven tables of arguments and two of cuBLASLt have; probe N: makes the call of one. probe settings, recording, nothing,
// garbage: calls of a handle that has been set up, in a capture, none that fails, and with addresses where no memory is. probe threads, forked,
// closed, exits: of eight threads, in a child, without a descriptor, and before _exit. probe kinds: names of
// calls whose operands have numbers; probe NAME: makes one.
#include "cases/arguments/gemm_arguments.hpp"
#include "harness/kit/argument_table.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

// All that the buffers of a table need of a trial.
cufault::status_record cufault::record_of(cudaError_t status) {
  return {.status = std::to_string(status), .ok = status == cudaSuccess};
}
std::string cufault::status_record::text() const {
  return status;
}

using namespace cufault::argument_table;

namespace {

const float one = 1.5F, zero = 0;
const double one_double = 2.5, zero_double = 0;
constexpr long long stride = 16 * 16;
constexpr auto n_op = CUBLAS_OP_N, t_op = CUBLAS_OP_T;

std::vector<row> all_rows(cublasHandle_t handle, const buffers& b) {
  std::vector<row> all;
  const auto add = [&](std::vector<row> rows) {
    for (row& r : rows) all.push_back(std::move(r));
  };
  constexpr auto how = depth::everything;
  add(rows_of("cublasSgemm", cublasSgemm, gemm_arguments(n_op), b, how, handle, n_op, n_op, m, n, k, &one,
              b.device(0), ld, b.device(1), ld, &zero, b.device(2), ld));
  add(rows_of("cublasDgemm", cublasDgemm, gemm_arguments(t_op), b, how, handle, t_op, t_op, m, n, k,
              &one_double, b.device(0), ld, b.device(1), ld, &zero_double, b.device(2), ld));
  add(rows_of("cublasSgemm_64", cublasSgemm_64, gemm_arguments(n_op), b, how, handle, n_op, n_op, m, n, k,
              &one, b.device(0), ld, b.device(1), ld, &zero, b.device(2), ld));
  add(rows_of("cublasSgemmStridedBatched", cublasSgemmStridedBatched, gemm_arguments(n_op, {.strided = true}),
              b, how, handle, n_op, n_op, m, n, k, &one, b.device(0), ld, stride, b.device(1), ld, stride,
              &zero, b.device(2), ld, stride, 2));
  using typed =
      cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                         const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                         cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
  add(rows_of("cublasGemmEx", static_cast<typed>(cublasGemmEx), gemm_arguments(n_op, {.typed = true}), b, how,
              handle, n_op, n_op, m, n, k, &one, b.device(0), CUDA_R_16F, ld, b.device(1), CUDA_R_16F, ld,
              &zero, b.device(2), CUDA_R_16F, ld, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  using strided = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                     const void*, const void*, cudaDataType, int, long long, const void*,
                                     cudaDataType, int, long long, const void*, void*, cudaDataType, int,
                                     long long, int, cublasComputeType_t, cublasGemmAlgo_t);
  add(rows_of("cublasGemmStridedBatchedEx", static_cast<strided>(cublasGemmStridedBatchedEx),
              gemm_arguments(n_op, {.typed = true, .strided = true}), b, how, handle, n_op, n_op, m, n, k,
              &one, b.device(0), CUDA_R_16F, ld, stride, b.device(1), CUDA_R_16F, ld, stride, &zero,
              b.device(2), CUDA_R_16F, ld, stride, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  add(rows_of("cublasSgemmBatched", cublasSgemmBatched, gemm_arguments(n_op, {.pointer_arrays = true}), b,
              how, handle, n_op, n_op, m, n, k, &one, b.pointers(0), ld, b.pointers(1), ld, &zero,
              b.pointers(2), ld, buffers::batch));
  const argument handle_of{"handle", role::handle}, size_m{"m", role::size}, size_n{"n", role::size},
      alpha{"alpha", role::scalar}, beta{"beta", role::scalar};
  const argument a{"A", role::input, 0, 0}, lda{"lda", role::leading_dimension, m};
  add(rows_of("cublasSgemv", cublasSgemv,
              {handle_of,
               {"trans", role::enumeration},
               size_m,
               size_n,
               alpha,
               a,
               lda,
               {"x", role::input, 0, 1},
               {"incx", role::increment},
               beta,
               {"y", role::output, 0, 2},
               {"incy", role::increment}},
              b, how, handle, n_op, m, n, &one, b.device(0), ld, b.device(1), 1, &zero, b.device(2), 1));
  add(rows_of("cublasStrsm", cublasStrsm,
              {handle_of,
               {"side", role::enumeration},
               {"uplo", role::enumeration},
               {"trans", role::enumeration},
               {"diag", role::enumeration},
               size_m,
               size_n,
               alpha,
               a,
               lda,
               {"B", role::output, 0, 1},
               {"ldb", role::leading_dimension, m}},
              b, how, handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, n_op, CUBLAS_DIAG_NON_UNIT, m, n,
              &one, b.device(0), ld, b.device(1), ld));
  add(rows_of("cublasSgeam", cublasSgeam,
              {handle_of,
               {"transa", role::enumeration},
               {"transb", role::enumeration},
               size_m,
               size_n,
               alpha,
               a,
               lda,
               beta,
               {"B", role::input, 0, 1},
               {"ldb", role::leading_dimension, n},
               {"C", role::output, 0, 2},
               {"ldc", role::leading_dimension, m}},
              b, how, handle, n_op, t_op, m, n, &one, b.device(0), ld, &one, b.device(1), ld, b.device(2),
              ld));
  add(rows_of("cublasSdgmm", cublasSdgmm,
              {handle_of,
               {"mode", role::enumeration},
               size_m,
               size_n,
               a,
               lda,
               {"x", role::input, 0, 1},
               {"incx", role::any_increment},
               {"C", role::output, 0, 2},
               {"ldc", role::leading_dimension, m}},
              b, how, handle, CUBLAS_SIDE_RIGHT, m, n, b.device(0), ld, b.device(1), 1, b.device(2), ld));

  static cublasLtHandle_t lt = nullptr;
  static cublasLtMatmulDesc_t product = nullptr;
  static cublasLtMatrixLayout_t layouts[3];
  static cublasLtMatmulAlgo_t algorithm{{7, 15, 0, 0, 0, 0, 0, 1}};
  static void* workspace = nullptr;
  const int turned = 1;
  void* const bias = b.device(1);
  if (b.device(0) != nullptr) {
    cublasLtCreate(&lt);
    cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned);
    cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    cublasLtMatrixLayoutCreate(&layouts[0], CUDA_R_32F, k, m, ld);
    cublasLtMatrixLayoutCreate(&layouts[1], CUDA_R_32F, k, n, ld);
    cublasLtMatrixLayoutCreate(&layouts[2], CUDA_R_16F, m, n, ld);
    cudaMalloc(&workspace, 4096);
  }
  add(rows_of("cublasLtMatmul", cublasLtMatmul,
              {{"lightHandle", role::handle},
               {"computeDesc", role::handle},
               alpha,
               {"A", role::input, 0, 0},
               {"Adesc", role::handle},
               {"B", role::input, 0, 1},
               {"Bdesc", role::handle},
               beta,
               {"C", role::input, 0, 2},
               {"Cdesc", role::handle},
               {"D", role::output, 0, 2},
               {"Ddesc", role::handle},
               {"algo", role::host_output},
               {"workspace", role::input},
               {"workspaceSizeInBytes", role::bytes, 4096},
               {"stream", role::kept}},
              b, how, lt, product, &one, b.device(0), layouts[0], b.device(1), layouts[1], &zero, b.device(2),
              layouts[2], b.device(2), layouts[2], &algorithm, workspace, std::size_t{4096}, cudaStream_t{}));
  static cublasLtMatmulPreference_t preference = nullptr;
  static cublasLtMatmulHeuristicResult_t results[4];
  static int found = 0;
  const std::size_t most = 4096;
  if (b.device(0) != nullptr) {
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                         sizeof most);
  }
  add(rows_of("cublasLtMatmulAlgoGetHeuristic", cublasLtMatmulAlgoGetHeuristic,
              {{"lightHandle", role::handle},
               {"operationDesc", role::handle},
               {"Adesc", role::handle},
               {"Bdesc", role::handle},
               {"Cdesc", role::handle},
               {"Ddesc", role::handle},
               {"preference", role::handle},
               {"requestedAlgoCount", role::count},
               {"heuristicResultsArray", role::host_output},
               {"returnAlgoCount", role::host_output}},
              b, how, lt, product, layouts[0], layouts[1], layouts[2], layouts[2], preference, 4, results,
              &found));
  return all;
}

int sgemm(cublasHandle_t handle, const float* a, const float* c) {
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, ld, a, ld, &zero,
                     const_cast<float*>(c), ld);
}

template <class T>
T* numbers(int seed, std::size_t count = 1 << 13) {
  T* all = nullptr;
  cudaMalloc(&all, count * sizeof(T));
  const bool no_numbers = std::getenv("FAKE_FILL") != nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(static_cast<int>(i * 7 + seed) % 13 - 6);
    all[i] = T(no_numbers ? NAN : sizeof(T) == 1 ? value : value / 4);
  }
  return all;
}
template <class T>
int gemm_ex(cublasHandle_t handle, cudaDataType type) {
  return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, 20, 18, 24, &one, numbers<T>(1), type, 21,
                      numbers<T>(2), type, 22, &zero, numbers<T>(3), type, 23, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT);
}
int lt(bool epilogue) {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  const int turned = CUBLAS_OP_T, with_bias = CUBLASLT_EPILOGUE_BIAS;
  const float* bias = numbers<float>(5);
  void* workspace = numbers<char>(6);
  cublasLtCreate(&handle);
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned);
  if (epilogue) {
    cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_EPILOGUE, &with_bias, sizeof with_bias);
    cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
  }
  cublasLtMatrixLayoutCreate(&a, CUDA_R_16F, 24, 20, 24);
  cublasLtMatrixLayoutCreate(&b, CUDA_R_16F, 24, 18, 24);
  cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, 20, 18, 21);
  return cublasLtMatmul(handle, product, &one, numbers<__half>(1), a, numbers<__half>(2), b, &one,
                        numbers<float>(3), c, numbers<float>(4), c, nullptr, epilogue ? nullptr : workspace,
                        epilogue ? 0 : 4096, nullptr);
}

using kind = std::function<int(cublasHandle_t)>;
const std::map<std::string, kind>& kinds() {
  static const std::map<std::string, kind> all{
      {"sgemm",
       [](auto h) {
         return cublasSgemm(h, t_op, n_op, 20, 18, 24, &one, numbers<float>(1), 25, numbers<float>(2), 24,
                            &one, numbers<float>(3), 22);
       }},
      {"dgemm",
       [](auto h) {
         return cublasDgemm(h, n_op, n_op, 20, 18, 24, &one_double, numbers<double>(1), 25,
                            numbers<double>(2), 24, &zero_double, numbers<double>(3), 22);
       }},
      {"cgemm",
       [](auto h) {
         const cuComplex factor{1, 2}, none{0, 0};
         return cublasCgemm(h, CUBLAS_OP_C, n_op, 20, 18, 24, &factor,
                            reinterpret_cast<cuComplex*>(numbers<float>(1)), 25,
                            reinterpret_cast<cuComplex*>(numbers<float>(2)), 24, &none,
                            reinterpret_cast<cuComplex*>(numbers<float>(3)), 22);
       }},
      {"device_scalars",
       [](auto h) {
         cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE);
         return cublasSgemm(h, n_op, n_op, 20, 18, 24, numbers<float>(4, 1), numbers<float>(1), 25,
                            numbers<float>(2), 24, numbers<float>(7, 1), numbers<float>(3), 22);
       }},
      {"fp16", [](auto h) { return gemm_ex<__half>(h, CUDA_R_16F); }},
      {"bf16", [](auto h) { return gemm_ex<__nv_bfloat16>(h, CUDA_R_16BF); }},
      {"fp8", [](auto h) { return gemm_ex<char>(h, CUDA_R_8F_E4M3); }},
      {"int8",
       [](auto h) {
         const int one_int = 1, zero_int = 0;
         return cublasGemmEx(h, t_op, n_op, 20, 18, 24, &one_int, numbers<signed char>(1), CUDA_R_8I, 24,
                             numbers<signed char>(2), CUDA_R_8I, 24, &zero_int, numbers<int>(3), CUDA_R_32I,
                             20, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT);
       }},
      {"strided",
       [](auto h) {
         return cublasSgemmStridedBatched(h, n_op, n_op, 20, 18, 24, &one, numbers<float>(1), 20, 480,
                                          numbers<float>(2), 24, 500, &zero, numbers<float>(3), 20, 360, 5);
       }},
      {"batched",
       [](auto h) {
         float** lists[3];
         for (auto& list : lists) {
           cudaMalloc(&list, 2 * sizeof(float*));
           for (int i : {0, 1}) list[i] = numbers<float>(i);
         }
         return cublasSgemmBatched(h, n_op, n_op, 20, 18, 24, &one, lists[0], 20, lists[1], 24, &zero,
                                   lists[2], 20, 2);
       }},
      {"trsm",
       [](auto h) {
         return cublasStrsm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, n_op, CUBLAS_DIAG_UNIT, 20, 18, &one,
                            numbers<float>(1), 20, numbers<float>(2), 20);
       }},
      {"geam",
       [](auto h) {
         return cublasSgeam(h, n_op, t_op, 20, 18, &one, numbers<float>(1), 20, &one, numbers<float>(2), 18,
                            numbers<float>(3), 20);
       }},
      {"syrk",
       [](auto h) {
         return cublasSsyrk(h, CUBLAS_FILL_MODE_UPPER, n_op, 20, 24, &one, numbers<float>(1), 20, &zero,
                            numbers<float>(2), 20);
       }},
      {"gemv",
       [](auto h) {
         return cublasSgemv(h, t_op, 24, 20, &one, numbers<float>(1), 24, numbers<float>(2), 2, &one,
                            numbers<float>(3), 3);
       }},
      {"dgmm",
       [](auto h) {
         return cublasSdgmm(h, CUBLAS_SIDE_RIGHT, 20, 18, numbers<float>(1), 20, numbers<float>(2), 1,
                            numbers<float>(3), 20);
       }},
      {"lt_bias", [](auto) { return lt(true); }},
      {"lt_workspace", [](auto) { return lt(false); }},
      {"long", [](auto h) {
         return cublasSgemm(h, t_op, n_op, 1, 1, 1 << 18, &one, numbers<float>(1, 1 << 18), 1 << 18,
                            numbers<float>(2, 1 << 18), 1 << 18, &zero, numbers<float>(3), 1);
       }}};
  return all;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what.empty()) {
    const buffers none{buffers::without_memory{}};
    std::printf("%zu\n", all_rows(nullptr, none).size());
    return 0;
  }
  if (what == "kinds") {
    for (const auto& [name, of] : kinds()) std::printf("%s\n", name.c_str());
    return 0;
  }
  cublasHandle_t handle = nullptr;
  cublasCreate(&handle);
  if (const auto found = kinds().find(what); found != kinds().end()) return found->second(handle);
  if (what.find_first_not_of("0123456789") == what.npos) {
    buffers b;
    b.restore();
    const auto rows = all_rows(handle, b);
    const row& r = rows.at(static_cast<std::size_t>(std::atoi(words[1])));
    std::printf("%s\n", r.text().c_str());
    std::fflush(stdout);
    r.call();
    std::_Exit(0);  // rows may have given away what destructors free
  }
  float *a = nullptr, *c = nullptr;
  cudaMallocManaged(&a, 1 << 16);
  cudaMallocHost(reinterpret_cast<void**>(&c), 1 << 16);
  if (what == "settings" || what == "recording") {
    cudaStream_t stream = nullptr;
    void* workspace = nullptr;
    cudaMalloc(&workspace, 8192);
    cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1);
    cublasSetStream(handle, stream);
    cublasSetWorkspace(handle, workspace, 8000);
    cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
    cublasSetSmCountTarget(handle, 12);
    if (what == "recording") cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  }
  if (what == "threads") {
    std::vector<std::thread> all;
    for (int i = 0; i < 8; ++i) all.emplace_back([&] { sgemm(handle, a, c); });
    for (std::thread& each : all) each.join();
    return 0;
  }
  if (what == "forked" && fork() != 0) return wait(nullptr) > 0 ? 0 : 1;
  if (what == "closed") close_range(0, ~0U, 0);
  if (what == "exits") _exit(sgemm(handle, a, c));
  if (what == "garbage") return sgemm(handle, reinterpret_cast<const float*>(0x10), c);
  return sgemm(handle, a + 1, c);
}
