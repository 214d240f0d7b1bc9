// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cudaMalloc of more than the device has; and work on a buffer whose size was computed in 32-bit int.
// Why          A product of a few extents soon exceeds 2^31. A negative result becomes an enormous size_t. A small one gives too short a
//              buffer, which shows only when it is written, if at all.
// Documented   CUDA Runtime API, cudaErrorMemoryAllocation; superbenchmark#497, GPUStressTest#5. One source document says that a
//              tensor of 1024^4 floats exceeds the GPU (S1-4) and that catching the error lets the program carry on (S1-5).
// What helps   Recommended: catch the error and carry on; the same work in smaller pieces, or accumulated; half precision;
//              sizes in size_t.
// No fault arm squeezes the device, so none has an injected counterpart.
#include "harness/kit/device_block.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/memory_readings.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace cufault {
namespace {

constexpr std::size_t four_tib = 4096_GiB;  // 1024^4 floats

std::size_t elements(int rows, int columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

std::uint64_t taken_by_a_block(std::size_t bytes) {
  device_memory& device = current_device_memory();
  const std::uint64_t before = device.free_bytes();
  const device_block block(bytes);
  return before - std::min(before, device.free_bytes());
}

// ---- a product with one operand too large for the room that is left ----

enum class cut { columns, inner_dimension };

/// Computes the product whole while there is room, then in pieces of its large operand, one at a time on the device. Whole numbers make
/// every order of the sums exact (kernels/product.hpp): the pieces must give the same bits.
class product_in_pieces {
 public:
  explicit product_in_pieces(cut how)
      : how_(how),
        whole_(how == cut::columns ? product_extents{16, 1 << 15, 1024}
                                   : product_extents{1024, 16, 1 << 15}) {
    const device_block block(product_bytes(whole_));
    product_operands at;
    product_check check;
    cublasHandle_t const handle = new_handle();
    CUFAULT_REQUIRE(prepare_product(whole_, block.floats(), fresh_seed(), &at));
    CUFAULT_REQUIRE(multiply(handle, whole_, at.a, at.b, false, at.c));
    CUFAULT_REQUIRE(check_product(whole_, block.floats(), &check));
    if (!check.right()) throw setup_failed("the whole product was wrong before anything was provoked");
    a_ = download(at.a, elements(whole_.m, whole_.k));
    b_ = download(at.b, elements(whole_.k, whole_.n));
    c_ = result(at.c);
    CUFAULT_REQUIRE(cublasDestroy(handle));
  }

  [[nodiscard]] std::size_t bytes() const { return product_bytes(whole_); }

  product_result multiply_in_pieces(cublasHandle_t handle) const {
    constexpr int pieces = 8;
    const bool columns = how_ == cut::columns;
    product_extents piece = whole_;
    (columns ? piece.n : piece.k) /= pieces;
    const std::vector<float>&large = columns ? b_ : a_, &other = columns ? a_ : b_;
    const std::size_t share = large.size() / pieces;
    const device_block piece_of_large(share * sizeof(float)), all_of_other(other.size() * sizeof(float)),
        c(elements(whole_.ldc(), whole_.n) * sizeof(float));
    product_result outcome;
    outcome.waited = upload(all_of_other, other.data(), other.size());
    for (int i = 0; i < pieces && outcome.waited == cudaSuccess; ++i) {
      outcome.waited = upload(piece_of_large, large.data() + i * share, share);
      outcome.status = columns ? multiply(handle, piece, all_of_other.floats(), piece_of_large.floats(),
                                          false, c.floats(elements(whole_.ldc(), i * piece.n)))
                               : multiply(handle, piece, piece_of_large.floats(),
                                          all_of_other.floats(i * piece.k), i > 0, c.floats());
      if (outcome.status != CUBLAS_STATUS_SUCCESS) return outcome;
    }
    if (outcome.waited == cudaSuccess) outcome.waited = cudaDeviceSynchronize();
    if (outcome.waited == cudaSuccess) outcome.right = result(c.floats()) == c_;
    return outcome;
  }

 private:
  /// Uses the whole product's leading dimensions, of which only B's differs from a piece's.
  [[nodiscard]] cublasStatus_t multiply(cublasHandle_t handle, const product_extents& of, const float* a,
                                        const float* b, bool add, float* c) const {
    const float one = 1, beta = add ? 1.0F : 0.0F;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, of.m, of.n, of.k, &one, a, of.m, b, whole_.k, &beta,
                       c, of.ldc());
  }
  static cudaError_t upload(const device_block& to, const float* from, std::size_t count) {
    return cudaMemcpy(to.floats(), from, count * sizeof(float), cudaMemcpyHostToDevice);
  }
  static std::vector<float> download(const float* from, std::size_t count) {
    std::vector<float> host(count);
    CUFAULT_REQUIRE(cudaMemcpy(host.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost));
    return host;
  }
  /// C without the gaps between its columns.
  [[nodiscard]] std::vector<float> result(const float* c) const {
    std::vector<float> host(elements(whole_.m, whole_.n));
    const std::size_t column = whole_.m * sizeof(float);
    CUFAULT_REQUIRE(cudaMemcpy2D(host.data(), column, c, whole_.ldc() * sizeof(float), column, whole_.n,
                                 cudaMemcpyDeviceToHost));
    return host;
  }

  cut how_;
  product_extents whole_;
  std::vector<float> a_, b_, c_;
};

// ---- a batch whose size in bytes exceeds 2^32 ----

/// `count` products of n x n matrices of ones, consecutive in C: every element must be n.
class batch {
 public:
  static constexpr int n = 512;
  static constexpr std::size_t matrix = std::size_t{n} * n, matrix_bytes = matrix * sizeof(float);
  static constexpr int beyond_2_32 = 4097;   // in 32 bits it has the size of one matrix
  static constexpr int exactly_2_31 = 2048;  // in 32 bits its size is negative

