// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  the cuBLAS documentation (one handle for each thread) and threads of F-LIF-07.
// Expected to help because  a thread then uses no stream, workspace or other setting that another thread changes.
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
