// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether what the other process did lasts longer than it.
// Expected to help because  the error was of that process.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "neighbour_ends",
                            .words = "wait until the other process has ended, then again by a new handle",
                            .answers = {"neighbour", "mps"},
                            .after = [](world& w) { w.undo(); },
                            .new_operation = true,
                            .own_process = true}};

}  // namespace
}  // namespace cufault
