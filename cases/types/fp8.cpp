// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Products of FP8 by cuBLASLt: operations other than TN, extents that are no multiple of 16, E5M2 by E5M2, FP8 results with
//              a C of the wrong type, scale modes of another architecture, scale modes without factors, factors for matrices that take
//              none, and factors at 4 mod 16.
// Why          The tensor cores of 8.9 and 9.0 take both operands along k only; rows are loaded 16 bytes at a time; scales of 16 and 32
//              elements are of 10.0. How much of that a call is refused for, and from where, differs between versions.
// Documented   cuBLAS documentation, cublasLtMatmul (FP8 kernels: dimensions and pointers of 16 bytes, TN on 8.9, 9.0 and 12.0, tables of
//              types, tables of scaling modes); header, cublasLtMatmulMatrixScale_t. Release notes: since 13.0 a scale pointer on a
//              matrix that does not take it is not supported; 12.9 to 13.1 want factors of a whole matrix at 16 bytes' alignment by
//              mistake (5728938). Users: pytorch#198126, #106844, #132005, #192707, CUDALibrarySamples#172, #274, onnxruntime#31967.
// Measured     H200, cuBLAS 13.1.0: other operations than TN, an m or k that is no multiple of 16, E5M2 by E5M2, an FP8 result with a C
//              of FP32 or FP8, modes of other architectures and factors at 4 mod 16 are NOT_SUPPORTED; an n of 63 is right.
//              INVALID_VALUE come a mode without factors, D as a C of another type, and factors of matrices that take none, but
//              of a C of BF16, which is right.
// What helps   Recommended: store the operand transposed and use TN; pad with zeros to multiples of 16; E4M3 on one side; C of FP16 or
//              BF16; the scale modes of the architecture, with factors, at 16 bytes' alignment, and only where they are taken.
#include "cases/types/lt_products.hpp"
#include "harness/kit/lt_problem.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr extents usual{96, 80, 64};
constexpr cudaDataType e4m3 = CUDA_R_8F_E4M3, e5m2 = CUDA_R_8F_E5M2, bf16 = CUDA_R_16BF;

/// On a device with FP8.
workbench fp8_workbench(trial& t) {
  if (t.compute_capability() < 89)
    throw not_provoked("products of FP8 take a device of compute capability 8.9 or higher");
  return new_workbench(t);
}

argument_check::product tn(cudaDataType a, cudaDataType b, cudaDataType c, const extents& of = usual) {
  argument_check::product p;
  p.function = argument_check::entry::cublas_lt;
  p.a_op = CUBLAS_OP_T;
  p.m = of.m, p.n = of.n, p.k = of.k;
  p.a.type = a, p.b.type = b, p.c.type = c;
  return p;
}

using change = std::function<void(lt_problem&)>;

product_result multiply(const workbench& on, const std::string& words,
                        const argument_check::product& described, const change& with = nullptr) {
  checked_product p(described);
  lt_problem problem(p.described());
  if (with) with(problem);
  return observe_call(product_named(words),
                      [&] { return p.by_lt(on.lt, on.workspace, on.workspace_bytes, &problem); });
}

// ---- operations ----

product_result multiply_with(const workbench& on, const char* words, cublasOperation_t a_op,
                             cublasOperation_t b_op) {
  auto described = tn(e4m3, e4m3, bf16);
  described.a_op = a_op, described.b_op = b_op;
  return multiply(on, words, described);
}

void multiply_not_tn(const workbench& on) {
  multiply_with(on, "E4M3 NN", CUBLAS_OP_N, CUBLAS_OP_N);
  multiply_with(on, "E4M3 NT", CUBLAS_OP_N, CUBLAS_OP_T);
  multiply_with(on, "E4M3 TT", CUBLAS_OP_T, CUBLAS_OP_T);
}

// ---- extents ----

product_result multiply_of(const workbench& on, const extents& of) {
  return multiply(on, fmt::format("E4M3 {} by {} by {}", of.m, of.n, of.k), tn(e4m3, e4m3, bf16, of));
}

