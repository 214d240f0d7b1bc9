// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Remedies that give the handle a workspace of the program.
#include "harness/kit/device_block.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cstddef>

namespace cufault {
namespace {

const register_remedies here{
    // Recommended by  the cuBLAS documentation (32 MiB on Hopper) and threads of F-MEM-04.
    // Expected to help because  products use memory that the program allocated before the device was full.
    {.name = "own_workspace",
     .words = "a workspace of 32 MiB of the program's own, set before",
     .answers = {"memory", "pool"},
     .before =
         [](world& w) {
           constexpr std::size_t bytes = 32 << 20;
           CUFAULT_REQUIRE(cublasSetWorkspace(w.handle(), w.keep<device_block>(bytes).address(), bytes));
         }},
    // Recommended by  threads of F-MEM-07 (set it again after each cublasSetStream).
    // Expected to help because  the handle then has a workspace of the recommended size, in memory that nothing else uses.
    {.name = "workspace_again",
     .words = "a workspace of 32 MiB set anew, then again",
     .answers = {"workspace", "context"},
     .after = [](world& w) {
       constexpr std::size_t bytes = 32 << 20;
       CUFAULT_OBSERVE(cublasSetWorkspace(w.handle(), w.keep<device_block>(bytes).address(), bytes));
     }}};

}  // namespace
}  // namespace cufault
