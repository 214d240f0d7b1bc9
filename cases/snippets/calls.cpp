// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Calls of cuBLAS with mistakes that programs make: the code of the pages of its statuses.
// Why          No handle, a leading dimension for the other order, types that do not fit, and the like.
// Documented   cuBLAS documentation, of each call; claims and field failures of the cases that vary each.
// Measured     H200, cuBLAS 13.1.0: each returns the status of its page; one trial an arm. Other cases vary shapes.
// What helps   The corrected code beside each.
#include "cases/snippets/snippet.hpp"

#include <stdexcept>

namespace cufault {
namespace {

namespace not_initialized::fails {
// [not_initialized fails]
struct layer {
  cublasHandle_t handle = nullptr;

  cublasStatus_t multiply(int m, int n, int k, const float* a, const float* b, float* c) const {
    const float one = 1, zero = 0;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
  }
};
// [end]
}  // namespace not_initialized::fails
namespace not_initialized::corrected {
// [not_initialized corrected]
struct layer {
  cublasHandle_t handle = nullptr;

  layer() {
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasCreate failed");
  }
  ~layer() { cublasDestroy(handle); }
  layer(const layer&) = delete;
  layer& operator=(const layer&) = delete;

  cublasStatus_t multiply(int m, int n, int k, const float* a, const float* b, float* c) const {
    const float one = 1, zero = 0;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
  }
};
// [end]
}  // namespace not_initialized::corrected
namespace invalid_value::fails {
// [invalid_value fails]
// Row-major: a is m x k, b is k x n, c is m x n.
cublasStatus_t multiply(cublasHandle_t handle, int m, int n, int k, const float* a, const float* b,
                        float* c) {
  const float one = 1, zero = 0;
  // cuBLAS reads columns: k is no leading dimension of a matrix with m > k rows.
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, k, b, n, &zero, c, n);
}
// [end]
}  // namespace invalid_value::fails
namespace invalid_value::corrected {
// [invalid_value corrected]
// Row-major: a is m x k, b is k x n, c is m x n.
cublasStatus_t multiply(cublasHandle_t handle, int m, int n, int k, const float* a, const float* b,
                        float* c) {
  const float one = 1, zero = 0;
  // Read by columns, the arrays are transposed: transposed c is transposed b times transposed a.
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
}
// [end]
}  // namespace invalid_value::corrected
namespace wrong_numbers::fails {
// [wrong_numbers fails]
// Row-major, n x n. All leading dimensions are n in either order, so that nothing is refused.
cublasStatus_t multiply(cublasHandle_t handle, int n, const float* a, const float* b, float* c) {
  const float one = 1, zero = 0;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
}
// [end]
}  // namespace wrong_numbers::fails
namespace wrong_numbers::corrected {
// [wrong_numbers corrected]
// Row-major, n x n. cuBLAS reads columns: the operands change places.
cublasStatus_t multiply(cublasHandle_t handle, int n, const float* a, const float* b, float* c) {
  const float one = 1, zero = 0;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, n, a, n, &zero, c, n);
}
// [end]
}  // namespace wrong_numbers::corrected
namespace not_supported::fails {
// [not_supported fails]
cublasStatus_t multiply(cublasHandle_t handle, int m, int n, int k, const float* a, const float* b,
                        float* c) {
  const float one = 1, zero = 0;
  // CUBLAS_COMPUTE_16F computes in FP16, and takes no FP32 operands.
  return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, CUDA_R_32F, n, a, CUDA_R_32F, k,
                      &zero, c, CUDA_R_32F, n, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}
// [end]
}  // namespace not_supported::fails
namespace not_supported::corrected {
// [not_supported corrected]
cublasStatus_t multiply(cublasHandle_t handle, int m, int n, int k, const float* a, const float* b,
                        float* c) {
  const float one = 1, zero = 0;
  // FP32 operands, which Tensor Cores may round to FP16. The sums are FP32.
  return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, CUDA_R_32F, n, a, CUDA_R_32F, k,
                      &zero, c, CUDA_R_32F, n, CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_GEMM_DEFAULT);
}
// [end]
}  // namespace not_supported::corrected
namespace mapping_error::fails {
// [mapping_error fails]
cublasStatus_t upload(int rows, int columns, float* host, float* device) {
  // The source comes first.
  return cublasSetMatrix(rows, columns, sizeof(float), device, rows, host, rows);
}
// [end]
}  // namespace mapping_error::fails
namespace mapping_error::corrected {
// [mapping_error corrected]
cublasStatus_t upload(int rows, int columns, const float* host, float* device) {
  return cublasSetMatrix(rows, columns, sizeof(float), host, rows, device, rows);
}
// [end]
}  // namespace mapping_error::corrected
namespace internal_error::fails {
// [internal_error fails]
cublasStatus_t multiply_as_graph(cublasHandle_t handle, int m, int n, int k, const float* a, const float* b,
                                 float* c) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaStreamCreate(&stream);
  const float one = 1, zero = 0;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  // The handle is on the default stream, which may not be used while `stream` is captured.
  const cublasStatus_t status =
      cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
  cudaStreamEndCapture(stream, &graph);
  return status;
}
// [end]
}  // namespace internal_error::fails
namespace internal_error::corrected {
// [internal_error corrected]
cublasStatus_t multiply_as_graph(cublasHandle_t handle, int m, int n, int k, const float* a, const float* b,
                                 float* c) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamCreate(&stream);
  cublasSetStream(handle, stream);
  const float one = 1, zero = 0;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  const cublasStatus_t status =
      cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
  cudaStreamEndCapture(stream, &graph);
  if (status == CUBLAS_STATUS_SUCCESS && cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess) {
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(exec);
  }
  cudaGraphDestroy(graph);
  cublasSetStream(handle, nullptr);
  cudaStreamDestroy(stream);
  return status;
}
// [end]
}  // namespace internal_error::corrected