product_result multiply_padded(const workbench& on, const extents& kept, const extents& to) {
  chosen_product p = padded(tn(e4m3, e4m3, bf16, to), kept);
  lt_problem problem(p.described());
  const std::string words =
      fmt::format("E4M3 {} by {} by {} in {} by {} by {}", kept.m, kept.n, kept.k, to.m, to.n, to.k);
  return observe_call(product_named(words), [&] {
    return p.by(
        [&] { return problem.multiply_by_first(on.lt, p.in_place(), on.workspace, on.workspace_bytes); });
  });
}

// ---- results ----

/// Where C is, which a beta of 0 leaves unread.
enum class c_is { elsewhere, d_as_same, d_as_other };

/// D in E4M3 of four products an element, so that it is exact there.
product_result multiply_into_e4m3(const workbench& on, const char* words, cudaDataType c, c_is where) {
  chosen_product p = padded(tn(e4m3, e4m3, e4m3), {usual.m, usual.n, 4});
  const guarded_array other(CUDA_R_32F, p.d.size());  // room for any type
  lt_problem problem(p.described());
  if (where != c_is::d_as_same) {
    problem.own_d();  // a layout of its own, before C's is changed
    set_attribute(problem.c(), CUBLASLT_MATRIX_LAYOUT_TYPE, static_cast<std::uint32_t>(c));
  }
  const lt_operands operands = where == c_is::elsewhere ? p.with_c(other.data()) : p.in_place();
  return observe_call(product_named(words), [&] {
    return p.by([&] { return problem.multiply_by_first(on.lt, operands, on.workspace, on.workspace_bytes); });
  });
}

// ---- scales ----

// Of cuBLAS 12.8: the headers of CUDA 12.0 do not have them.
const auto a_scale_mode = static_cast<cublasLtMatmulDescAttributes_t>(31);
const auto b_scale_mode = static_cast<cublasLtMatmulDescAttributes_t>(32);
const auto e2m1 = static_cast<cudaDataType>(33);

/// A value of cublasLtMatmulMatrixScale_t, and four bytes of factors of 0.5 and of 2.
struct scale_mode {
  const char* name;
  std::int32_t number;
  std::uint32_t half, two;
  std::size_t since;  ///< what cublasLtGetVersion says of the first with it
};
constexpr std::uint32_t half_32f = 0x3f000000, two_32f = 0x40000000;
constexpr scale_mode scalar{"SCALAR_32F", 0, half_32f, two_32f, 0};
constexpr scale_mode vec16_ue4m3{"VEC16_UE4M3", 1, 0x30303030, 0x40404040, 120800};
constexpr scale_mode vec32_ue8m0{"VEC32_UE8M0", 2, 0x7e7e7e7e, 0x80808080, 120800};
constexpr scale_mode outer_vec{"OUTER_VEC_32F", 3, half_32f, two_32f, 120900};
constexpr scale_mode vec128{"VEC128_32F", 4, half_32f, two_32f, 120900};
constexpr scale_mode blk128x128{"BLK128x128_32F", 5, half_32f, two_32f, 120900};

void need(const scale_mode& mode) {
  if (cublasLtGetVersion() < mode.since)
    throw not_provoked(fmt::format("{} came with cuBLAS {}.{}: run with that or a newer one", mode.name,
                                   mode.since / 10000, mode.since / 100 % 100));
}

/// Factors, all alike, more than any mode wants of the products here. Given back by the end of the process.
const std::byte* new_factors(std::uint32_t four_bytes) {
  const std::vector<std::uint32_t> all(16384, four_bytes);
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, all.size() * sizeof four_bytes));
  CUFAULT_REQUIRE(cudaMemcpy(memory, all.data(), all.size() * sizeof four_bytes, cudaMemcpyDefault));
  return static_cast<const std::byte*>(memory);
}

void point(lt_problem& problem, cublasLtMatmulDescAttributes_t which, const void* factors) {
  set_attribute(problem.operation(), which, factors);
}

void point_both(lt_problem& problem, const scale_mode& of_a, const scale_mode& of_b) {
  point(problem, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, new_factors(of_a.half));
  point(problem, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, new_factors(of_b.two));
}

