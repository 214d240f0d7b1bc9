// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  threads of F-MEM-07 (set it again after each cublasSetStream).
// Expected to help because  the handle then has a workspace of the recommended size, in memory that nothing else uses.
#include "harness/kit/device_block.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <cstddef>

namespace cufault {
namespace {

const register_remedy here{
    {.name = "workspace_again",
     .words = "a workspace of 32 MiB set anew, then again",
     .answers = {"workspace", "context"},
     .after = [](world& w) {
       constexpr std::size_t bytes = 32 << 20;
       CUFAULT_OBSERVE(cublasSetWorkspace(w.handle(), w.keep<device_block>(bytes).address(), bytes));
     }}};

}  // namespace
}  // namespace cufault
