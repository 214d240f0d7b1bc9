// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaMallocManaged of 1 MiB.
#include "cases/operations/runtime_memory.hpp"

namespace cufault::operations {
namespace {

const runtime_memory::functions managed{
    .allocate = [](void** to, std::size_t bytes) { return cudaMallocManaged(to, bytes); },
    .release = cudaFree};

const register_operation here{{.name = "cuda_malloc_managed",
                               .step = {"cudaMallocManaged"},
                               .summary = "cudaMallocManaged of 1 MiB",
                               .fresh = fresh_memory(managed, 1 << 20),
                               .handle = own_handle::none,
                               .needs_context = false,
                               .takes_managed_memory = true,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
