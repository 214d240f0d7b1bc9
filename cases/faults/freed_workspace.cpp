// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Operations by a handle whose workspace was freed by the program that gave it.
// Why          The handle keeps the address.
// Documented   cuBLAS documentation, cublasSetWorkspace: the memory must stay until the handle's work is done.
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cstddef>

namespace cufault {
namespace {

const register_fault here{{.name = "freed_workspace",
                           .summary = "the workspace that the program gave was freed",
                           .kind = "workspace",
                           .undefined = "the address may be another allocation's by now",
                           .acts_on = {own_handle::cublas},
                           .provoke = [](world& w) {
                             constexpr std::size_t bytes = 32 << 20;
                             void* memory = nullptr;
                             CUFAULT_REQUIRE(cudaMalloc(&memory, bytes));
                             CUFAULT_REQUIRE(cublasSetWorkspace(w.handle(), memory, bytes));
                             CUFAULT_REQUIRE(cudaFree(memory));
                           }}};

}  // namespace
}  // namespace cufault