std::vector<snippet> snippets_of_calls() {
  constexpr int m = 128, n = 80, k = 96;
  const auto sgemm = [](auto multiply) {
    return [=](snippet_operands& o) -> snippet_status {
      return multiply(new_handle(), o.m, o.n, o.k, o.a, o.b, o.c);
    };
  };
  const auto square = [](auto multiply) {
    return [=](snippet_operands& o) -> snippet_status { return multiply(new_handle(), o.n, o.a, o.b, o.c); };
  };
  const auto copy = [](auto upload) {
    return [=](snippet_operands& o) -> snippet_status { return upload(o.m, o.n, o.host_c.data(), o.c); };
  };
  return {
      {"not_initialized", "a product by a handle that nothing created",
       "create the handle, and look at its status", "cublasSgemm", m, n, k,
       [](snippet_operands& o) -> snippet_status {
         return not_initialized::fails::layer{}.multiply(o.m, o.n, o.k, o.a, o.b, o.c);
       },
       [](snippet_operands& o) -> snippet_status {
         return not_initialized::corrected::layer{}.multiply(o.m, o.n, o.k, o.a, o.b, o.c);
       }},
      {"invalid_value", "leading dimensions of row-major arrays", "the operands change places", "cublasSgemm",
       m, n, k, sgemm(invalid_value::fails::multiply), sgemm(invalid_value::corrected::multiply)},
      {"wrong_numbers", "row-major arrays, taken for column-major ones", "the operands change places",
       "cublasSgemm", n, n, n, square(wrong_numbers::fails::multiply),
       square(wrong_numbers::corrected::multiply)},
      {"not_supported", "FP32 operands, computed in FP16", "a compute type that takes the operands",
       "cublasGemmEx", m, n, k, sgemm(not_supported::fails::multiply),
       sgemm(not_supported::corrected::multiply)},
      {"mapping_error", "source and destination exchanged", "the source comes first", "cublasSetMatrix", m, n,
       k, copy(mapping_error::fails::upload), copy(mapping_error::corrected::upload),
       &snippet_operands::is_copy},
      {"internal_error", "a product on the default stream while another stream is captured",
       "cublasSetStream before the capture", "cublasSgemm", m, n, k,
       sgemm(internal_error::fails::multiply_as_graph), sgemm(internal_error::corrected::multiply_as_graph)}};
}

const register_case here{
    case_of_snippets("snippets.calls", "code of pages: calls of cuBLAS that fail", snippets_of_calls())};

}  // namespace
}  // namespace cufault
