// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasLtMatmul by the first algorithm of the heuristic, with a workspace.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "lt_matmul",
                               .step = {"cublasLtMatmul", "first_algorithm"},
                               .summary = "cublasLtMatmul",
                               .fresh = [] { return std::make_unique<lt_matmul_operation>(usual_product()); },
                               .has_operand = true,
                               .lower_precision = "lt_matmul_half",
                               .handle = own_handle::cublaslt,
                               .representative = true,
                               .product = by_same_lt_handle}};

}  // namespace
}  // namespace cufault::operations
