// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  S0-9, S1-6 and S2-7 (smaller batches or tensors).
// Expected to help because  it takes less memory and less workspace.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "smaller",
                            .words = "a smaller one of the kind, by a new handle",
                            .answers = {"memory", "pool", "workspace"},
                            .new_operation = true,
                            .instead = &operation_type::smaller}};

}  // namespace
}  // namespace cufault