  static std::size_t bytes(int count) { return matrix_bytes * count; }
  /// As computed by a program with int extents; cudaMalloc converts to size_t.
  static int bytes_in_int(int count) { return static_cast<int>(static_cast<unsigned>(bytes(count))); }

  batch() {
    CUFAULT_REQUIRE(cublasCreate(&handle_));
    CUFAULT_REQUIRE(launch_fill(ones_.floats(), matrix, 1, nullptr));
  }
  ~batch() { cublasDestroy(handle_); }
  batch(const batch&) = delete;
  batch& operator=(const batch&) = delete;
  [[nodiscard]] cublasHandle_t handle() const { return handle_; }

  [[nodiscard]] product_result multiply_into(float* c, int count) const {
    const float one = 1, zero = 0;
    product_result result;
    result.status =
        cublasSgemmStridedBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, ones_.floats(), n, 0,
                                  ones_.floats(), n, 0, &zero, c, n, matrix, count);
    if (result.status != CUBLAS_STATUS_SUCCESS) return result;
    if ((result.waited = cudaDeviceSynchronize()) != cudaSuccess) return result;
    return matrix_holds(c + (count - 1) * matrix, n);
  }

  /// True if every element of a matrix has that value.
  static product_result matrix_holds(const float* on_device, float value) {
    std::vector<float> host(matrix);
    product_result result;
    result.waited = cudaMemcpy(host.data(), on_device, matrix_bytes, cudaMemcpyDeviceToHost);
    result.right = std::all_of(host.begin(), host.end(), [=](float e) { return e == value; });
    return result;
  }

 private:
  cublasHandle_t handle_ = nullptr;
  device_block ones_{matrix_bytes};
};

/// A segment that a framework's allocator divides: C in the size that the program requested, then another owner's memory.
class segment {
 public:
  explicit segment(std::size_t bytes_of_c) : offset_(bytes_of_c / sizeof(float)) {
    CUFAULT_REQUIRE(launch_fill(other_process(), batch::matrix, value, nullptr));
    CUFAULT_REQUIRE(cudaDeviceSynchronize());
  }
  [[nodiscard]] float* c() const { return memory_.floats(); }
  [[nodiscard]] float* other_process() const { return memory_.floats(offset_); }
  [[nodiscard]] product_result other_memory_unchanged() const {
    return batch::matrix_holds(other_process(), value);
  }

 private:
  static constexpr float value = 7;
  std::size_t offset_;
  device_block memory_{4 * batch::matrix_bytes};
};

// ---- controls ----

void control(trial& t) {
  t.open_context();
  const batch work;
  const segment both(batch::bytes(2));
  CUFAULT_OBSERVE_AS("cublasSgemmStridedBatched", "", work.multiply_into(both.c(), 2));
  CUFAULT_OBSERVE_AS("check.memory_unchanged", "", both.other_memory_unchanged());
  for (const cut how : {cut::columns, cut::inner_dimension}) {
    const product_in_pieces product_of_pieces(how);
    CUFAULT_OBSERVE_AS("cublasSgemm", "in_pieces", product_of_pieces.multiply_in_pieces(work.handle()));
  }
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(work.handle()));
}

