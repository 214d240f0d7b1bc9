// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/benchmarks/remedy_cost/products.hpp"

#include "harness/kit/checked_product.hpp"
#include "harness/kit/elements.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace cufault::remedy_cost {
namespace {

/// Numbers repeat after this many elements; odd, so that columns differ.
constexpr std::size_t period = (1 << 20) - 3;

/// At least `count` numbers, at most a period.
std::shared_ptr<const std::vector<double>> numbers_of(std::uint64_t seed, std::size_t count) {
  static std::map<std::uint64_t, std::shared_ptr<const std::vector<double>>> all;
  auto& found = all[seed];
  count = std::min(count, period);
  if (found == nullptr || found->size() < count)
    found = std::make_shared<const std::vector<double>>(small_numbers(count, seed));
  return found;
}

const std::vector<std::byte>& encoded_once(cudaDataType type, std::uint64_t seed, std::size_t count) {
  static std::map<std::pair<cudaDataType, std::uint64_t>, std::vector<std::byte>> all;
  auto& found = all[{type, seed}];
  if (found.size() < std::min(count, period) * element_bytes(type))
    found = encoded(type, *numbers_of(seed, count));
  return found;
}

std::size_t elements(std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * static_cast<std::size_t>(batch);
}

argument_check::product described_as(const number_kind& kind, const shape& s, bool transposed,
                                     std::int64_t batch, std::int64_t leading_dimension_of_a) {
  argument_check::product p;
  p.m = s.m, p.n = s.n, p.k = s.k;
  p.batch = batch;
  if (transposed) p.a_op = CUBLAS_OP_T;
  p.a.type = p.b.type = kind.ab;
  p.c.type = kind.c;
  p.compute = kind.compute;
  p.scalar = kind.scalar;
  p.a.leading_dimension = leading_dimension_of_a > 0 ? leading_dimension_of_a : transposed ? s.k : s.m;
  p.b.leading_dimension = s.k;
  p.c.leading_dimension = s.m;
  p.a.stride = p.a.leading_dimension * (transposed ? s.m : s.k);
  p.b.stride = s.k * s.n;
  p.c.stride = s.m * s.n;
  if (kind.ab == CUDA_R_8F_E4M3) p.function = argument_check::entry::cublas_lt;
  return p;
}

}  // namespace

