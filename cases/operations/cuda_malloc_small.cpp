// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaMalloc of 512 bytes: less than what the driver takes at once, so that it may succeed on a full device.
#include "cases/operations/runtime_memory.hpp"

namespace cufault::operations {
namespace {

const register_operation here{{.name = "cuda_malloc_small",
                               .step = {"cudaMalloc", "512_bytes"},
                               .summary = "cudaMalloc of 512 bytes",
                               .fresh = fresh_memory(by_cuda_malloc, 512),
                               .handle = own_handle::none,
                               .needs_context = false,
                               .product = by_new_handle}};

}  // namespace
}  // namespace cufault::operations
