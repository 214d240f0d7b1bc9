// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "retry",
                            .words = "again at once",
                            .answers = {"memory", "pool", "dead_context", "last_error", "failed_create",
                                        "host_limit", "driver_call", "driver"},
                            .after = [](world&) {}}};

}  // namespace
}  // namespace cufault
