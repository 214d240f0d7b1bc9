// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "handle_for_each_thread",
                            .words = "again in another thread, by a handle that this thread makes",
                            .answers = {"thread", "handle", "workspace"},
                            .new_operation = true,
                            .in_new_thread = true}};

}  // namespace
}  // namespace cufault
