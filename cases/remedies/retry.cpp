// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  S1-5 (catch the exception and carry on). Threads of F-MEM-01 say that it does not help while memory is full.
// Expected to help because  the failure may be one of a single call, or an earlier error that is reported once.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "retry",
                            .words = "again at once",
                            .answers = {"memory", "pool", "dead_context", "last_error", "failed_create",
                                        "host_limit", "driver_call", "driver", "mps"},
                            .after = [](world&) {}}};

}  // namespace
}  // namespace cufault
