// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  S0-14 and threads of F-MEM-01.
// Expected to help because  what was short is there again, and state of the failure may be in the handle.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "release_and_new_handle",
                            .words = "undo what caused it, then again by a new handle",
                            .answers = {"memory", "pool", "handles", "host_limit"},
                            .after = [](world& w) { w.undo(); },
                            .new_operation = true}};

}  // namespace
}  // namespace cufault