/// Memory taken by a cublasCreate and a product in that type, of zeros and without further buffers.
std::uint64_t taken_by_a_handle(cudaDataType_t type, const device_block& zeros) {
  const std::size_t before = free_device_memory();
  const float one = 1, zero = 0;
  cublasHandle_t const handle = new_handle();
  constexpr int n = batch::n;
  CUFAULT_REQUIRE(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, zeros.floats(), type, n,
                               zeros.floats(), type, n, &zero, zeros.floats(batch::matrix), type, n,
                               CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  const std::size_t after = free_device_memory();
  CUFAULT_REQUIRE(cublasDestroy(handle));
  return before - std::min(before, after);
}

void half_precision(trial& t) {
  t.open_context();
  constexpr std::size_t count = 128 << 20;
  const std::uint64_t as_float = taken_by_a_block(count * sizeof(float)),
                      as_half = taken_by_a_block(count * sizeof(std::uint16_t));
  const device_block zeros(2 * batch::matrix_bytes);
  CUFAULT_REQUIRE(cudaMemset(zeros.floats(), 0, 2 * batch::matrix_bytes));
  for (const cudaDataType_t type : {CUDA_R_32F, CUDA_R_16F}) taken_by_a_handle(type, zeros);  // loads code
  const std::uint64_t in_float = taken_by_a_handle(CUDA_R_32F, zeros),
                      in_half = taken_by_a_handle(CUDA_R_16F, zeros);
  cublasHandle_t const handle = new_handle();
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_REQUIRE(cublasDestroy(handle));
  const auto measure = [&](const char* what, std::uint64_t bytes) {
    t.measure(fmt::format("device memory of {}", what), static_cast<double>(bytes), "bytes");
  };
  measure("a buffer in FP32", as_float);
  measure("a buffer in FP16", as_half);
  measure("a handle and a product in FP32", in_float);
  measure("a handle and a product in FP16", in_half);
}

// ---- faults ----

void four_tebibytes(trial& t) {
  t.open_context();
  void* memory = nullptr;
  CUFAULT_OBSERVE(cudaMalloc(&memory, four_tib));
  CUFAULT_OBSERVE(cudaMallocAsync(&memory, four_tib, nullptr));
  create_and_multiply();
}

void negative_size(trial& t) {
  t.open_context();
  void* memory = nullptr;
  CUFAULT_OBSERVE_AS("cudaMalloc", "size_of_2_31_in_int",
                     cudaMalloc(&memory, batch::bytes_in_int(batch::exactly_2_31)));
}

void short_buffer(trial& t) {
  t.open_context();
  const batch work;
  void* c = nullptr;
  CUFAULT_OBSERVE(cudaMalloc(&c, batch::bytes_in_int(batch::beyond_2_32)));
  CUFAULT_OBSERVE_AS("cublasSgemmStridedBatched", "",
                     work.multiply_into(static_cast<float*>(c), batch::beyond_2_32));
}

// ---- remedies ----

void clear_and_carry_on(trial& t) {
  t.open_context();
  void* memory = nullptr;
  CUFAULT_OBSERVE(cudaMalloc(&memory, four_tib));
  t.apply("catch the error, cudaGetLastError(), carry on");
  cudaGetLastError();
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "plain_product_unchecked", plain_product());
  CUFAULT_OBSERVE(cudaGetLastError());
  create_and_multiply();
}

void in_pieces(trial& t, cut how) {
  const cublasHandle_t handle = handle_in_context(t);
  const product_in_pieces large(how);
  CUFAULT_REQUIRE(large.multiply_in_pieces(handle));  // loads the kernels
  const memory_pressure held(64_MiB);
  t.sample("squeezed");
  void* whole = nullptr;
  CUFAULT_OBSERVE(cudaMalloc(&whole, large.bytes()));
  t.apply(how == cut::columns ? "the same product in 8 blocks of columns"
                              : "the same product as the sum of 8 shorter ones");
  CUFAULT_OBSERVE_AS("cublasSgemm", "in_pieces", large.multiply_in_pieces(handle));
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  CUFAULT_REQUIRE(cublasDestroy(handle));
}

// ---- the case ----

void too_large(failure_case& c) {
  c.control("sizes that fit, and products whole and in pieces", control);
  c.add("half_precision", arm_kind::control,
        "what a buffer, and a handle with a product, take in FP32 and in FP16", half_precision, {"S0-16"});

  c.fault("four_tib", "1024^4 floats", four_tebibytes, {"S1-4"});
  c.fault("negative_size", "2 GiB computed in int", negative_size);
  c.fault("short_buffer", "4 GiB and 1 MiB computed in int, then all of it written", short_buffer);

  c.remedy("clear_and_carry_on", "catch the error and carry on", clear_and_carry_on, {"S1-5"});
  c.remedy("smaller_pieces", "a product that does not fit, by blocks of columns",
           [](trial& t) { in_pieces(t, cut::columns); }, {"S1-6"});
  c.remedy("accumulate", "a product that does not fit, as a sum of shorter ones",
           [](trial& t) { in_pieces(t, cut::inner_dimension); }, {"S1-6"});
  c.run_beside_others({"control", "four_tib", "negative_size", "clear_and_carry_on"});
}

const register_case here("memory.too_large",
                         "an allocation that exceeds the device, and sizes that exceed 32 bits",
                         {"F-MEM-10", "F-MEM-11"}, too_large);

}  // namespace
}  // namespace cufault
