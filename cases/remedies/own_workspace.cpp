// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  the cuBLAS documentation (32 MiB on Hopper) and threads of F-MEM-04.
// Expected to help because  products use memory that the program allocated before the device was full.
#include "harness/kit/device_block.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cstddef>

namespace cufault {
namespace {

const register_remedy here{
    {.name = "own_workspace",
     .words = "a workspace of 32 MiB of the program's own, set before",
     .answers = {"memory", "pool"},
     .before = [](world& w) {
       constexpr std::size_t bytes = 32 << 20;
       CUFAULT_REQUIRE(cublasSetWorkspace(w.handle(), w.keep<device_block>(bytes).address(), bytes));
     }}};

}  // namespace
}  // namespace cufault
