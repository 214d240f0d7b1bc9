// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaMalloc of 1 MiB.
#include "cases/operations/runtime_memory.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "cuda_malloc",
                               .step = {"cudaMalloc", "1_mib"},
                               .summary = "cudaMalloc of 1 MiB",
                               .fresh = fresh_memory(by_cuda_malloc, 1 << 20),
                               .smaller = "cuda_malloc_small",
                               .handle = own_handle::none,
                               .needs_context = false,
                               .representative = true,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