void set_modes(lt_problem& problem, const scale_mode& of_a, const scale_mode& of_b) {
  set_attribute(problem.operation(), a_scale_mode, of_a.number);
  set_attribute(problem.operation(), b_scale_mode, of_b.number);
}

/// Whole blocks of 128 in each direction. Sums of so many small numbers stay far below the 256 up to which BF16 is exact.
constexpr extents blocks{256, 128, 128};

/// A scaled by 0.5, B by 2: the result is the plain product's.
product_result multiply_scaled(const workbench& on, const scale_mode& of_a, const scale_mode& of_b) {
  return multiply(on, fmt::format("E4M3 with {} and {}", of_a.name, of_b.name), tn(e4m3, e4m3, bf16, blocks),
                  [&](lt_problem& problem) {
                    set_modes(problem, of_a, of_b);
                    point_both(problem, of_a, of_b);
                  });
}

/// Only asked for: FP4 is no type that is checked here.
cublasStatus_t heuristic_for_e2m1_with_vec16_ue4m3(const workbench& on) {
  auto described = tn(e4m3, e4m3, bf16, blocks);
  described.a.leading_dimension = described.b.leading_dimension = blocks.k;
  described.c.leading_dimension = blocks.m;
  lt_problem problem(described);
  for (cublasLtMatrixLayout_t const layout : {problem.a(), problem.b()})
    set_attribute(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, static_cast<std::uint32_t>(e2m1));
  set_modes(problem, vec16_ue4m3, vec16_ue4m3);
  point_both(problem, vec16_ue4m3, vec16_ue4m3);
  return problem.heuristic(on.lt, on.workspace_bytes);
}

void multiply_in_blocks_of_16_and_32(const workbench& on) {
  need(vec32_ue8m0);
  multiply_scaled(on, vec32_ue8m0, vec32_ue8m0);
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "e2m1_with_vec16_ue4m3",
                     heuristic_for_e2m1_with_vec16_ue4m3(on));
}

/// A mode that the device is documented to have, and that is not the default.
const scale_mode& mode_of_device(trial& t) {
  const int device = t.compute_capability();
  if (device < 90)
    throw not_provoked("before compute capability 9.0 factors of whole matrices are all there is");
  const scale_mode& mode = device == 90 ? outer_vec : vec32_ue8m0;
  need(mode);
  return mode;
}

product_result multiply_without_factors(const workbench& on, const scale_mode& mode) {
  return multiply(on, fmt::format("E4M3 with {} and no factors", mode.name), tn(e4m3, e4m3, bf16, blocks),
                  [&](lt_problem& problem) { set_modes(problem, mode, mode); });
}

struct wide_matrix {
  const char* words;
  cudaDataType ab, cd;
  cublasLtMatmulDescAttributes_t factor;
};
const std::array wide_matrices{
    wide_matrix{"FP16 with a factor of A", CUDA_R_16F, CUDA_R_16F, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER},
    wide_matrix{"FP16 with a factor of B", CUDA_R_16F, CUDA_R_16F, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER},
    wide_matrix{"FP16 with a factor of C", CUDA_R_16F, CUDA_R_16F, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER},
    wide_matrix{"FP16 with a factor of D", CUDA_R_16F, CUDA_R_16F, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER},
    wide_matrix{"E4M3 into BF16 with a factor of C", e4m3, bf16, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER},
    wide_matrix{"E4M3 into BF16 with a factor of D", e4m3, bf16, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER}};

/// Of 2, so that it shows whether the factor is taken.
void multiply_wide_matrices(const workbench& on, bool unset) {
  const std::byte* const factor = new_factors(two_32f);
  for (const wide_matrix& w : wide_matrices)
    multiply(on, w.words, tn(w.ab, w.ab, w.cd), [&](lt_problem& problem) {
      point(problem, w.factor, factor);
      if (unset) point(problem, w.factor, nullptr);
    });
}

/// Factors of whole matrices, `off` bytes behind 256 bytes' alignment.
product_result multiply_with_factors_at(const workbench& on, const char* words, std::size_t a_off,
                                        std::size_t b_off) {
  return multiply(on, words, tn(e4m3, e4m3, bf16), [&](lt_problem& problem) {
    point(problem, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, new_factors(scalar.half) + a_off);
    point(problem, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, new_factors(scalar.two) + b_off);
  });
}

