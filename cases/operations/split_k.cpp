// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemm with so long a k that it is split: its parts meet in the workspace of the handle, which is as large as the first of them
// may ask for.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "split_k",
                               .step = {"cublasSgemm", "long_k"},
                               .summary = "cublasSgemm that splits k",
                               .fresh = fresh_sgemm(96, 64, 65536),
                               .has_operand = true,
                               .smaller = "sgemm_split_k_small"}};

}  // namespace
}  // namespace cufault::operations
