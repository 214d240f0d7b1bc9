// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Products of FP8 by cuBLASLt: operations other than TN, extents not a multiple of 16, E5M2 by E5M2, FP8 results with a C of
//              the wrong type, scale modes of another architecture or without factors, factors for matrices without a scale, and factors at
//              4 mod 16.
// Why          The tensor cores of 8.9 and 9.0 read both operands along k only; rows are loaded 16 bytes at a time; scales of 16 and 32
//              elements need 10.0. Versions differ in what they refuse, and where.
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
#include "cases/types/product_table.hpp"
#include "harness/kit/lt_problem.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace product_table;

constexpr extents usual{96, 80, 64};
constexpr cudaDataType e4m3 = CUDA_R_8F_E4M3, e5m2 = CUDA_R_8F_E5M2, bf16 = CUDA_R_16BF;

/// Throws not_provoked if the device has no FP8.
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

row multiply(const std::string& words, const argument_check::product& described,
             const change& with = nullptr) {
  return [=](const workbench& on) {
    checked_product p(described);
    lt_problem problem(p.described());
    if (with) with(problem);
    observe_call(product_named(words),
                 [&] { return p.by_lt(on.lt, on.workspace, on.workspace_bytes, &problem); });
  };
}

row multiply_with(const char* words, cublasOperation_t a_op, cublasOperation_t b_op) {
  auto described = tn(e4m3, e4m3, bf16);
  described.a_op = a_op, described.b_op = b_op;
  return multiply(words, described);
}

// ---- extents ----

row multiply_of(const extents& of) {
  return multiply(fmt::format("E4M3 {} by {} by {}", of.m, of.n, of.k), tn(e4m3, e4m3, bf16, of));
}

row multiply_padded(const extents& kept, const extents& to) {
  return [=](const workbench& on) {
    chosen_product p = padded(tn(e4m3, e4m3, bf16, to), kept);
    lt_problem problem(p.described());
    observe_call(product_named(fmt::format("E4M3 {} by {} by {} in {} by {} by {}", kept.m, kept.n, kept.k,
                                           to.m, to.n, to.k)),
                 [&] { return p.by_lt(on, problem, p.in_place()); });
  };
}

// ---- results ----

/// The place of C, which a beta of 0 leaves unread.
enum class c_is { elsewhere, d_as_same, d_as_other };

/// Each element of D is a sum of four products, which E4M3 holds exactly.
row multiply_into_e4m3(const char* words, cudaDataType c, c_is where) {
  return [=](const workbench& on) {
    chosen_product p = padded(tn(e4m3, e4m3, e4m3), {usual.m, usual.n, 4});
    const guarded_array other(CUDA_R_32F, p.d.size());  // large enough for any type
    lt_problem problem(p.described());
    if (where != c_is::d_as_same) {
      problem.own_d();  // separate, before C's layout changes
      set_attribute(problem.c(), CUBLASLT_MATRIX_LAYOUT_TYPE, static_cast<std::uint32_t>(c));
    }
    const lt_operands operands = where == c_is::elsewhere ? p.with_c(other.data()) : p.in_place();
    observe_call(product_named(words), [&] { return p.by_lt(on, problem, operands); });
  };
}

// ---- scales ----

// From cuBLAS 12.8: the headers of CUDA 12.0 lack these.
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

/// Equal factors, more than any mode reads here. The end of the process frees them.
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

/// Whole blocks of 128 in each direction. BF16 is exact up to 256; the sums here stay far below.
constexpr extents blocks{256, 128, 128};

/// Scales A by 0.5 and B by 2: the result is the plain product's.
row multiply_scaled(const scale_mode& of_a, const scale_mode& of_b) {
  return multiply(fmt::format("E4M3 with {} and {}", of_a.name, of_b.name), tn(e4m3, e4m3, bf16, blocks),
                  [=](lt_problem& problem) {
                    set_modes(problem, of_a, of_b);
                    point_both(problem, of_a, of_b);
                  });
}