const std::array<number_kind, 6> number_kinds{
    {{"fp32", "FP32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 0},
     {"tf32", "TF32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, 0},
     {"fp16", "FP16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 0x1p-10},
     {"bf16", "BF16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 0x1p-7},
     {"fp8", "FP8", CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 0x1p-7},
     {"int8", "INT8", CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I, 0}}};

const number_kind& kind_called(const std::string& name) {
  for (const number_kind& each : number_kinds)
    if (name == each.name) return each;
  throw setup_failed("no numbers are called " + name);
}

std::string shape::name() const {
  return fmt::format("{}x{}x{}", m, n, k);
}

std::size_t element_bytes(cudaDataType type) {
  return argument_check::detail::element_size(type);
}

filled_block::filled_block(cudaDataType type, std::size_t count, std::uint64_t seed)
    : block_(count * element_bytes(type)), numbers_(numbers_of(seed, count)) {
  const auto& pattern = encoded_once(type, seed, count);
  const std::size_t all = count * element_bytes(type);
  auto* at = static_cast<std::byte*>(block_.address());
  std::size_t filled = std::min(all, pattern.size());
  CUFAULT_REQUIRE(cudaMemcpy(at, pattern.data(), filled, cudaMemcpyHostToDevice));
  // Copies whole periods, so that the pattern continues.
  while (filled < all) {
    const std::size_t more = std::min(filled, all - filled);
    CUFAULT_REQUIRE(cudaMemcpy(at + filled, at, more, cudaMemcpyDeviceToDevice));
    filled += more;
  }
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
}

double filled_block::number(std::size_t index) const {
  return (*numbers_)[index % period];
}

timed_product::timed_product(const number_kind& kind, const shape& extents, bool transposed,
                             std::int64_t batch, std::int64_t leading_dimension_of_a)
    : kind_(kind),
      described_(described_as(kind, extents, transposed, batch, leading_dimension_of_a)),
      a_(kind.ab, static_cast<std::size_t>(described_.a.stride * batch), 1),
      b_(kind.ab, static_cast<std::size_t>(described_.b.stride * batch), 2),
      c_bytes_(elements(extents.m, extents.n, batch) * element_bytes(kind.c)),
      c_(c_bytes_) {
  described_.a.data = a_.data();
  described_.b.data = b_.data();
  described_.c.data = c_.address();
  const bool whole = kind.scalar == CUDA_R_32I;
  described_.alpha = whole ? static_cast<const void*>(&whole_one_) : &one_;
  described_.beta = whole ? static_cast<const void*>(&whole_zero_) : &zero_;
}

double timed_product::operations() const {
  return shape{described_.m, described_.n, described_.k}.operations() * static_cast<double>(described_.batch);
}

double timed_product::bytes() const {
  const auto& p = described_;
  return static_cast<double>((elements(p.m, p.k, p.batch) + elements(p.k, p.n, p.batch)) *
                                 element_bytes(kind_.ab) +
                             elements(p.m, p.n, p.batch) * element_bytes(kind_.c));
}

void timed_product::by_gemm_ex(cublasHandle_t handle) const {
  must("cublasGemmEx", gemm_ex(handle, described_, c_.address()));
}

lt_operands timed_product::operands() const {
  return {described_.alpha, a_.data(), b_.data(), described_.beta, c_.address(), c_.address()};
}

void timed_product::poison() const {
  CUFAULT_REQUIRE(cudaMemset(c_.address(), 0xff, c_bytes_));
}

bool timed_product::right() const {
  constexpr int samples = 24;
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  const auto& p = described_;
  std::uint64_t drawn = 0x2545f4914f6cdd1d;
  const auto below = [&](std::int64_t end) {
    drawn = drawn * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((drawn >> 33) % static_cast<std::uint64_t>(end));
  };
  for (int s = 0; s < samples; ++s) {
    const std::int64_t matrix = below(p.batch), i = below(p.m), j = below(p.n);
    double sum = 0;
    for (std::int64_t l = 0; l < p.k; ++l) {
      const std::int64_t of_a =
          p.a_op == CUBLAS_OP_N ? l * p.a.leading_dimension + i : i * p.a.leading_dimension + l;
      sum += a_.number(static_cast<std::size_t>(matrix * p.a.stride + of_a)) *
             b_.number(static_cast<std::size_t>(matrix * p.b.stride + j * p.b.leading_dimension + l));
    }
    std::array<std::byte, 8> raw{};
    const std::size_t size = element_bytes(p.c.type);
    const auto at = static_cast<std::size_t>(matrix * p.c.stride + j * p.c.leading_dimension + i);
    CUFAULT_REQUIRE(cudaMemcpy(raw.data(), static_cast<const std::byte*>(c_.address()) + at * size, size,
                               cudaMemcpyDeviceToHost));
    const double found = decoded(p.c.type, std::span(raw).first(size)).front();
    // Partial sums of a split k are rounded too.
    const double bound = kind_.rounding * (std::abs(sum) + 8 * std::sqrt(static_cast<double>(p.k)));
    if (!(std::abs(found - sum) <= bound)) return false;
  }
  return true;
}

lt_product_call::lt_product_call(const timed_product& of, std::size_t workspace_bytes)
    : of_(of),
      workspace_bytes_(workspace_bytes),
      workspace_(workspace_bytes),
      lt_(new_lt_handle()),
      problem_(of.described()) {
  choose();
}

void lt_product_call::choose() {
  must("cublasLtMatmulAlgoGetHeuristic", problem_.heuristic(lt_.get(), workspace_bytes_, nullptr, 1));
  if (problem_.results().empty())
    throw setup_failed("the heuristic of cuBLASLt has no algorithm for this workspace");
}

void lt_product_call::multiply() const {
  must("cublasLtMatmul", problem_.multiply(lt_.get(), of_.operands(), &problem_.results().front().algo,
                                           workspace_.address(), workspace_bytes_));
}

}  // namespace cufault::remedy_cost
