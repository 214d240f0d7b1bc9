// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Operations in a child that was forked when CUDA was up.
// Why          The driver's state is not usable in it.
// Limit        Where a signal ends the child, the trial ends with it, and no remedy is tried.
// Documented   CUDA C++ Programming Guide: CUDA in a forked child is not supported.
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "forked_child",
                           .summary = "in a child forked when CUDA was up",
                           .kind = "fork",
                           .around = [](world& w, const std::function<void()>& operate) {
                             w.of_trial().in_forked_child(operate);
                           }}};

}  // namespace
}  // namespace cufault