void multiply_with_misaligned_factors(const workbench& on) {
  multiply_with_factors_at(on, "E4M3 with a factor of A at 4 mod 16", 4, 0);
  multiply_with_factors_at(on, "E4M3 with a factor of B at 4 mod 16", 0, 4);
}

// ---- control ----

void control(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply_with(on, "E4M3 TN", CUBLAS_OP_T, CUBLAS_OP_N);
  multiply(on, "E4M3 by E5M2", tn(e4m3, e5m2, bf16));
  multiply(on, "E5M2 by E4M3", tn(e5m2, e4m3, bf16));
  multiply(on, "FP16 TN", tn(CUDA_R_16F, CUDA_R_16F, CUDA_R_16F));
}

// ---- faults ----

void not_tn(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply_not_tn(on);
}

void odd_extents(trial& t) {
  const workbench on = fp8_workbench(t);
  for (const extents& of : {extents{63, 80, 64}, extents{96, 63, 64}, extents{96, 80, 63}, extents{7, 7, 7}})
    multiply_of(on, of);
  // Only the storage is a multiple of 16.
  auto wide_rows = tn(e4m3, e4m3, bf16, {96, 80, 63}), wide_result = tn(e4m3, e4m3, bf16, {63, 80, 64});
  wide_rows.a.leading_dimension = wide_rows.b.leading_dimension = 64;
  wide_result.c.leading_dimension = 64;
  multiply(on, "E4M3 96 by 80 by 63, lda and ldb 64", wide_rows);
  multiply(on, "E4M3 63 by 80 by 64, ldc 64", wide_result);
}

void both_e5m2(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply(on, "E5M2 by E5M2", tn(e5m2, e5m2, bf16));
}

void fp8_results(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply_into_e4m3(on, "into E4M3, C of FP32", CUDA_R_32F, c_is::elsewhere);
  multiply_into_e4m3(on, "into E4M3, C of E4M3", e4m3, c_is::elsewhere);
  multiply_into_e4m3(on, "into E4M3, D as C", e4m3, c_is::d_as_same);
  multiply_into_e4m3(on, "into E4M3, D as C of BF16", bf16, c_is::d_as_other);
}

void scale_modes(trial& t) {
  const workbench on = fp8_workbench(t);
  if (t.compute_capability() >= 100)
    throw not_provoked("this device is documented to have these scale modes: take one before 10.0");
  multiply_in_blocks_of_16_and_32(on);
}

void mode_without_factors(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply_without_factors(on, mode_of_device(t));
}

void factors_of_wide_matrices(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply_wide_matrices(on, false);
}

void misaligned_factors(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply_with_misaligned_factors(on);
}

// ---- remedies ----

void store_transposed(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply_not_tn(on);
  t.apply("A stored transposed, B not: TN");
  multiply_with(on, "E4M3 TN", CUBLAS_OP_T, CUBLAS_OP_N);
}

void pad(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply_of(on, {7, 7, 7});
  multiply_of(on, {63, 63, 63});
  t.apply("zeros up to multiples of 16");
  multiply_padded(on, {7, 7, 7}, {16, 16, 16});
  multiply_padded(on, {63, 63, 63}, {64, 64, 64});
}

void one_side_e4m3(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply(on, "E5M2 by E5M2", tn(e5m2, e5m2, bf16));
  t.apply("E4M3 on one side");
  multiply(on, "E4M3 by E5M2", tn(e4m3, e5m2, bf16));
  multiply(on, "E5M2 by E4M3", tn(e5m2, e4m3, bf16));
}

void c_of_16_bits(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply_into_e4m3(on, "into E4M3, C of FP32", CUDA_R_32F, c_is::elsewhere);
  t.apply("C of 16 bits, elsewhere, with a beta of 0");
  multiply_into_e4m3(on, "into E4M3, C of BF16", bf16, c_is::elsewhere);
  multiply_into_e4m3(on, "into E4M3, C of FP16", CUDA_R_16F, c_is::elsewhere);
}

