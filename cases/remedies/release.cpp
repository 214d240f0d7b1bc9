// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
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
