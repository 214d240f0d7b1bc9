// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  S0-14, S2-7 and threads of F-MEM-01 and F-LIF-03.
// Expected to help because  what was short is there again.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{
    {.name = "release",
     .words = "undo what caused it (free the memory, destroy the handles, lift the limit), then again",
     .answers = {"memory", "pool", "handles", "host_limit"},
     .after = [](world& w) { w.undo(); }}};

}  // namespace
}  // namespace cufault