/// Other modes, which are documented for 9.0.
void other_modes(trial& t, const char* words,
                 const std::vector<std::pair<const scale_mode*, const scale_mode*>>& modes) {
  const workbench on = fp8_workbench(t);
  if (t.compute_capability() != 90)
    throw not_provoked("these scale modes are documented for compute capability 9.0");
  need(outer_vec);
  multiply_in_blocks_of_16_and_32(on);
  t.apply(words);
  for (const auto& [of_a, of_b] : modes) multiply_scaled(on, *of_a, *of_b);
}

void set_factors(trial& t) {
  const workbench on = fp8_workbench(t);
  const scale_mode& mode = mode_of_device(t);
  t.apply("factors for the mode");
  multiply_scaled(on, mode, mode);
}

void unset_factors(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply_wide_matrices(on, false);
  t.apply("the pointers set back to null");
  multiply_wide_matrices(on, true);
}

void align_factors(trial& t) {
  const workbench on = fp8_workbench(t);
  multiply_with_misaligned_factors(on);
  t.apply("factors at 16 bytes' alignment");
  multiply_with_factors_at(on, "E4M3 with factors at 0 mod 16", 16, 32);
}

// ---- the case ----

failure_case fp8() {
  failure_case c;
  c.name = "types.fp8";
  c.summary = "products of FP8: operations, extents, types and scales that are not supported";
  c.failures = {"F-NS-01", "F-NS-02", "F-NS-03", "F-NS-04", "F-NS-08", "F-NS-09", "RN-07", "RN-14"};
  c.add("control", arm_kind::control, "TN of E4M3 and of both types, and FP16", control, {"S3-11"});

  c.add("not_tn", arm_kind::fault, "E4M3 with NN, NT and TT", not_tn);
  c.add("odd_extents", arm_kind::fault, "E4M3 with extents or leading dimensions that are no multiples of 16",
        odd_extents);
  c.add("both_e5m2", arm_kind::fault, "E5M2 by E5M2", both_e5m2, {"S3-2"});
  c.add("fp8_results", arm_kind::fault, "D of E4M3 with C of FP32 or E4M3, or in the place of D", fp8_results,
        {"S3-2"});
  c.add("scale_modes", arm_kind::fault, "factors for 32 elements of E4M3, and for 16 of E2M1", scale_modes);
  c.add("mode_without_factors", arm_kind::fault, "a scale mode other than the default, and no factors",
        mode_without_factors);
  c.add("factors_of_wide_matrices", arm_kind::fault, "scale pointers of FP16 and BF16 matrices",
        factors_of_wide_matrices);
  c.add("misaligned_factors", arm_kind::fault, "factors of whole matrices at 4 mod 16", misaligned_factors);

  c.add("store_transposed", arm_kind::remedy, "TN in place of NN, NT and TT", store_transposed);
  c.add("pad", arm_kind::remedy, "zeros up to multiples of 16", pad);
  c.add("one_side_e4m3", arm_kind::remedy, "E4M3 on one side", one_side_e4m3);
  c.add("c_of_16_bits", arm_kind::remedy, "C of BF16 or FP16 that is not read", c_of_16_bits);
  c.add("outer_vectors", arm_kind::remedy, "a factor for each row and column", [](trial& t) {
    other_modes(t, "OUTER_VEC_32F", {{&outer_vec, &outer_vec}});
  });
  c.add("blocks_of_128", arm_kind::remedy, "factors for 128 elements", [](trial& t) {
    other_modes(t, "VEC128_32F and BLK128x128_32F", {{&vec128, &vec128}, {&vec128, &blk128x128}});
  });
  c.add("set_factors", arm_kind::remedy, "factors for the mode", set_factors).against =
      "mode_without_factors";
  c.add("unset_factors", arm_kind::remedy, "no scale pointers for FP16 and BF16", unset_factors);
  c.add("align_factors", arm_kind::remedy, "factors at 16 bytes' alignment", align_factors);
  c.in_tier = {"control", "not_tn", "scale_modes", "store_transposed", "pad"};
  c.share_process();
  return c;
}

const register_case here{fp8()};

}  // namespace
}  // namespace cufault
