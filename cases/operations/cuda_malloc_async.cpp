// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaMallocAsync of 1 MiB on the legacy stream, from the default pool of the device.
#include "cases/operations/runtime_memory.hpp"

namespace cufault::operations {
namespace {

const runtime_memory::functions by_pool{
    .allocate = [](void** to, std::size_t bytes) { return cudaMallocAsync(to, bytes, nullptr); },
    .release = [](void* block) { return cudaFreeAsync(block, nullptr); }};

const register_operation here{{.name = "cuda_malloc_async",
                               .step = {"cudaMallocAsync"},
                               .summary = "cudaMallocAsync of 1 MiB",
                               .fresh = fresh_memory(by_pool, 1 << 20),
                               .handle = own_handle::none,
                               .needs_context = false,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
