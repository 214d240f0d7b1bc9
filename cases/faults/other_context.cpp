// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Operations by a handle while another context than its own is current.
// Why          A handle belongs to the context in which it was made.
// Documented   cuBLAS documentation, cublasCreate: the handle is tied to the current device's context.
#include "harness/kit/second_context.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_fault here{{.name = "other_context",
                           .summary = "another context is current than the one of the handle",
                           .kind = "context",
                           .cells = isolation::lasting,
                           .provoke = [](world& w) {
                             auto& second = w.keep<second_context>(w.of_trial().device());
                             w.renew_by([&second] { second.make_current(); });
                           }}};

}  // namespace
}  // namespace cufault
