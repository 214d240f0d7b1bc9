// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/argument_table.hpp"

#include <cublas_v2.h>

#include <string>
#include <vector>

namespace cufault::argument_table {

// All extents differ, so that no leading dimension that is too small for one operand fits another.
constexpr int m = 8, n = 12, k = 16, ld = 16;

struct gemm_form {
  bool typed = false, strided = false, pointer_arrays = false;
};
/// Parameters of cublas<t>gemm in order, with types, strides or arrays of pointers if the function has them.
inline std::vector<argument> gemm_arguments(cublasOperation_t op, const gemm_form& form = {}) {
  const bool turned = op != CUBLAS_OP_N;
  std::vector<argument> all{{"handle", role::handle},
                            {"transa", role::enumeration},
                            {"transb", role::enumeration},
                            {"m", role::size},
                            {"n", role::size},
                            {"k", role::size},
                            {"alpha", role::scalar}};
  const auto matrix = [&](const std::string& name, const char* leading, role what, int operand, int least) {
    if (form.pointer_arrays)
      all.push_back({name + "array", role::pointer_array, 0, operand});
    else
      all.push_back({name, what, 0, operand});
    if (form.typed) all.push_back({name + "type", role::enumeration});
    all.push_back({leading, role::leading_dimension, least});
    if (form.strided)
      all.push_back({"stride" + name, what == role::output ? role::output_stride : role::stride});
  };
  matrix("A", "lda", role::input, 0, turned ? k : m);
  matrix("B", "ldb", role::input, 1, turned ? n : k);
  all.push_back({"beta", role::scalar});
  matrix("C", "ldc", role::output, 2, m);
  if (form.strided || form.pointer_arrays) all.push_back({"batchCount", role::size});
  if (form.typed) {
    all.push_back({"computeType", role::enumeration});
    all.push_back({"algo", role::algorithm});
  }
  return all;
}

}  // namespace cufault::argument_table
