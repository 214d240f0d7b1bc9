// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
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