/// Asks only the heuristic: numbers of FP4 cannot be checked here.
cublasStatus_t heuristic_for_e2m1(const workbench& on) {
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

/// Throws not_provoked if the device has another compute capability.
row only_where(bool (*is_meant)(int capability), const char* why) {
  return [=](const workbench&) {
    if (!is_meant(trial::current().compute_capability())) throw not_provoked(why);
  };
}

/// A documented mode of the device that is not the default.
const scale_mode& mode_of_device() {
  const int device = trial::current().compute_capability();
  if (device < 90)
    throw not_provoked("before compute capability 9.0 factors of whole matrices are all there is");
  const scale_mode& mode = device == 90 ? outer_vec : vec32_ue8m0;
  need(mode);
  return mode;
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

/// The factor is 2, so that the result shows whether it was used.
row multiply_wide_matrices(bool unset) {
  return [=](const workbench& on) {
    const std::byte* const factor = new_factors(two_32f);
    for (const wide_matrix& w : wide_matrices)
      multiply(w.words, tn(w.ab, w.ab, w.cd), [=](lt_problem& problem) {
        point(problem, w.factor, factor);
        if (unset) point(problem, w.factor, nullptr);
      })(on);
  };
}

/// Factors of whole matrices, `off` bytes after a multiple of 256.
row multiply_with_factors_at(const char* words, std::size_t a_off, std::size_t b_off) {
  return multiply(words, tn(e4m3, e4m3, bf16), [=](lt_problem& problem) {
    point(problem, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, new_factors(scalar.half) + a_off);
    point(problem, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, new_factors(scalar.two) + b_off);
  });
}

// ---- the case ----

failure_case fp8() {
  product_case c("types.fp8", "products of FP8: operations, extents, types and scales that are not supported",
                 {"F-NS-01", "F-NS-02", "F-NS-03", "F-NS-04", "F-NS-08", "F-NS-09", "RN-07", "RN-14"},
                 fp8_workbench);
  const row tn_e4m3 = multiply_with("E4M3 TN", CUBLAS_OP_T, CUBLAS_OP_N),
            mixed = multiply("E4M3 by E5M2", tn(e4m3, e5m2, bf16)),
            turned = multiply("E5M2 by E4M3", tn(e5m2, e4m3, bf16));
  c.control("TN of E4M3 and of both types, and FP16",
            {tn_e4m3, mixed, turned, multiply("FP16 TN", tn(CUDA_R_16F, CUDA_R_16F, CUDA_R_16F))}, {"S3-11"});

  const rows not_tn{multiply_with("E4M3 NN", CUBLAS_OP_N, CUBLAS_OP_N),
                    multiply_with("E4M3 NT", CUBLAS_OP_N, CUBLAS_OP_T),
                    multiply_with("E4M3 TT", CUBLAS_OP_T, CUBLAS_OP_T)};
  c.fault("not_tn", "E4M3 with NN, NT and TT", not_tn);
  // Only the storage of these is a multiple of 16.
  auto wide_rows = tn(e4m3, e4m3, bf16, {96, 80, 63}), wide_result = tn(e4m3, e4m3, bf16, {63, 80, 64});
  wide_rows.a.leading_dimension = wide_rows.b.leading_dimension = wide_result.c.leading_dimension = 64;
  c.fault("odd_extents", "E4M3 with extents or leading dimensions that are no multiples of 16",
          {multiply_of({63, 80, 64}), multiply_of({96, 63, 64}), multiply_of({96, 80, 63}),
           multiply_of({7, 7, 7}), multiply("E4M3 96 by 80 by 63, lda and ldb 64", wide_rows),
           multiply("E4M3 63 by 80 by 64, ldc 64", wide_result)});
  const row both_e5m2 = multiply("E5M2 by E5M2", tn(e5m2, e5m2, bf16));
  c.fault("both_e5m2", "E5M2 by E5M2", {both_e5m2}, {"S3-2"});
  const row c_of_fp32 = multiply_into_e4m3("into E4M3, C of FP32", CUDA_R_32F, c_is::elsewhere);
  c.fault("fp8_results", "D of E4M3 with C of FP32 or E4M3, or in the place of D",
          {c_of_fp32, multiply_into_e4m3("into E4M3, C of E4M3", e4m3, c_is::elsewhere),
           multiply_into_e4m3("into E4M3, D as C", e4m3, c_is::d_as_same),
           multiply_into_e4m3("into E4M3, D as C of BF16", bf16, c_is::d_as_other)},
          {"S3-2"});
  const rows blocks_of_16_and_32{
      [](const workbench&) { need(vec32_ue8m0); }, multiply_scaled(vec32_ue8m0, vec32_ue8m0),
      call_row({"cublasLtMatmulAlgoGetHeuristic", "e2m1_with_vec16_ue4m3"}, heuristic_for_e2m1)};
  c.fault("scale_modes", "factors for 32 elements of E4M3, and for 16 of E2M1",
          rows{only_where([](int device) { return device < 100; },
                          "this device is documented to have these scale modes: take one before 10.0")} +
              blocks_of_16_and_32);
  c.fault("mode_without_factors", "a scale mode other than the default, and no factors",
          {[](const workbench& on) {
            const scale_mode mode = mode_of_device();
            multiply(fmt::format("E4M3 with {} and no factors", mode.name), tn(e4m3, e4m3, bf16, blocks),
                     [=](lt_problem& problem) { set_modes(problem, mode, mode); })(on);
          }});
  c.fault("factors_of_wide_matrices", "scale pointers of FP16 and BF16 matrices",
          {multiply_wide_matrices(false)});
  const rows misaligned{multiply_with_factors_at("E4M3 with a factor of A at 4 mod 16", 4, 0),
                        multiply_with_factors_at("E4M3 with a factor of B at 4 mod 16", 0, 4)};
  c.fault("misaligned_factors", "factors of whole matrices at 4 mod 16", misaligned);

  c.remedy("store_transposed", "TN in place of NN, NT and TT", not_tn, "A stored transposed, B not: TN",
           {tn_e4m3});
  c.remedy("pad", "zeros up to multiples of 16", {multiply_of({7, 7, 7}), multiply_of({63, 63, 63})},
           "zeros up to multiples of 16",
           {multiply_padded({7, 7, 7}, {16, 16, 16}), multiply_padded({63, 63, 63}, {64, 64, 64})});
  c.remedy("one_side_e4m3", "E4M3 on one side", {both_e5m2}, "E4M3 on one side", {mixed, turned});
  c.remedy("c_of_16_bits", "C of BF16 or FP16 that is not read", {c_of_fp32},
           "C of 16 bits, elsewhere, with a beta of 0",
           {multiply_into_e4m3("into E4M3, C of BF16", bf16, c_is::elsewhere),
            multiply_into_e4m3("into E4M3, C of FP16", CUDA_R_16F, c_is::elsewhere)});
  const rows documented_for_90 =
      rows{only_where([](int device) { return device == 90; },
                      "these scale modes are documented for compute capability 9.0"),
           [](const workbench&) { need(outer_vec); }} +
      blocks_of_16_and_32;
  c.remedy("outer_vectors", "a factor for each row and column", documented_for_90, "OUTER_VEC_32F",
           {multiply_scaled(outer_vec, outer_vec)});
  c.remedy("blocks_of_128", "factors for 128 elements", documented_for_90, "VEC128_32F and BLK128x128_32F",
           {multiply_scaled(vec128, vec128), multiply_scaled(vec128, blk128x128)});
  c.remedy("set_factors", "factors for the mode", {[](const workbench&) { mode_of_device(); }},
           "factors for the mode",
           {[](const workbench& on) { multiply_scaled(mode_of_device(), mode_of_device())(on); }})
      .against = "mode_without_factors";
  c.remedy("unset_factors", "no scale pointers for FP16 and BF16", {multiply_wide_matrices(false)},
           "the pointers set back to null", {multiply_wide_matrices(true)});
  c.remedy("align_factors", "factors at 16 bytes' alignment", misaligned, "factors at 16 bytes' alignment",
           {multiply_with_factors_at("E4M3 with factors at 0 mod 16", 16, 32)});
  c.in_tier = {"control", "not_tn", "scale_modes", "store_transposed", "pad"};
  c.share_process();
  return c.done();
}

const register_case here{fp8()};

}  // namespace
}  // namespace cufault
