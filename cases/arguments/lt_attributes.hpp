// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/arguments/lt_calls.hpp"
#include "harness/kit/argument_table.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Attributes of layouts, descriptors and preferences that arguments/lt changes: the usual value of each, and other values.
namespace cufault::lt_arguments {

using argument_table::buffers;
using argument_table::role;

/// Another value of an attribute.
struct value {
  std::string words;
  std::int64_t number = 0;
  bool wrong = false;  ///< contradicts the documentation, by itself or by what the rest of the plan is
};
struct attribute {
  const char* name;    ///< of the enumerator, without CUBLASLT_ and the word for its kind
  int number;          ///< the enumerator
  std::size_t bytes;   ///< of its value
  std::int64_t usual;  ///< the value that the plan has, as bits where it is a float
  role what;           ///< of the value
  std::vector<value> others{};
};

inline const std::vector<value> no_enumerators{{"of 99", 99, true}, {"of -1", -1, true}};
inline std::vector<value> enumerators(std::vector<value> more = {}) {
  more.insert(more.begin(), no_enumerators.begin(), no_enumerators.end());
  return more;
}

inline constexpr std::int64_t more_than_an_int = std::int64_t{1} << 31;

inline std::vector<attribute> attributes_of(const matrix& x) {
  const std::vector<value> types = enumerators({{"CUDA_R_64F", CUDA_R_64F}, {"CUDA_R_16F", CUDA_R_16F}});
  const std::vector<value> orders = enumerators({{"ROW", CUBLASLT_ORDER_ROW},
                                                 {"COL32", CUBLASLT_ORDER_COL32},
                                                 {"COL4_4R2_8C", CUBLASLT_ORDER_COL4_4R2_8C},
                                                 {"COL32_2R_4R4", CUBLASLT_ORDER_COL32_2R_4R4}});
  const std::vector<value> dimensions{{"one too small", x.rows - 1, true},
                                      {"of 0", 0, true},
                                      {"of -1", -1, true},
                                      {"huge", more_than_an_int, true}};
  const std::vector<value> counts{
      {"of 0", 0}, {"of -1", -1, true}, {"of 2", 2, true}, {"huge", 0x7fffffff, true}};
  const std::vector<value> strides{{"of 1", 1}, {"of -1", -1}};
  const std::vector<value> planes{{"of 1", 1}, {"of -1", -1}, {"of 4096", 4096}};
  const auto extents = [](std::int64_t is) -> std::vector<value> {
    return {{"of 0", 0, true},
            {"one too small", is - 1, true},
            {"one too large", is + 1, true},
            {"huge", more_than_an_int, true},
            {"of -1", -1, true}};
  };
  return {{"TYPE", CUBLASLT_MATRIX_LAYOUT_TYPE, 4, x.type, role::enumeration, types},
          {"ORDER", CUBLASLT_MATRIX_LAYOUT_ORDER, 4, CUBLASLT_ORDER_COL, role::enumeration, orders},
          {"ROWS", CUBLASLT_MATRIX_LAYOUT_ROWS, 8, x.rows, role::size, extents(x.rows)},
          {"COLS", CUBLASLT_MATRIX_LAYOUT_COLS, 8, x.columns, role::size, extents(x.columns)},
          {"LD", CUBLASLT_MATRIX_LAYOUT_LD, 8, x.leading_dimension, role::leading_dimension, dimensions},
          {"BATCH_COUNT", CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, 1, role::count, counts},
          {"STRIDED_BATCH_OFFSET", CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8, 0, role::stride, strides},
          {"PLANE_OFFSET", CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, 8, 0, role::kept, planes}};
}

/// Attributes of a layout in a batch of two. Matrices of A or B may overlap, those of a result may not.
inline std::vector<attribute> attributes_in_batch(bool of_result) {
  const std::vector<value> counts{
      {"of 0", 0, true}, {"of -1", -1, true}, {"of 1", 1, true}, {"of 3", 3, true}};
  const std::vector<value> strides{{"of 0", 0, of_result},
                                   {"of 1", 1, of_result},
                                   {"of -1", -1, of_result},
                                   {"huge", std::int64_t{1} << 40, true}};
  const role what = of_result ? role::output_stride : role::stride;
  return {{"BATCH_COUNT", CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, batch, role::count, counts},
          {"STRIDED_BATCH_OFFSET", CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8, stride, what, strides}};
}

/// Pointers to scales and maxima are wrong here: by cublasLt.h, cublasLtMatmul refuses them for types without a scale.
inline std::vector<attribute> attributes_of_operation(const buffers& b) {
  using which = cublasLtMatmulDescAttributes_t;
  using values = std::vector<value>;
  const std::int64_t scalar = address(b.device_scalar());
  const auto choice = [](const char* name, which number, std::int64_t usual, const values& others) {
    return attribute{name, number, 4, usual, role::enumeration, enumerators(others)};
  };
  const auto pointer = [&](const char* name, which number, bool wrong) {
    return attribute{name, number, 8, 0, role::input, {{"set", scalar, wrong}}};
  };
  const auto stride_of = [](const char* name, which number) {
    return attribute{name, number, 8, 0, role::stride, {{"of 1", 1}, {"of -1", -1}}};
  };
  const auto type_of = [](const char* name, which number) {
    return attribute{
        name, number, 4, -1, role::enumeration, {{"of 99", 99, true}, {"CUDA_R_64F", CUDA_R_64F}}};
  };
  const values computes{{"CUBLAS_COMPUTE_16F", CUBLAS_COMPUTE_16F},
                        {"CUBLAS_COMPUTE_64F", CUBLAS_COMPUTE_64F},
                        {"CUBLAS_COMPUTE_32F_FAST_TF32", CUBLAS_COMPUTE_32F_FAST_TF32}};
  const values scales{{"CUDA_R_16F", CUDA_R_16F}, {"CUDA_R_64F", CUDA_R_64F}};
  const values modes{{"DEVICE", CUBLASLT_POINTER_MODE_DEVICE},
                     {"DEVICE_VECTOR", CUBLASLT_POINTER_MODE_DEVICE_VECTOR},
                     {"ALPHA_DEVICE_VECTOR_BETA_ZERO", CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO},
                     {"ALPHA_DEVICE_VECTOR_BETA_HOST", CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST}};
  const values turned{{"CUBLAS_OP_T", CUBLAS_OP_T, true}, {"CUBLAS_OP_CONJG", CUBLAS_OP_CONJG, true}};
  const values fills{{"LOWER", CUBLAS_FILL_MODE_LOWER}, {"UPPER", CUBLAS_FILL_MODE_UPPER}};
  const values epilogues{{"of 0", 0, true},
                         {"RELU", CUBLASLT_EPILOGUE_RELU},
                         {"GELU", CUBLASLT_EPILOGUE_GELU},
                         {"BIAS, without a pointer", CUBLASLT_EPILOGUE_BIAS, true},
                         {"RELU_AUX, without a pointer", CUBLASLT_EPILOGUE_RELU_AUX, true},
                         {"BGRADB, without a pointer", CUBLASLT_EPILOGUE_BGRADB, true}};
  const values multiprocessors{{"of -1", -1, true}, {"of 1", 1}, {"more than there are", 100000, true}};
  const values flags{{"of 1", 1}, {"of 2", 2}, {"of -1", -1}};
  return {choice("COMPUTE_TYPE", CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_32F, computes),
          choice("SCALE_TYPE", CUBLASLT_MATMUL_DESC_SCALE_TYPE, CUDA_R_32F, scales),
          choice("POINTER_MODE", CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_HOST, modes),
          choice("TRANSA", CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N, turned),
          choice("TRANSB", CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N, turned),
          choice("TRANSC", CUBLASLT_MATMUL_DESC_TRANSC, CUBLAS_OP_N, turned),
          choice("FILL_MODE", CUBLASLT_MATMUL_DESC_FILL_MODE, CUBLAS_FILL_MODE_FULL, fills),
          choice("EPILOGUE", CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT, epilogues),
          pointer("BIAS_POINTER", CUBLASLT_MATMUL_DESC_BIAS_POINTER, false),
          stride_of("BIAS_BATCH_STRIDE", CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE),
          pointer("EPILOGUE_AUX_POINTER", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, false),
          stride_of("EPILOGUE_AUX_LD", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD),
          stride_of("EPILOGUE_AUX_BATCH_STRIDE", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE),
          stride_of("ALPHA_VECTOR_BATCH_STRIDE", CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE),
          {"SM_COUNT_TARGET", CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 4, 0, role::count, multiprocessors},
          pointer("A_SCALE_POINTER", CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, true),
          pointer("B_SCALE_POINTER", CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, true),
          pointer("C_SCALE_POINTER", CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, true),
          pointer("D_SCALE_POINTER", CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, true),
          pointer("AMAX_D_POINTER", CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, true),
          type_of("EPILOGUE_AUX_DATA_TYPE", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE),
          pointer("EPILOGUE_AUX_SCALE_POINTER", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, true),
          pointer("EPILOGUE_AUX_AMAX_POINTER", CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, true),
          {"FAST_ACCUM", CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1, 0, role::kept, flags},
          type_of("BIAS_DATA_TYPE", CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE)};
}

inline std::int64_t bits_of(float x) {
  return std::bit_cast<std::int32_t>(x);
}

inline std::vector<attribute> attributes_of_preference() {
  const auto alignment = [](const char* name, cublasLtMatmulPreferenceAttributes_t which) {
    return attribute{name, which, 4, 256, role::kept, {{"of 0", 0}, {"of 1", 1}, {"of 3", 3}, {"of -1", -1}}};
  };
  const std::vector<value> modes =
      enumerators({{"LIMITED_BY_ALGO_ID, without one", CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID, true}});
  const std::vector<value> sizes{{"of 1", 1}, {"of all there is", -1}};
  const std::vector<value> schemes{{"of 0", 0}, {"of 8", 8, true}, {"of -1", -1}};
  const std::vector<value> waves{
      {"of -1", bits_of(-1)}, {"of 0.001", bits_of(0.001F)}, {"not a number", 0x7fc00000}};
  constexpr auto all_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  return {{"SEARCH_MODE", CUBLASLT_MATMUL_PREF_SEARCH_MODE, 4, CUBLASLT_SEARCH_BEST_FIT, role::enumeration,
           modes},
          {"MAX_WORKSPACE_BYTES", CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8, 0, role::kept, sizes},
          {"REDUCTION_SCHEME_MASK", CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4, all_schemes,
           role::enumeration, schemes},
          alignment("MIN_ALIGNMENT_A_BYTES", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES),
          alignment("MIN_ALIGNMENT_B_BYTES", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES),
          alignment("MIN_ALIGNMENT_C_BYTES", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES),
          alignment("MIN_ALIGNMENT_D_BYTES", CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES),
          {"MAX_WAVES_COUNT", CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 4, bits_of(0), role::kept, waves},
          {"IMPL_MASK", CUBLASLT_MATMUL_PREF_IMPL_MASK, 8, -1, role::kept, {{"of 0", 0}}}};
}

inline std::vector<attribute> attributes_of_conversion() {
  using which = cublasLtMatrixTransformDescAttributes_t;
  const auto choice = [](const char* name, which number, std::int64_t usual,
                         const std::vector<value>& others) {
    return attribute{name, number, 4, usual, role::enumeration, enumerators(others)};
  };
  const std::vector<value> turned{{"CUBLAS_OP_T", CUBLAS_OP_T, true}};
  return {choice("SCALE_TYPE", CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, CUDA_R_32F,
                 {{"CUDA_R_64F", CUDA_R_64F}}),
          choice("POINTER_MODE", CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_HOST,
                 {{"DEVICE", CUBLASLT_POINTER_MODE_DEVICE}}),
          choice("TRANSA", CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, CUBLAS_OP_N, turned),
          choice("TRANSB", CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, CUBLAS_OP_N, turned)};
}

}  // namespace cufault::lt_arguments
