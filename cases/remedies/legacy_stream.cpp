// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether the destroyed stream alone makes the difference.
// Expected to help because  the legacy stream cannot be destroyed.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {
namespace {

const register_remedy here{
    {.name = "legacy_stream",
     .words = "cublasSetStream(handle, 0), then again",
     .answers = {"stream"},
     .after = [](world& w) { CUFAULT_OBSERVE(cublasSetStream(w.handle(), nullptr)); }}};

}  // namespace
}  // namespace cufault
