// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasLtMatmul by the first algorithm that does without a workspace.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

const register_operation here{
    {.name = "lt_matmul_no_workspace",
     .step = {"cublasLtMatmul", "no_workspace"},
     .summary = "cublasLtMatmul without a workspace",
     .fresh = [] { return std::make_unique<lt_matmul_operation>(usual_product(), false); },
     .has_operand = true,
     .handle = own_handle::cublaslt,
     .product = by_same_lt_handle}};

}  // namespace
}  // namespace cufault::operations
