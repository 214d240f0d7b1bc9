// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaHostAlloc of 1 MiB.
#include "cases/operations/runtime_memory.hpp"

namespace cufault::operations {
namespace {

const runtime_memory::functions pinned{
    .allocate = [](void** to, std::size_t bytes) { return cudaHostAlloc(to, bytes, cudaHostAllocDefault); },
    .release = cudaFreeHost};

const register_operation here{{.name = "host_alloc",
                               .step = {"cudaHostAlloc"},
                               .summary = "cudaHostAlloc of 1 MiB",
                               .fresh = fresh_memory(pinned, 1 << 20),
                               .handle = own_handle::none,
                               .needs_context = false,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
