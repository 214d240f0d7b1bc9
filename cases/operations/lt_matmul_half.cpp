// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasLtMatmul of FP16 into FP16, summed in FP32.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

const register_operation here{
    {.name = "lt_matmul_half",
     .step = {"cublasLtMatmul", "fp16"},
     .summary = "cublasLtMatmul in FP16",
     .fresh = [] { return std::make_unique<lt_matmul_operation>(usual_product(CUDA_R_16F, CUDA_R_16F)); },
     .has_operand = true,
     .handle = own_handle::cublaslt,
     .product = by_same_lt_handle}};

}  // namespace
}  // namespace cufault::operations
